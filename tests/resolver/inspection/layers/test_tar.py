import io
import subprocess
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import InspectionError
from nodeworthy_resolver.inspection.layers import Layer, read_layers
from nodeworthy_resolver.inspection.tree import Kind
from nodeworthy_resolver.oci import digests

if TYPE_CHECKING:
    from tests.resolver.inspection.layers.conftest import MakeTar, ReadStored


@pytest.mark.parametrize("version", ["old", "0.1", "1.0"])
def test_sparse_files_of_gnu_tar_are_whole(tmp_path: Path, read_stored: "ReadStored", version: str) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.write(b"\x7fELF")
        for place in range(1, 60):
            file.seek(place * 65_536)
            file.write(b"part %d" % place)
        file.truncate(5_000_000)
    (tmp_path / "after").write_bytes(b"#!after")
    form = ["--format=gnu"] if version == "old" else ["--format=posix", f"--sparse-version={version}"]
    packed = subprocess.run(
        ["tar", "-c", "--sparse", *form, "-C", tmp_path, "sparse", "after"], capture_output=True, check=True
    )
    assert len(packed.stdout) < 1_000_000

    tree = read_stored(packed.stdout)

    with tree.map("/sparse") as view:
        assert bytes(view) == (tmp_path / "sparse").read_bytes()
    assert tree.read("/after") == b"#!after"


def test_an_archive_is_damaged_where_no_engine_would_read_it(make_tar: "MakeTar", read_stored: "ReadStored") -> None:
    good = make_tar(("a", b"#!x"), ("b", b"#!y"))
    wrong_checksum = bytearray(good)
    wrong_checksum[0] ^= 1
    for data, why in [
        (bytes(wrong_checksum), "wrong checksum"),
        (b"this is no archive" * 100, "checksum|octal"),
        (good[:700], "cut off"),
        (good[:512], "cut off"),
        (good[:1024] + bytes(512) + good[1024:], "goes on after its end"),
    ]:
        with pytest.raises(InspectionError, match=why):
            read_stored(data)


def test_an_archive_may_end_without_its_last_blocks(make_tar: "MakeTar", read_stored: "ReadStored") -> None:
    assert read_stored(make_tar(("a", b"#!x"))[:1024]).read("/a") == b"#!x"


def sparse(name: str, data: bytes, **records: str) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        entry.pax_headers = {f"GNU.sparse.{key}": value for key, value in records.items()}
        archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("records", "data", "why"),
    [
        ({"map": "0,10,5,10", "size": "100"}, b"x" * 20, "overlap"),
        ({"map": "0,10", "size": "5"}, b"x" * 10, "more than the file"),
        ({"map": "0,1000", "size": "1000"}, b"x" * 10, "more than the file"),
        ({"map": "0", "size": "1000"}, b"x", "cut off"),
        ({"map": "x,1", "size": "1000"}, b"x", "no number"),
        ({"major": "1", "minor": "0", "realsize": "9"}, b"3\n0\n1\n", "cut off"),
        ({"major": "1", "minor": "0", "realsize": "9"}, b"99999999\n".ljust(512), "parts"),
        ({"major": "1", "minor": "0", "realsize": "9"}, b"9" * 2048, "parts|number"),
        ({"numblocks": "1", "size": "9"}, b"x", "not read"),
    ],
)
def test_maps_of_sparse_files_that_cannot_be_are_refused(
    read_stored: "ReadStored", records: dict[str, str], data: bytes, why: str
) -> None:
    with pytest.raises(InspectionError, match=why):
        read_stored(sparse("a", data, **records))


def test_global_records_say_nothing_of_members(read_stored: "ReadStored") -> None:
    stream = io.BytesIO()
    with tarfile.open(
        fileobj=stream, mode="w", format=tarfile.PAX_FORMAT, pax_headers={"path": "elsewhere"}
    ) as archive:
        archive.addfile(tarfile.TarInfo("a"))

    assert read_stored(stream.getvalue()).names("/") == ["a"]


NAMES = st.text(st.characters(blacklist_characters="\0/", blacklist_categories=["Cs"]), min_size=1, max_size=40)


@given(
    st.dictionaries(
        NAMES.filter(lambda name: name not in {".", ".."} and not name.startswith(".wh.")),
        st.binary(max_size=2000),
        max_size=8,
    )
)
def test_what_the_standard_library_writes_is_read(files: dict[str, bytes]) -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(f"top/{name}")
            entry.size, entry.mode = len(data), 0o755
            archive.addfile(entry, io.BytesIO(data))

    with read_layers([stored(stream.getvalue())]) as tree:
        assert list(tree.names("/top")) == sorted(files)
        for name, data in files.items():
            assert tree.read(f"/top/{name}", 0, 512) == data[:512]


@given(st.data())
def test_damage_anywhere_raises_nothing_but_our_own_error(data: st.DataObject) -> None:
    archive = bytearray(SAMPLE)
    for _ in range(data.draw(st.integers(1, 4))):
        archive[data.draw(st.integers(0, len(archive) - 1))] = data.draw(st.integers(0, 255))

    try:
        with read_layers([stored(bytes(archive))]) as tree:
            for path, entry in tree.walk():
                if entry.kind is Kind.FILE:
                    tree.read(path, 0, 4)
    except InspectionError:
        return  # any other error fails the test


def stored(data: bytes) -> Layer:
    from contextlib import nullcontext

    return Layer("layer 1", lambda: nullcontext(iter([data])), digests.compute(data))


SAMPLE = sparse("a/b", b"1\n0\n3\n".ljust(512, b"\0") + b"abc", major="1", minor="0", realsize="100")[:4096]
