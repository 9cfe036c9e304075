"""Files on this machine's disk in the place of an image."""

from pathlib import Path

from nodeworthy_resolver.inspection.folders import FileTree, FolderTree
from nodeworthy_resolver.inspection.sources.opened import OpenedImage
from nodeworthy_resolver.inspection.subject import ImageConfig


def open_folder(root: Path) -> OpenedImage:
    """A root folder; what is executed in it, nobody says.

    Raises:
        UsageError: it cannot be read.
    """
    return OpenedImage(FolderTree(root), ImageConfig())


def open_file(file: Path) -> OpenedImage:
    """A program, as an image that holds it alone and executes it.

    Raises:
        UsageError: it cannot be read.
    """
    tree = FileTree(file)
    return OpenedImage(tree, ImageConfig(entrypoint=(tree.path,)))
