"""The records of an inspection."""

import msgspec

from nodeworthy.requirements.grades import Effect, Layer, Sureness
from nodeworthy.rules import Term


class Evidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where in an image something was seen, and by which rule it counts."""

    file: str = ""
    """Path in the image, from its root; empty for the image's own config."""
    seen: str = ""
    """What stands there, as ``GLIBC_2.34`` or ``vpaddd ymm0, ymm1, ymm2``."""
    offset: int | None = None
    """Bytes from the beginning of the file."""
    symbol: str = ""
    """The function, where it has a name."""
    rule: str = ""
    """Why it counts: the specification, or the rule of docs/inspection.md, in a few words."""


class Requirement(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that an image needs of a node, as a condition in the rule language.

    Met as a :class:`nodeworthy.rules.Rule` is: all of ``match_features`` hold and, if there are any, one of ``match_any``.
    """

    code: str
    """Stable and machine readable, as ``x86-64-level``."""
    text: str
    """In words, as ``a CPU of level x86-64-v2``."""
    layer: Layer
    effect: Effect
    sureness: Sureness
    """CERTAIN: a node without it cannot run the image. PROBABLE: most likely it cannot. ADVISORY: never a no."""
    match_features: tuple[Term, ...] = ()
    match_any: tuple[tuple[Term, ...], ...] = ()
    evidence: tuple[Evidence, ...] = ()
    remedy: str = ""
    """What to do where it is not met."""
    only_if_told: bool = False
    """Counts only where the facts say something of it: it sharpens another requirement, and its unknown is that one's."""


class Defect(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fault of the image itself, which no node can make good."""

    code: str
    text: str
    effect: Effect
    sureness: Sureness
    """CERTAIN: the image fails on every node. Others: a part of it that may never run."""
    evidence: tuple[Evidence, ...] = ()
    remedy: str = ""


OTHER_MACHINE = "content-platform-mismatch"
"""The code of the defect that what starts is for another machine than the image's config says."""


class Information(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is good to know and asks nothing of a node, as ``uses AVX2 if present``."""

    code: str
    text: str
    evidence: tuple[Evidence, ...] = ()


class Unexplored(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was not looked at, and why. Nothing is concluded from it."""

    what: str
    why: str
    decides: bool = True
    """Whether it could still hide a requirement: then the image is nowhere said to be compatible on inspection alone."""


class Library(msgspec.Struct, frozen=True, omit_defaults=True):
    """One shared library or program of the image, for the archive of a build."""

    path: str
    machine: str
    """Go's name of the architecture, as ``amd64``; the ELF number as text where there is none."""
    name: str = ""
    """DT_SONAME."""
    version: str = ""
    package: str = ""
    """Of the image's package database, as ``libc6 2.36-9+deb12u9``; empty where no package owns the file."""
    needs: tuple[str, ...] = ()
    """DT_NEEDED, in order."""
    symbol_versions: tuple[str, ...] = ()
    """Needed of others, as ``libc.so.6 GLIBC_2.34``, sorted."""


class Software(msgspec.Struct, frozen=True, omit_defaults=True):
    """A program or package of the image that is known by name and version."""

    name: str
    version: str
    kind: str
    """``wheel``, ``go``, ``deb``, ``apk``, ``rpm``, ``jdk``, ``libc``, ``distribution``, ``cuda`` and so on."""
    file: str = ""
    """Where that is said."""


class Inspection(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the files of one image say."""

    engine: int
    """Which edition of the inspection made it; an older one's result is made anew."""
    machine: str = ""
    """Go's name of the architecture of what starts first, from its ELF header; empty where nothing was found to start."""
    start: tuple[str, ...] = ()
    """What is executed when the image is run: the entrypoint, then its interpreters, as paths in the image."""
    requirements: tuple[Requirement, ...] = ()
    defects: tuple[Defect, ...] = ()
    information: tuple[Information, ...] = ()
    unexplored: tuple[Unexplored, ...] = ()
    software: tuple[Software, ...] = ()
    libraries: tuple[Library, ...] = ()
    """Left out on the bus: an image has thousands."""

    @property
    def is_broken(self) -> bool:
        """Whether the image fails on every node."""
        return any(defect.sureness is Sureness.CERTAIN for defect in self.defects)


def uninspected(error: Exception, engine: int = 0) -> Inspection:
    """The inspection of an image whose files could not be looked at: nothing is known of them, and why."""
    return Inspection(engine, unexplored=(Unexplored("the files of the image", str(error)),))
