import gzip
import tarfile
import zlib
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest
import zstandard

from nodeworthy.errors import InspectionError
from nodeworthy_resolver.inspection.layers import Bounds, Layer, read_layers
from nodeworthy_resolver.oci import digests

if TYPE_CHECKING:
    from tests.resolver.inspection.layers.conftest import MakeTar, ReadStored

SCRIPT = b"#!/bin/sh\n" + b"true\n" * 1000


@pytest.fixture
def archive(make_tar: "MakeTar") -> bytes:
    return make_tar(("run", SCRIPT), ("etc/os-release", b"ID=test\n"))


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


def test_every_compression_is_told_by_its_first_bytes(archive: bytes, read_stored: "ReadStored") -> None:
    half = len(archive) // 2
    skippable = b"\x50\x2a\x4d\x18\x04\0\0\0note"
    stored = [
        archive,
        gzip.compress(archive),
        gzip.compress(archive[:half]) + gzip.compress(archive[half:]),
        gzip.compress(archive) + bytes(100),
        zstd(archive),
        zstd(archive[:half]) + zstd(archive[half:]),
        skippable + zstd(archive) + skippable,
    ]
    for data in stored:
        tree = read_stored(data)
        assert tree.read("/run") == SCRIPT
        assert tree.read("/etc/os-release") == b"ID=test\n"


def test_an_empty_layer_holds_nothing(read_stored: "ReadStored") -> None:
    assert list(read_stored(b"", gzip.compress(b""), bytes(1024)).walk()) == []


def test_other_compressions_are_named(read_stored: "ReadStored") -> None:
    with pytest.raises(InspectionError, match="compressed with xz"):
        read_stored(b"\xfd7zXZ\0" + bytes(100))


@pytest.mark.parametrize("part", [0.3, 0.7, 0.99])
def test_what_is_cut_off_is_refused(archive: bytes, read_stored: "ReadStored", part: float) -> None:
    for data in (archive.rstrip(b"\0")[:-5000], gzip.compress(archive), zstd(archive)):
        with pytest.raises(InspectionError, match=r"cut off|decompress|damaged"):
            read_stored(data[: int(len(data) * part)])


def test_what_follows_compressed_content_is_no_padding(archive: bytes, read_stored: "ReadStored") -> None:
    with pytest.raises(InspectionError, match="does not decompress"):
        read_stored(gzip.compress(archive[:-512]) + b"rubbish" + bytes(600))


def test_a_wrong_checksum_is_refused(archive: bytes, read_stored: "ReadStored") -> None:
    data = bytearray(gzip.compress(archive[:-512]))
    data[-8] ^= 1

    with pytest.raises(InspectionError, match="does not decompress"):
        read_stored(bytes(data))


def test_a_zstd_window_beyond_its_bound_is_refused(read_stored: "ReadStored") -> None:
    """A frame header with a window of 2 GiB (RFC 8878, section 3.1.1.1.2) and one raw block."""
    frame = b"\x28\xb5\x2f\xfd\x00" + bytes([21 << 3]) + (1024 << 3 | 1).to_bytes(3, "little") + bytes(1024)

    with pytest.raises(InspectionError, match="does not decompress"):
        read_stored(frame)


def test_a_bomb_ends_at_its_bound(read_stored: "ReadStored") -> None:
    header = tarfile.TarInfo("zeros")
    header.size = 1 << 40
    start = header.tobuf(tarfile.GNU_FORMAT)
    gzipped = zlib.compressobj(wbits=31)
    packed = gzipped.compress(start) + b"".join(gzipped.compress(bytes(1 << 20)) for _ in range(8)) + gzipped.flush()
    tight = Bounds(free_bytes=1 << 20, ratio=200)

    for data in (packed, zstd(start + bytes(8 << 20))):
        with pytest.raises(InspectionError, match="more than 200 times their size"):
            read_stored(data, bounds=tight)
        with pytest.raises(InspectionError, match="more than 4,194,304 bytes"):
            read_stored(data, bounds=Bounds(unpacked_bytes=4 << 20))


def layer(data: bytes, digest: str, *, is_unpacked_digest: bool = False) -> Layer:
    found = digests.parse_digest(digest)
    assert found is not None
    return Layer("layer 1", lambda: nullcontext(iter([data])), found, is_unpacked_digest=is_unpacked_digest)


def test_other_bytes_than_the_digest_names_are_refused(archive: bytes) -> None:
    stored = gzip.compress(archive)
    for data in (stored + b"\0", stored):
        with pytest.raises(InspectionError, match="not what the image names"):
            read_layers([layer(data, digests.compute(b"other"))])


def test_without_a_digest_of_its_own_a_layer_is_held_against_that_of_its_archive(archive: bytes) -> None:
    data = gzip.compress(archive + bytes(10_000))

    with read_layers([layer(data, digests.compute(archive + bytes(10_000)), is_unpacked_digest=True)]) as tree:
        assert tree.read("/run") == SCRIPT
    with pytest.raises(InspectionError, match="not what the image names"):
        read_layers([layer(data, digests.compute(archive), is_unpacked_digest=True)])


def test_a_digest_of_another_algorithm_is_one_too(archive: bytes) -> None:
    with read_layers([layer(archive, digests.compute(archive, "sha512"))]) as tree:
        assert tree.entry("/run") is not None
