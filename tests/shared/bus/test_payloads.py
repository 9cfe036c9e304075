import contextlib
import json

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.bus import payloads
from nodeworthy.bus.payloads import Format
from nodeworthy.bus.records import VERSION, RescanRequest, Session, SetEntry, SnapshotMessage
from nodeworthy.bus.requests import ValidateRequest
from nodeworthy.errors import PayloadError, PayloadVersionError
from nodeworthy.features import SetState

SNAPSHOT = SnapshotMessage(
    node="n1",
    producer="detector",
    session=Session("boot", 7),
    sequence=3,
    sets={"cpu.cpuid": SetEntry(SetState.PRESENT, content=b"\x00\xff"), "a": SetEntry(SetState.ABSENT, reason="no")},
)


@pytest.mark.parametrize("form", Format)
def test_a_message_comes_back_from_its_body(form: Format) -> None:
    body = payloads.encode(SNAPSHOT, form)
    assert payloads.format_of(body) is form
    assert payloads.decode(body, SnapshotMessage) == SNAPSHOT


def test_another_implementation_reads_the_body_with_its_version() -> None:
    assert msgpack.unpackb(payloads.encode(SNAPSHOT)) == {
        "version": VERSION,
        "node": "n1",
        "producer": "detector",
        "session": {"boot_id": "boot", "start": 7},
        "sequence": 3,
        "sets": {"cpu.cpuid": {"state": "present", "content": b"\x00\xff"}, "a": {"state": "absent", "reason": "no"}},
    }


def test_people_need_not_write_the_version() -> None:
    assert payloads.decode(b'{"image": "alpine"}', ValidateRequest) == ValidateRequest(image="alpine")


def test_unknown_fields_of_a_newer_program_are_passed_over() -> None:
    assert payloads.decode(b'{"image": "alpine", "shiny": [1]}', ValidateRequest).image == "alpine"


def test_a_newer_version_is_named_even_if_its_shape_is_another() -> None:
    with pytest.raises(PayloadVersionError, match="version 2") as error:
        payloads.decode(b'{"version": 2, "image": ["now a list"]}', ValidateRequest)
    assert "upgrade" in error.value.todo


@pytest.mark.parametrize("version", ["0", "-1", '"1"', "1.5", "null"])
def test_a_version_that_never_was_is_an_error(version: str) -> None:
    with pytest.raises(PayloadError):
        payloads.decode(f'{{"version": {version}, "image": "a"}}'.encode(), ValidateRequest)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"hello",
        b"\xc1",
        b"\x80",
        b'{"id": 5}',
        b'{"id": ""}',
        b'{"id": "\xff"}',
        b"[" * 100_000,
        b"\x91" * 100_000,
        b"\x81\xa2id" * 100_000,
    ],
)
def test_a_body_that_is_no_message_is_an_error_and_no_traceback(body: bytes) -> None:
    with pytest.raises(PayloadError):
        payloads.decode(body, RescanRequest)


@given(st.binary(max_size=64))
def test_no_bytes_raise_anything_but_our_error(body: bytes) -> None:
    with contextlib.suppress(PayloadError):
        payloads.decode(body, SnapshotMessage)


def test_a_body_that_is_too_large_is_not_even_looked_at() -> None:
    with pytest.raises(PayloadError, match="was not read") as error:
        payloads.decode(b"{" * 101, ValidateRequest, limit=100)
    assert error.value.too_large


def test_a_message_that_is_too_large_is_not_sent() -> None:
    with pytest.raises(PayloadError, match="the limit is"):
        payloads.encode(ValidateRequest(image="x" * payloads.MAX_BODY_BYTES))


def test_more_sets_than_a_snapshot_may_have_are_refused() -> None:
    sets = {f"s{number}": {"state": "absent"} for number in range(1025)}
    body = {"node": "n", "producer": "p", "session": {"boot_id": "b", "start": 1}, "sequence": 1, "sets": sets}
    with pytest.raises(PayloadError, match="length <= 1024"):
        payloads.decode(json.dumps(body).encode(), SnapshotMessage)
