"""SIF files: one that the stock tool wrote, and others made from it byte by byte."""

import contextlib
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import ImageNotFoundError, RegistryContentError
from nodeworthy.images import SearchState
from nodeworthy.platforms import Platform
from nodeworthy_resolver.oci import look_up, parse_reference
from nodeworthy_resolver.oci.sif.header import (
    ARCHITECTURES,
    DESCRIPTOR_BYTES,
    HEADER_BYTES,
    parse_header,
    parse_objects,
)

if TYPE_CHECKING:
    from tests.resolver.conftest import Builder

REAL = Path(__file__).parent / "siftool-2.24.2-arm64.sif"
"""``siftool new FILE && siftool add --datatype 4 --parttype 2 --partfs 1 --partarch 4 FILE PART`` (sylabs/sif v2.24.2)."""

ARCH_OFFSET, TABLE_OFFSET, EXTRA_OFFSET = 45, 4096, 201
"""Of the header's architecture, of the first descriptor, and of what a descriptor says of its kind."""

Change = Callable[..., Path]


@pytest.fixture
def change(tmp_path: Path) -> Change:
    """The real file with other bytes at some places."""

    def make(*changes: tuple[int, bytes], name: str = "app.sif") -> Path:
        data = bytearray(REAL.read_bytes())
        for place, new in changes:
            data[place : place + len(new)] = new
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return make


async def test_a_file_of_the_stock_tool_says_its_architecture() -> None:
    known = await look_up(parse_reference(str(REAL)), None)
    (image,) = known.images
    assert (image.platform, image.claimed, image.notices) == (Platform("linux", "arm64"), None, ())
    assert image.search is not None
    assert image.search.state is SearchState.NONE


@pytest.mark.parametrize(("code", "name"), ARCHITECTURES.items())
async def test_every_architecture_is_told(code: str, name: str, change: Change) -> None:
    both = [(ARCH_OFFSET, code.encode()), (TABLE_OFFSET + EXTRA_OFFSET + 8, code.encode())]
    (image,) = (await look_up(parse_reference(str(change(*both))), None)).images
    assert image.platform is not None
    assert image.platform.architecture == name


async def test_header_and_file_system_that_disagree_are_believed_in_nothing(change: Change) -> None:
    (image,) = (await look_up(parse_reference(str(change((ARCH_OFFSET, b"02")))), None)).images
    assert image.platform is None
    assert "'amd64'" in image.notices[0]
    assert "arm64" in image.notices[0]


async def test_an_unknown_architecture_is_unknown(change: Change) -> None:
    both = [(ARCH_OFFSET, b"77"), (TABLE_OFFSET + EXTRA_OFFSET + 8, b"77")]
    (image,) = (await look_up(parse_reference(str(change(*both))), None)).images
    assert image.platform is None
    assert image.notices == ("its architecture code '77' is none that is known",)


async def test_a_file_without_a_file_system_to_run_says_so(change: Change) -> None:
    overlay = (TABLE_OFFSET + EXTRA_OFFSET + 4, b"\x04")
    (image,) = (await look_up(parse_reference(str(change(overlay))), None)).images
    assert image.platform is None
    assert image.notices == ("it holds no file system to run",)


async def test_a_specification_beside_it_counts(change: Change, build: "Builder", tmp_path: Path) -> None:
    path = change(name="any-name")
    (tmp_path / "any-name.compat.yaml").write_bytes(build.spec)
    (image,) = (await look_up(parse_reference(f"sif:{path}"), None)).images
    assert image.search is not None
    assert image.search.artifact is not None
    assert image.search.artifact.data == build.spec
    assert str(tmp_path / "any-name.compat.yaml") in image.search.notices[0]


async def test_a_specification_that_cannot_be_read_is_not_nothing(change: Change, tmp_path: Path) -> None:
    path = change()
    os.mkfifo(tmp_path / "app.sif.compat.yaml")
    (image,) = (await look_up(parse_reference(str(path)), None)).images
    assert image.search is not None
    assert image.search.state is SearchState.FAILED


