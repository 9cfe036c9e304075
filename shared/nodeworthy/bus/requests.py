"""What may be asked on the bus, and how it is answered: validate, explain, nodes, resolve, attach.

A request is a :class:`~nodeworthy.bus.records.Message` in MessagePack or JSON and is answered in kind, so that
``nats req nodeworthy.local.validate '{"image": "..."}'`` works. A failure is an :class:`ErrorReply`, never silence. Verdicts
and what is known of an image travel as :mod:`nodeworthy.verdicts` and :mod:`nodeworthy.images` shape them.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import msgspec

from nodeworthy.bus.records import Message
from nodeworthy.features import SetStatus, SourceHealth
from nodeworthy.images import ImageKnowledge
from nodeworthy.verdicts import Answer, Verdict

MAX_IMAGES = 100
"""Images of one request; a manifest that names more is asked in parts."""

MAX_NODES = 10_000
"""Nodes that one request may name; none named means all."""

MAX_PAGE = 1000
"""Entries of one page: about 500 kB of verdicts, half of the largest message of a NATS server."""

MAX_GROUPS = 100
"""Groups of nodes that a reply may tell of each image."""

_Page = Annotated[int, msgspec.Meta(ge=1, le=MAX_PAGE)]
_Verdicts = Annotated[int, msgspec.Meta(ge=0, le=MAX_PAGE)]
_Groups = Annotated[int, msgspec.Meta(ge=0, le=MAX_GROUPS)]
_Images = Annotated[tuple[str, ...], msgspec.Meta(max_length=MAX_IMAGES)]
_Nodes = Annotated[tuple[str, ...], msgspec.Meta(max_length=MAX_NODES)]
_Tags = Annotated[tuple[str, ...], msgspec.Meta(max_length=100)]


class ErrorCode(StrEnum):
    """Why a request was not answered; the header ``Nats-Service-Error-Code`` holds it too."""

    BAD_REQUEST = "bad-request"
    """The body does not decode, or asks for what cannot be."""
    NEWER_VERSION = "newer-version"
    TOO_LARGE = "too-large"
    NOT_FOUND = "not-found"
    BUSY = "busy"
    """The service has as many requests in work as it takes; ask again."""
    TIMEOUT = "timeout"
    UNAVAILABLE = "unavailable"
    """Something that the service needs does not answer: a registry, the bus."""
    DENIED = "denied"
    """Something that the service needs refused it."""
    INTERNAL = "internal"
    """A fault of the service; its log has the trace."""


class ErrorReply(Message, frozen=True, kw_only=True):
    """The answer to a request that failed; a reply with the header ``Nats-Service-Error-Code`` has this body."""

    code: ErrorCode
    what: str
    why: str = ""
    todo: str = ""


class Undeclared(StrEnum):
    """What an image counts as whose platform fits and that declares nothing."""

    UNKNOWN = "unknown"
    COMPATIBLE = "compatible"


class Inspect(StrEnum):
    """Whether the files of an image are looked at; that takes seconds to minutes, once for each image."""

    KNOWN = "known"
    """What was found before counts; nothing is begun."""
    START = "start"
    """Begun where nothing is known, and not waited for: ask again."""
    WAIT = "wait"
    """Waited for, as long as the asker's time lasts; the work goes on after it."""


class Require(StrEnum):
    """On how many of the nodes an image has to run for the answer to be "compatible"."""

    ANY = "any"
    ALL = "all"


class ValidateRequest(Message, frozen=True, kw_only=True):
    """Do these images run on these nodes?"""

    image: str = ""
    """One image; the same as ``images`` with one."""
    images: _Images = ()
    node: str = ""
    nodes: _Nodes = ()
    """By name; with neither ``nodes`` nor ``selector``: all."""
    selector: str = ""
    """A Kubernetes label selector over the nodes' labels; ``metadata.name`` stands for the node's name."""
    require: Require = Require.ANY
    tags: _Tags = ()
    """Judge only the compatibility sets with one of these tags."""
    spec: str = ""
    """A compatibility specification to use in place of the attached one."""
    platform: str = ""
    undeclared: Undeclared = Undeclared.UNKNOWN
    inspect: Inspect = Inspect.KNOWN
    only: tuple[Answer, ...] = ()
    """List only verdicts with these answers; the totals count all."""
    limit: _Verdicts = 100
    """Verdicts of one page; 0: none, only totals and groups."""
    groups: _Groups = 20
    """Groups of equal verdicts that the totals of each image tell of, the largest first."""
    cursor: str = ""
    """From the page before."""


class NodeGroup(msgspec.Struct, frozen=True, omit_defaults=True):
    """Nodes that fare alike with an image."""

    answer: Answer
    reason: str
    """As the verdict on the first of them tells it."""
    count: int
    nodes: tuple[str, ...] = ()
    """The first few, by name."""
    score: int | None = None


