import contextlib
import json
from collections.abc import AsyncIterator, Iterable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.kubernetes import watch_stream
from nodeworthy.kubernetes.refusals import (
    KubernetesContentError,
    KubernetesError,
    KubernetesGoneError,
    KubernetesServerError,
)
from nodeworthy.kubernetes.watch_stream import parse_bookmark, parse_event, split_lines


async def pour(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def lines_of(pieces: Iterable[bytes]) -> list[bytes]:
    return [line async for line in split_lines(pour(pieces), "it failed")]


@given(st.lists(st.binary(min_size=1).map(lambda line: line.replace(b"\n", b"-")), max_size=8), st.data())
async def test_lines_are_the_same_however_the_text_is_cut(lines: list[bytes], data: st.DataObject) -> None:
    text = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert await lines_of(pieces) == lines


async def test_what_was_cut_off_is_no_line() -> None:
    assert await lines_of([b"a\nb", b"c\n\nd"]) == [b"a", b"bc"]


async def test_a_line_without_end_is_an_error_and_not_all_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_stream, "MAX_LINE", 10)
    with pytest.raises(KubernetesContentError, match="more than 10 bytes"):
        await lines_of([b"12345", b"678901"])


def test_an_event_keeps_its_object_as_it_came() -> None:
    event = parse_event(b'{"type": "ADDED", "object": {"a":  1}}', "it failed")
    assert (event.type, bytes(event.object)) == ("ADDED", b'{"a":  1}')


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ({"code": 410, "reason": "Expired"}, KubernetesGoneError),
        ({"code": 500, "reason": "Expired"}, KubernetesGoneError),
        ({"code": 410, "reason": "Gone"}, KubernetesGoneError),
        ({"code": 500}, KubernetesServerError),
        ({}, KubernetesServerError),
    ],
)
def test_an_error_in_a_watch_is_raised(status: dict[str, object], kind: type[KubernetesError]) -> None:
    line = json.dumps({"type": "ERROR", "object": {"kind": "Status", "message": "m", **status}}).encode()
    with pytest.raises(kind, match="m"):
        parse_event(line, "it failed")


@given(st.binary(max_size=60))
def test_any_line_is_an_event_or_an_error_of_ours(line: bytes) -> None:
    with contextlib.suppress(KubernetesError):
        assert parse_event(line, "it failed").type != "ERROR"


def test_a_bookmark_is_a_version() -> None:
    raw = msgspec.Raw(b'{"kind": "Node", "metadata": {"resourceVersion": "12"}}')
    assert parse_bookmark(raw, "it failed") == "12"
    with pytest.raises(KubernetesContentError, match="no version"):
        parse_bookmark(msgspec.Raw(b'{"metadata": {}}'), "it failed")
