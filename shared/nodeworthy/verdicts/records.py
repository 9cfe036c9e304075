"""The records of a verdict; on the bus and in ``-o json`` they travel as they are."""

from enum import StrEnum

import msgspec

from nodeworthy.requirements import Effect, Evidence, Layer, Sureness


class Answer(StrEnum):
    """The four verdicts."""

    COMPATIBLE = "compatible"
    INCOMPATIBLE = "incompatible"
    UNKNOWN = "unknown"
    IMAGE_DEFECT = "image-defect"
    """The image fails on every node."""


class State(StrEnum):
    """How one requirement, rule or set fared."""

    MET = "met"
    UNMET = "unmet"
    UNKNOWN = "unknown"


class Origin(StrEnum):
    """Where a requirement comes from."""

    PLATFORM = "platform"
    """What the index, manifest and config claim."""
    DECLARED = "declared"
    """The compatibility specification."""
    INSPECTED = "inspected"
    """The image's own files."""
    LOOKUP = "lookup"
    """Not a requirement of the image: looking it up did not succeed."""


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """One requirement of an image, what the node has, and what follows."""

    code: str
    """Stable and machine readable, as ``platform-mismatch``."""
    state: State
    requirement: str
    """In words, as ``kernel.version full >= 5.15``."""
    observed: str = ""
    """What the node has; empty where nothing was seen."""
    expected: str = ""
    origin: Origin = Origin.DECLARED
    layer: Layer | None = None
    effect: Effect | None = None
    sureness: Sureness = Sureness.CERTAIN
    settle: str = ""
    """For an unknown: what would settle it."""
    set: int | None = None
    """Index into :attr:`Verdict.sets`, for requirements that are part of one."""
    rule: str = ""
    """The rule's name, which two rules of a set may share."""
    rule_number: int | None = None
    """Index into :attr:`SetSummary.rules`."""
    alternative: int | None = None
    """Index of the rule's ``matchAny`` element; one of them is enough."""
    evidence: tuple[Evidence, ...] = ()
    """Where in the image's files it shows."""
    remedy: str = ""
    """What to do about it."""


class RuleSummary(msgspec.Struct, frozen=True, omit_defaults=True):
    """One rule of a compatibility set; its expressions are findings."""

    name: str
    state: State
    reason: str = ""


class SetSummary(msgspec.Struct, frozen=True, omit_defaults=True):
    """One compatibility set: met when all its rules are."""

    state: State
    weight: int = 0
    tag: str = ""
    description: str = ""
    reason: str = ""
    """Why it is not met."""
    rules: tuple[RuleSummary, ...] = ()


class ArtifactSummary(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where the declared requirements come from."""

    source: str
    """``attached``, or ``file`` and its name."""
    digest: str = ""
    subject: str = ""
    created: str = ""


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer for one image on one node."""

    image: str
    node: str
    verdict: Answer
    reason: str
    """The answer in one sentence."""
    digest: str = ""
    """What the reference resolved to."""
    platform: str = ""
    """Of the image that the node would take."""
    node_platform: str = ""
    score: int | None = None
    """Weight of the best met compatibility set."""
    artifact: ArtifactSummary | None = None
    findings: tuple[Finding, ...] = ()
    sets: tuple[SetSummary, ...] = ()
    notices: tuple[str, ...] = ()
