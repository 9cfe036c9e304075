import io
import tarfile
from typing import Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nodeworthy_resolver.oci.archive.headers import parse_header, parse_records, parse_size

NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=80
)


Form = Literal[0, 1]
"""POSIX ustar, GNU."""


def header_of(name: str, size: int, form: Form) -> bytes:
    entry = tarfile.TarInfo(name)
    entry.size = size
    return entry.tobuf(form)[-512:]


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT])
@pytest.mark.parametrize("size", [0, 1, 8**11 - 1])
def test_what_another_writer_wrote_is_read(form: Form, size: int) -> None:
    name = "blobs/sha256/" + "a" * 64
    header = parse_header(header_of(name, size, form))
    assert (header.name, header.size, header.kind) == (name, size, b"0")


def test_a_name_in_two_fields_is_put_together() -> None:
    name = "p" * 90 + "/" + "n" * 80
    assert parse_header(header_of(name, 0, tarfile.USTAR_FORMAT)).name == name


def test_a_size_beyond_octal_is_binary() -> None:
    assert parse_header(header_of("a", 8**12, tarfile.GNU_FORMAT)).size == 8**12


@given(st.binary(min_size=512, max_size=512))
@example(b"\0" * 512)
def test_any_block_is_a_header_or_refused(block: bytes) -> None:
    try:
        header = parse_header(block)
    except ValueError:
        return
    assert header.size >= 0


@given(st.integers(0, 511), st.integers(1, 255))
def test_a_changed_byte_is_noticed_or_changes_nothing(place: int, change: int) -> None:
    block = bytearray(header_of("name", 7, tarfile.USTAR_FORMAT))
    before = parse_header(bytes(block))
    block[place] ^= change
    try:
        after = parse_header(bytes(block))
    except ValueError:
        return
    assert after == before


@given(st.dictionaries(NAMES.filter(lambda text: "=" not in text), NAMES, max_size=4))
def test_pax_records_are_read_as_they_were_written(records: dict[str, str]) -> None:
    assert parse_records(_written(records)) == records


def _written(records: dict[str, str]) -> bytes:
    made = io.BytesIO()
    for key, value in records.items():
        body = f" {key}={value}\n".encode()
        length = len(body) + 1
        while len(str(length)) + len(body) != length:
            length = len(str(length)) + len(body)
        made.write(str(length).encode() + body)
    return made.getvalue()


@given(st.binary(max_size=60) | st.text("0123456789 =\npath", max_size=30).map(str.encode))
def test_any_bytes_are_records_or_refused(data: bytes) -> None:
    try:
        records = parse_records(data)
    except ValueError:
        return
    assert not data or records


@pytest.mark.parametrize("text", ["", "-1", "1.5", "\u0661", "9" * 30, " 1"])
def test_a_size_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no number"):
        parse_size(text)
