"""Layers made member by member, and the tree that they leave."""

import io
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from typing import Any, Protocol

import pytest

from nodeworthy_resolver.inspection.layers import Bounds, Layer, LayeredTree, read_layers
from nodeworthy_resolver.oci import digests

Content = bytes | str | tarfile.TarInfo | None


class MakeTar(Protocol):
    """A tar of members in order: bytes are a file, text is a link, ``None`` a folder, a ``TarInfo`` says it all."""

    def __call__(self, *members: tuple[str, Content], form: int = tarfile.PAX_FORMAT) -> bytes: ...


@pytest.fixture
def make_tar() -> MakeTar:
    def make(*members: tuple[str, Content], form: int = tarfile.PAX_FORMAT) -> bytes:
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w", format=form, errors="surrogateescape") as archive:
            for name, content in members:
                entry = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo()
                entry.name = name
                data = content if isinstance(content, bytes) else b""
                if isinstance(content, str):
                    entry.type, entry.linkname = tarfile.SYMTYPE, content
                elif content is None:
                    entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                elif isinstance(content, bytes):
                    entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
        return stream.getvalue()

    return make


def entry_of(kind: bytes, **fields: Any) -> tarfile.TarInfo:
    """A member of another kind."""
    made = tarfile.TarInfo()
    made.type = kind
    for name, value in fields.items():
        setattr(made, name, value)
    return made


@pytest.fixture
def hard_link() -> Callable[[str], tarfile.TarInfo]:
    """A hard link to a member."""
    return lambda target: entry_of(tarfile.LNKTYPE, linkname=target)


@pytest.fixture
def device() -> tarfile.TarInfo:
    """A device node."""
    return entry_of(tarfile.CHRTYPE, devmajor=1, devminor=3)


class ReadStored(Protocol):
    """The tree of layers as they are stored."""

    def __call__(self, *layers: bytes, bounds: Bounds | None = None, is_windows: bool = False) -> LayeredTree: ...


@pytest.fixture
def read_stored() -> Iterator[ReadStored]:
    with ExitStack() as stack:

        def read(*layers: bytes, bounds: Bounds | None = None, is_windows: bool = False) -> LayeredTree:
            made = [
                Layer(f"layer {number}", partial(_open, data), digests.compute(data))
                for number, data in enumerate(layers, 1)
            ]
            return stack.enter_context(read_layers(made, bounds, is_windows=is_windows))

        yield read


def _open(data: bytes) -> AbstractContextManager[Iterator[bytes]]:
    """In pieces of an odd size, so that headers and frames are cut anywhere."""
    return nullcontext(data[at : at + 1009] for at in range(0, len(data), 1009))


class ReadLayers(Protocol):
    """The tree of layers that are named member by member."""

    def __call__(self, *layers: Sequence[tuple[str, Content]], **options: Any) -> LayeredTree: ...


@pytest.fixture
def read(make_tar: MakeTar, read_stored: ReadStored) -> ReadLayers:
    return lambda *layers, **options: read_stored(*(make_tar(*layer) for layer in layers), **options)