@pytest.mark.parametrize(
    ("place", "new", "says"),
    [
        (32, b"SIF_TRAGIC", "SIF_MAGIC"),
        (42, b"02", "version"),
        (80, struct.pack("<q", -1), "makes no sense"),
        (88, struct.pack("<q", 1 << 40), "makes no sense"),
        (96, struct.pack("<q", 1), "makes no sense"),
        (96, struct.pack("<q", 1 << 61), "cut off"),
        (TABLE_OFFSET + 17, struct.pack("<q", -5), "negative"),
    ],
)
async def test_a_damaged_file_is_named_with_what_is_wrong(place: int, new: bytes, says: str, change: Change) -> None:
    with pytest.raises(RegistryContentError, match=r"app\.sif is no SIF file") as caught:
        await look_up(parse_reference(str(change((place, new)))), None)
    assert says in caught.value.why


async def test_a_file_that_is_not_there_may_have_been_a_registrys(tmp_path: Path) -> None:
    with pytest.raises(ImageNotFoundError) as caught:
        await look_up(parse_reference(f"{tmp_path}/missing.sif"), None)
    assert "missing.sif:TAG" in caught.value.todo


def oci_sif(build: "Builder", index: bytes) -> bytes:
    """A file as SingularityCE 4 makes it: an OCI image's blobs, and its index as the root (sylabs/sif, docs of OCI-SIF)."""
    header, data = bytearray(REAL.read_bytes()[:HEADER_BYTES]), bytearray(b"\0" * 65536)
    header[ARCH_OFFSET : ARCH_OFFSET + 2] = b"00"
    contents = [(0x400A, "", index), *((0x400B, digest, blob) for digest, blob in build.blobs.items())]
    contents += [(0x400B, digest, content.data) for digest, content in build.manifests.items()]
    for number, (kind, digest, content) in enumerate(contents):
        said = struct.pack(
            "<iBIIIqqqqqqq128s384s", kind, 1, number + 1, 0, 0, len(data), len(content), len(content), 0, 0, 0, 0, b"",
            digest.encode(),
        )  # fmt: skip
        place = TABLE_OFFSET + number * DESCRIPTOR_BYTES
        data[place : place + DESCRIPTOR_BYTES] = said
        data += content
    data[: len(header)] = header
    return bytes(data)


async def test_the_oci_image_inside_a_file_is_read_with_what_is_attached(build: "Builder", tmp_path: Path) -> None:
    image = build.image("linux/riscv64")
    artifact = build.artifact(image)
    index = build.document(
        {"manifests": [build.entry(image), build.entry(artifact)]}, "application/vnd.oci.image.index.v1+json"
    )
    path = tmp_path / "app.oci.sif"
    path.write_bytes(oci_sif(build, index.data))
    known = await look_up(parse_reference(str(path)), None)
    assert known.digest == image.digest
    assert known.images[0].platform == Platform("linux", "riscv64")
    assert known.images[0].search is not None
    assert known.images[0].search.artifact is not None
    (tmp_path / "app.oci.sif.compat.yaml").write_bytes(b"beside")
    known = await look_up(parse_reference(str(path)), None)
    assert known.images[0].search is not None
    assert known.images[0].search.artifact is not None
    assert known.images[0].search.artifact.data == b"beside"


async def test_a_blob_inside_that_is_not_what_its_digest_says_is_refused(build: "Builder", tmp_path: Path) -> None:
    image = build.image()
    index = build.document({"manifests": [build.entry(image)]}, "application/vnd.oci.image.index.v1+json")
    path = tmp_path / "app.sif"
    path.write_bytes(oci_sif(build, index.data).replace(b'"architecture": "amd64"', b'"architecture": "arm64"'))
    with pytest.raises(RegistryContentError, match="not what was asked for"):
        await look_up(parse_reference(str(path)), None)


@given(st.binary(max_size=200), st.integers(0, 127), st.binary(min_size=1, max_size=8))
def test_any_bytes_are_a_header_or_refused(data: bytes, place: int, new: bytes) -> None:
    real = REAL.read_bytes()[:HEADER_BYTES]
    for header in (data, real[:place] + new + real[place + len(new) :]):
        with contextlib.suppress(ValueError):
            assert parse_header(header).descriptors >= 0


@given(st.binary(max_size=3 * DESCRIPTOR_BYTES))
def test_any_bytes_are_descriptors_or_refused(data: bytes) -> None:
    try:
        objects = parse_objects(data)
    except ValueError:
        return
    assert all(one.offset >= 0 and one.size >= 0 for one in objects)
