"""Archives of images: made member by member, and what stock tools wrote."""

import gzip
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

from nodeworthy_resolver.oci.digests import compute


class WriteTar(Protocol):
    """Write a tar of these members, in order; a ``TarInfo`` in the place of a name says more. Compressed with ``.gz``."""

    def __call__(self, *members: tuple[str | tarfile.TarInfo, bytes], name: str = "image.tar") -> Path: ...


@pytest.fixture
def write_tar(tmp_path: Path) -> WriteTar:
    def write(*members: tuple[str | tarfile.TarInfo, bytes], name: str = "image.tar") -> Path:
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w") as archive:
            for member, data in members:
                entry = tarfile.TarInfo(member) if isinstance(member, str) else member
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
        path = tmp_path / name
        path.write_bytes(gzip.compress(stream.getvalue()) if name.endswith("gz") else stream.getvalue())
        return path

    return write


@pytest.fixture
def pack(write_tar: WriteTar) -> Callable[..., Path]:
    """Pack a folder, as ``tar cf FILE -C FOLDER .`` does, with more members after it."""

    def make(folder: Path, *more: tuple[str | tarfile.TarInfo, bytes], name: str = "image.tar") -> Path:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return write_tar(*((f"./{path.relative_to(folder)}", path.read_bytes()) for path in files), *more, name=name)

    return make


@pytest.fixture
def docker_members() -> Callable[..., list[tuple[str, bytes]]]:
    """What ``docker save`` up to version 24 writes for images of these tags: the config, an unread layer, the list.

    The form is that of moby, image/spec/spec.md 1.2, section "Combined Image JSON + Filesystem Changeset Format".
    """

    def make(*tags: str) -> list[tuple[str, bytes]]:
        members, listed = [], []
        for tag in tags:
            config = json.dumps({"os": "linux", "architecture": "arm64", "config": {"Labels": {"t": tag}}}).encode()
            name = compute(config).removeprefix("sha256:") + ".json"
            members += [(name, config), (f"{name[:64]}/layer.tar", b"layer")]
            listed.append({"Config": name, "RepoTags": [tag] if tag else None, "Layers": [f"{name[:64]}/layer.tar"]})
        return [*members, ("manifest.json", json.dumps(listed).encode())]

    return make
