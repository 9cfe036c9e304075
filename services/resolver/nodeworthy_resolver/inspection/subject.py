"""What a reading is given, and what it gives back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from nodeworthy.platforms import Platform
from nodeworthy.requirements import Defect, Information, Requirement, Software, Unexplored
from nodeworthy_resolver.inspection.closure.records import Start
from nodeworthy_resolver.inspection.elf import Elf
from nodeworthy_resolver.inspection.tree import Tree


@dataclass(frozen=True)
class ImageConfig:
    """What an image's config says of running it (OCI image specification, config.md); all empty for a bare folder."""

    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    working_folder: str = "/"
    labels: Mapping[str, str] = field(default_factory=dict)
    platform: Platform | None = None
    """What the config claims; its ``os_version`` is Windows' build."""


@dataclass(frozen=True)
class Subject:
    """One image, prepared for the readings."""

    tree: Tree
    config: ImageConfig
    start: Start
    """What runs when the image is started, and what that loads."""
    elves: Mapping[str, Elf]
    """Every ELF file of the tree by its path, in the order of the paths."""
    clock: Callable[[], float]
    deadline: float
    """When ``clock`` shows this, a reading stops and says what it did not look at."""


@dataclass(frozen=True)
class Outcome:
    """What one reading found."""

    requirements: tuple[Requirement, ...] = ()
    defects: tuple[Defect, ...] = ()
    information: tuple[Information, ...] = ()
    unexplored: tuple[Unexplored, ...] = ()
    software: tuple[Software, ...] = ()


Reading = Callable[[Subject], Outcome]
"""Looks at one kind of thing."""
