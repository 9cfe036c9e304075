"""An image whose files can be read."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from nodeworthy.platforms import Platform
from nodeworthy.requirements import Unexplored
from nodeworthy_resolver.inspection.layers import Bounds
from nodeworthy_resolver.inspection.subject import ImageConfig
from nodeworthy_resolver.inspection.tree import Tree

Progress = Callable[[int, int], None]
"""Told how many bytes of the layers were read, as they are stored, and how many there are; in the event loop."""


def no_progress(done: int, total: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class ReadingOptions:
    """How the layers of an image are read."""

    progress: Progress = no_progress
    bounds: Bounds = field(default_factory=Bounds)
    folder: Path | None = None
    """Where contents are kept for the time of the inspection; ``None``: where temporary files lie."""
    claimed: Platform | None = None
    """What an index says of the image's platform, where the reference names the image itself and not the index."""


class SourceTree(Tree, Protocol):
    """A tree that knows what of its files could not be read."""

    def unexplored(self) -> tuple[Unexplored, ...]:
        """What could not be read until now, and why."""
        ...


@dataclass(frozen=True)
class OpenedImage:
    """One image, while its files can be read."""

    tree: SourceTree
    config: ImageConfig
    digest: str = ""
    """Of the manifest; of an archive of ``docker save`` that of one made here, empty where there is none."""
    missing: tuple[Unexplored, ...] = ()
    """Parts that were not opened at all."""

    def unexplored(self) -> tuple[Unexplored, ...]:
        """What is not in the tree, or could not be read in it until now: to be asked when all readings are done."""
        return (*self.missing, *self.tree.unexplored())
