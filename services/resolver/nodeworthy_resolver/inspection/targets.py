"""What can be inspected: images by reference, a root folder, one file. Light, since every ``check`` loads it."""

from dataclasses import dataclass
from pathlib import Path

from nodeworthy_resolver.oci import AnyReference, Reference, parse_reference

ROOT_FOLDER = "rootfs:"
"""How a root folder's name begins where one word is wanted."""


@dataclass(frozen=True)
class RootFolder:
    """A root folder on this machine's disk."""

    folder: Path

    def __str__(self) -> str:
        return f"{ROOT_FOLDER}{self.folder}"


@dataclass(frozen=True)
class SingleFile:
    """A program or library on this machine's disk."""

    file: Path

    def __str__(self) -> str:
        return str(self.file)


Target = AnyReference | RootFolder | SingleFile


def parse_target(text: str) -> Target:
    """What a text names: ``rootfs:FOLDER``; a program that is there, written with a slash; else an image.

    Raises:
        InvalidReferenceError: it names none of these.
    """
    if text.startswith(ROOT_FOLDER):
        return RootFolder(Path(text.removeprefix(ROOT_FOLDER)))
    return SingleFile(Path(text)) if "/" in text and _is_program(Path(text)) else parse_reference(text)


_BEGINNINGS = (b"\x7fELF", b"#!")


def _is_program(path: Path) -> bool:
    """Whether a file is one that a kernel executes; archives and folders have other names."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as stream:
            return stream.read(4).startswith(_BEGINNINGS)
    except OSError:
        return False


def is_on_disk(target: Target) -> bool:
    """Whether looking at it asks no registry."""
    return not isinstance(target, Reference)
