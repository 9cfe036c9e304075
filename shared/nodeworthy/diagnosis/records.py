"""The records of a diagnosis; ``-o json`` prints them as they are."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from nodeworthy.diagnosis.separation import Separation
from nodeworthy.requirements import Layer
from nodeworthy.rules import Term


class Confidence(StrEnum):
    """How a possible cause fared against what is known."""

    LIKELY = "likely"
    """Everything that must hold for it was seen."""
    POSSIBLE = "possible"
    """Nothing speaks against it, and not everything that must hold was seen."""
    RULED_OUT = "ruled-out"
    """Something that must hold for it does not."""


class Signal(msgspec.Struct, frozen=True, omit_defaults=True):
    """One known sign in what was given: words of a text, an exit code, a line of the kernel log, a state of a pod."""

    code: str
    """Of the signature."""
    speaker: str
    """Who printed it: the same words of another speaker mean another thing."""
    text: str
    """The line, or the exit code in words."""
    rank: int
    """How much it says: 1 a state or exit code, 2 a symptom, 3 words that name a cause, 4 those that look like others."""
    details: Mapping[str, str] = {}
    """What stands in it, as ``level`` of ``x86-64-v3``."""


class Cause(msgspec.Struct, frozen=True, omit_defaults=True):
    """One possible cause, held against what is known."""

    code: str
    text: str
    confidence: Confidence
    evidence: tuple[str, ...] = ()
    """What was seen that speaks for it, or against it where it is ruled out."""
    separates: str = ""
    """The observation that tells it from the others."""
    layer: Layer | None = None
    now: str = ""
    """What stops the failures until it is cured."""
    selector: Mapping[str, str] = {}
    """Labels of nodes on which it does not happen; for ``nodeSelector``."""
    cure: str = ""
    wants: tuple[Term, ...] = ()
    """What a node has on which it does not happen, in the rule language."""


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One step on the way to the cause: done, with what was found, or still to do."""

    text: str
    found: str = ""
    """Empty: not done."""
    command: str = ""
    """What does it, where it is not done."""


class Diagnosis(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a failure really was, as far as it is known."""

    explained: bool
    """Whether a likely cause was found."""
    summary: str
    signals: tuple[Signal, ...] = ()
    """The most telling first."""
    causes: tuple[Cause, ...] = ()
    """The likely ones first, then the possible ones, then those that are ruled out."""
    steps: tuple[Step, ...] = ()
    separation: Separation | None = None
    """Of a workload: the facts by which nodes differ."""
    notices: tuple[str, ...] = ()
    """What could not be looked at, and why."""

    @property
    def cause(self) -> Cause | None:
        """The first likely cause."""
        return self.causes[0] if self.causes and self.causes[0].confidence is Confidence.LIKELY else None
