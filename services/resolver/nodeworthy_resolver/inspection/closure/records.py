"""The records of what runs."""

from enum import StrEnum

import msgspec

from nodeworthy.requirements import Defect, Sureness, Unexplored


class Role(StrEnum):
    """Why a file belongs to what runs."""

    PROGRAM = "program"
    """Executed: the entrypoint, or what a script executes."""
    INTERPRETER = "interpreter"
    """Named behind ``#!``, as a shell."""
    LOADER = "loader"
    """PT_INTERP of a program."""
    LIBRARY = "library"
    """DT_NEEDED, at any depth."""
    PRELOADED = "preloaded"
    """Named by LD_PRELOAD or /etc/ld.so.preload."""


class Loaded(msgspec.Struct, frozen=True):
    """One file that runs or is loaded."""

    path: str
    """Canonical path in the image."""
    role: Role
    by: str
    """The path of what executes or loads it; empty for the entrypoint."""
    sureness: Sureness
    """CERTAIN: it runs whenever the image is started as its config says. PROBABLE: a script's last line or its like."""


class Start(msgspec.Struct, frozen=True):
    """What runs when an image is started as its config says."""

    chain: tuple[str, ...] = ()
    """The entrypoint, then its interpreters: paths in the image, as far as they could be followed."""
    loaded: tuple[Loaded, ...] = ()
    """All files that run, in the order in which they were found; each path once, with its best sureness."""
    arguments: tuple[str, ...] = ()
    """Entrypoint and command as they are executed."""
    defects: tuple[Defect, ...] = ()
    unexplored: tuple[Unexplored, ...] = ()

    def sureness(self, path: str) -> Sureness | None:
        """How sure it is that a file runs; ``None`` where nothing says that it does."""
        return next((one.sureness for one in self.loaded if one.path == path), None)
