"""What the detector's configuration file may say, once it has been read and checked; see docs/configuration.md."""

from collections.abc import Collection, Mapping
from typing import Annotated

import msgspec

from nodeworthy.errors import Problem
from nodeworthy_detector.programs.settings import ProgramSettings

MIN_INTERVAL = 1.0
MAX_INTERVAL = 86_400.0
"""Seconds between two looks at one source: a second costs the node, and a fact that was not looked at for a day is none."""

Interval = Annotated[float, msgspec.Meta(ge=MIN_INTERVAL, le=MAX_INTERVAL)]


class Configuration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A configuration; without a file it is the one without arguments."""

    disabled: frozenset[str] = frozenset()
    """The sources that are not asked (``core.featureSources``)."""
    intervals: Mapping[str, Interval] = {}
    """Source to the seconds between two looks at it (``sources.<name>.interval``)."""
    kernel_config: str = ""
    """A kernel configuration that is looked at before the usual places (``sources.kernel.kconfigFile``)."""
    features_d: str = ""
    """The folder of files that administrators write (``sources.local.folder``); empty: NFD's own place."""
    custom_d: str = ""
    """The folder of rules that administrators write (``sources.custom.folder``); empty: NFD's own place."""
    custom_rules: str = ""
    """The rules in the file itself, as YAML text (``sources.custom``, ``sources.custom.rules``)."""
    programs: ProgramSettings = ProgramSettings()
    """``sources.programs``"""
    libraries: Mapping[str, tuple[str, ...]] = {}
    """More libraries, each with the beginnings of its files' names (``sources.system.libraries``)."""
    library_folders: tuple[str, ...] = ()
    """More folders that libraries are looked for in (``sources.system.libraryFolders``)."""


class Outcome(msgspec.Struct, frozen=True):
    """What the reading of a file gave: a configuration, or the problems that there are instead."""

    configuration: Configuration | None = None
    problems: tuple[Problem, ...] = ()
    notices: tuple[Problem, ...] = ()
    """What was read and has no effect here."""


def disabled_by(chosen: Collection[str], known: Collection[str]) -> frozenset[str]:
    """The sources that a list as ``[all, -usb]`` leaves out: its entries add and take away, one after the other."""
    enabled: set[str] = set()
    for entry in chosen:
        name = entry.removeprefix("-")
        names = set(known) if name == "all" else {name}
        enabled = enabled - names if entry.startswith("-") else enabled | names
    return frozenset(known) - enabled
