"""Images with layers that hold something."""

import io
import json
import tarfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from nodeworthy_resolver.oci import digests
from nodeworthy_resolver.oci.manifests import IMAGE_CONFIG
from nodeworthy_resolver.oci.store import Content

if TYPE_CHECKING:
    from tests.resolver.conftest import Builder

LAYER = "application/vnd.oci.image.layer.v1.tar"
SCRIPT = b"#!/bin/sh\nexec true\n"


def pack(files: Mapping[str, bytes | tarfile.TarInfo]) -> bytes:
    """A tar archive with these files."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, data in files.items():
            entry = data if isinstance(data, tarfile.TarInfo) else tarfile.TarInfo()
            entry.name = name
            entry.size = len(data) if isinstance(data, bytes) else 0
            archive.addfile(entry, io.BytesIO(data if isinstance(data, bytes) else b""))
    return stream.getvalue()


def config_of(*archives: bytes, system: str = "linux", architecture: str = "amd64", **config: Any) -> bytes:
    """An image's config."""
    diff_ids = [digests.compute(data) for data in archives]
    said = {"os": system, "architecture": architecture, "config": config}
    return json.dumps(said | {"rootfs": {"type": "layers", "diff_ids": diff_ids}}).encode()


class MakeImage(Protocol):
    """An image with layers as they are stored, held by the builder; descriptors may stand in the place of bytes."""

    def __call__(self, *layers: bytes | dict[str, Any], **config: Any) -> Content: ...


@pytest.fixture
def make_image(build: "Builder") -> MakeImage:
    def make(*layers: bytes | dict[str, Any], **config: Any) -> Content:
        listed = [build.blob(one, LAYER) if isinstance(one, bytes) else one for one in layers]
        said = build.blob(config_of(**config), IMAGE_CONFIG)
        return build.document({"config": said, "layers": listed})

    return make
