"""What a case is: a kind of image that fails on some node, with a twin that has another verdict."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from nodeworthy.platforms import Platform
from nodeworthy.verdicts import Answer, NodeFacts


class Truth(StrEnum):
    """What really happens when the image is started on the node."""

    RUNS = "runs"
    FAILS = "fails"
    OPEN = "open"
    """Nothing of image and node decides it."""


@dataclass(frozen=True)
class Child:
    """One image: its files, and what its config says."""

    files: Mapping[str, bytes | str]
    """Paths to contents; a text is a link, behind ``-> ``."""
    entrypoint: tuple[str, ...] = ("/app",)
    platform: str = "linux/amd64"
    """What its config says."""
    claimed: str | None = None
    """What the index says, where that is something else; empty: nothing."""
    environment: tuple[str, ...] = ()
    os_version: str = ""
    modes: Mapping[str, int] = field(default_factory=dict)
    """Of files that are not 0755."""
    lower: Mapping[str, bytes | str] = field(default_factory=dict)
    """The files of a layer below; ``.wh.NAME`` among the other ones hides one."""
    folder: str = ""
    """WorkingDir."""


@dataclass(frozen=True)
class Image:
    """What is pushed and asked for by name."""

    children: tuple[Child, ...]
    is_index: bool = False
    """An index, even of one child."""
    pinned: int | None = None
    """Asked for by the digest of this child, past the index."""
    with_attestation: bool = False
    """BuildKit's child of platform unknown/unknown stands first in the index."""


@dataclass(frozen=True)
class Trial:
    """One image on one node, and what has to be said of it."""

    what: str
    image: Callable[[], Image]
    node: NodeFacts
    verdict: Answer
    code: str = ""
    """Of the finding that decides, or that tells of it where nothing decides."""
    truth: Truth = Truth.FAILS
    wanted: Platform | None = None
    """The platform to take, in place of the node's own."""


@dataclass(frozen=True)
class Case:
    """One row of a category: the failing image first, then its twin, then more of the kind."""

    id: str
    what: str
    trials: tuple[Trial, ...]
    undecidable: str = ""
    """Why it cannot be foreseen from image and node, if it cannot."""
    needs_gcc: bool = False
