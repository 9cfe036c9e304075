"""Writing out what an image runs: the entrypoint and everything that it loads, for a debugger or another machine."""

import os
import posixpath
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from nodeworthy.errors import UsageError
from nodeworthy_resolver.inspection.closure.records import Start
from nodeworthy_resolver.inspection.elf import Elf
from nodeworthy_resolver.inspection.tree import NotKeptError, Tree

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_BITS = 0o755
"""Of the image's permissions these are kept: nothing becomes set-user-id here."""


def extract(tree: Tree, start: Start, elves: Mapping[str, Elf], folder: Path) -> list[str]:
    """Write every file that runs below a folder, under its path in the image; the paths that were written.

    A library is there under its DT_SONAME too, so that a loader with ``--library-path`` finds it. Nothing is executed, and
    nothing outside of the folder is written, whatever the image's paths are.

    Raises:
        UsageError: the folder is not empty, cannot be written, or a file was not kept.
    """
    _make_empty(folder)
    written = []
    try:
        for loaded in start.loaded:
            _write(tree, loaded.path, folder)
            written.append(loaded.path)
            elf = elves.get(loaded.path)
            if elf and elf.soname and "/" not in elf.soname and elf.soname != posixpath.basename(loaded.path):
                _link(folder, posixpath.dirname(loaded.path), elf.soname, posixpath.basename(loaded.path))
    except NotKeptError as error:
        raise UsageError("the image cannot be written out", why=str(error)) from error
    except OSError as error:
        raise UsageError(f"{folder} cannot be written", why=error.strerror or str(error)) from error
    return written


def _make_empty(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_empty = not any(folder.iterdir())
    except OSError as error:
        raise UsageError(f"{folder} cannot be written", why=error.strerror or str(error)) from error
    if not is_empty:
        raise UsageError(f"{folder} is not empty", todo="name a folder that is not there yet")


def _write(tree: Tree, path: str, folder: Path) -> None:
    entry = tree.entry(path)
    with _made(folder, posixpath.dirname(path)) as parent, tree.map(path) as content:
        mode = (entry.mode if entry else 0o644) & _BITS | 0o600
        descriptor = os.open(posixpath.basename(path), _NEW, mode, dir_fd=parent)
        with open(descriptor, "wb") as stream:  # noqa: PTH123 # a descriptor
            stream.write(content)


def _link(folder: Path, inside: str, name: str, target: str) -> None:
    # Where the image has a file of that name there, that one was loaded.
    with _made(folder, inside) as parent, suppress(FileExistsError):
        os.symlink(target, name, dir_fd=parent)


@contextmanager
def _made(folder: Path, inside: str) -> Iterator[int]:
    """A folder of the image below ours, made part by part, and never through a link."""
    descriptor = os.open(folder, _FOLDER)
    try:
        for part in filter(None, inside.split("/")):
            with suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=descriptor)
            below = os.open(part, _FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)