class ImageProblem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why there is no verdict on one of several images: what the request asks of it cannot be."""

    code: ErrorCode
    what: str
    why: str = ""
    todo: str = ""


class ImageTotals(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many of the asked nodes gave which answer for one image, and what that makes, as the request required."""

    image: str
    """As it was asked."""
    counts: Mapping[Answer, int]
    """Only answers that a node has."""
    answer: Answer
    digest: str = ""
    groups: tuple[NodeGroup, ...] = ()
    more_groups: int = 0
    """Groups that are not told."""
    problem: ImageProblem | None = None


class ValidateReply(Message, frozen=True, kw_only=True):
    """Verdicts by image, in the order asked, then by node."""

    verdicts: tuple[Verdict, ...]
    totals: tuple[ImageTotals, ...] = ()
    cursor: str = ""
    """Ask again with it for the next page; empty: this was the last."""
    undecided: int = 0
    """Nodes that were not asked about, since it is not known whether the selector selects them."""
    notices: tuple[str, ...] = ()


class ExplainRequest(Message, frozen=True, kw_only=True):
    """One verdict in full, with the facts that it was made from."""

    image: str
    node: str
    tags: _Tags = ()
    spec: str = ""
    platform: str = ""
    undeclared: Undeclared = Undeclared.UNKNOWN
    inspect: Inspect = Inspect.KNOWN


class ProducerSummary(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one producer's snapshot of a node is worth."""

    producer: str
    revision: int
    age: float
    """Seconds since the bus stored it."""
    expires: int | None = None
    present: int = 0
    absent: int = 0
    unknown: int = 0
    pending: tuple[str, ...] = ()
    """Sets whose content is named and was not found yet."""
    sources: Mapping[str, SourceHealth] = {}
    """Those that have something to tell: an error, a fault, that they are switched off or polled."""
    problem: str = ""
    """Why the producer's latest message is not used, if it is not."""


class ExplainReply(Message, frozen=True, kw_only=True):
    """The verdict, every set that the node knows, and who says so."""

    verdict: Verdict
    sets: Mapping[str, SetStatus] = {}
    producers: tuple[ProducerSummary, ...] = ()


class NodesRequest(Message, frozen=True, kw_only=True):
    """Which nodes are known, and how well."""

    nodes: _Nodes = ()
    selector: str = ""
    limit: _Page = 100
    cursor: str = ""


class AcceleratorKind(msgspec.Struct, frozen=True, omit_defaults=True):
    """Accelerators of a node that are alike."""

    model: str
    """As its driver or a table of names calls it, else vendor and device id."""
    count: int = 1
    kind: str = ""
    driver: str = ""
    driver_version: str = ""


class Hardware(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a node is, in words for people; empty where it is not known."""

    architecture: str = ""
    """As OCI calls it: ``amd64``."""
    level: str = ""
    """The highest level of the architecture that the processor has: ``x86-64-v3``, ``ARMv8.2``."""
    model: str = ""
    """Of the processor."""
    os: str = ""
    kernel: str = ""
    accelerators: tuple[AcceleratorKind, ...] = ()


class NodeSummary(msgspec.Struct, frozen=True, omit_defaults=True):
    """One node as the bus knows it."""

    node: str
    platform: str = ""
    producers: tuple[ProducerSummary, ...] = ()
    labels: Mapping[str, str] = {}
    hardware: Hardware = Hardware()
    health: str = ""
    """Of the detector's sources: ``ok``, ``3 faults``, ``2 failing``, ``blind`` where all of them fail; empty: not known."""


class NodesReply(Message, frozen=True, kw_only=True):
    """Nodes by name."""

    nodes: tuple[NodeSummary, ...]
    total: int = 0
    """Of all pages."""
    cursor: str = ""


class ResolveRequest(Message, frozen=True, kw_only=True):
    """What is this image made of, and what does it declare?"""

    reference: str
    platforms: _Tags = ()
    """Read only the children of an index that nodes of these platforms take, as ``linux/arm64``; none: all, which costs
    several requests to the registry for each."""
    fresh: bool = False
    """Ask the registry again even where the bus still holds an answer."""
    inspect: Inspect = Inspect.KNOWN


class ResolveReply(Message, frozen=True, kw_only=True):
    """What the registry says, and when it said so."""

    knowledge: ImageKnowledge
    looked: int = 0
    """Unix time in seconds."""


class AttachRequest(Message, frozen=True, kw_only=True):
    """Attach a compatibility specification to an image."""

    reference: str
    spec: bytes
    """The document; base64 in JSON."""
    platforms: tuple[str, ...] = ()
    """Attach to the children for these; none: to what the reference resolves to."""
    all_platforms: bool = False
    title: str = "image-compatibility-spec.yaml"


class AttachedArtifact(msgspec.Struct, frozen=True, omit_defaults=True):
    """One artifact that was written."""

    digest: str
    subject: str
    platform: str = ""
    via: str = ""
    """``referrers`` or ``tag``: how the registry lists it."""


class AttachReply(Message, frozen=True, kw_only=True):
    """What was written."""

    attached: tuple[AttachedArtifact, ...]
