import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.kubernetes.refusals import (
    Cause,
    FieldConflict,
    KubernetesBusyError,
    KubernetesConflictError,
    KubernetesContentError,
    KubernetesError,
    KubernetesForbiddenError,
    KubernetesGoneError,
    KubernetesInvalidError,
    KubernetesNotFoundError,
    KubernetesServerError,
    KubernetesUnauthorizedError,
    Status,
    make_error,
    parse_conflicts,
    parse_status,
    printable,
)

CONFLICT = rb"""{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",
"message":"Apply failed with 2 conflicts: conflicts with \"kubectl\" using v1:\n- .metadata.labels.a","reason":"Conflict",
"details":{"causes":[
{"reason":"FieldManagerConflict","message":"conflict with \"kubectl\" using v1","field":".metadata.labels.a"},
{"reason":"FieldManagerConflict","field":".metadata.labels.example.com/b",
 "message":"conflict with \"a \\\"b\\\"\" with subresource \"status\" using v1 at 2031-05-06T07:08:09Z"},
{"reason":"SomethingElse","message":"x","field":"y"}]},"code":409}"""


def test_a_refused_apply_tells_each_field_and_its_owner() -> None:
    one, other = parse_conflicts(parse_status(CONFLICT))
    assert one == FieldConflict(".metadata.labels.a", "kubectl", 'conflict with "kubectl" using v1')
    assert (other.field, other.manager) == (".metadata.labels.example.com/b", 'a "b"')


@pytest.mark.parametrize(
    ("message", "manager"),
    [('conflict with "a\\x07b" using v1', "a\\x07b"), ("conflict with nobody", ""), ("", "")],
)
def test_an_owner_in_other_words_is_told_as_far_as_it_is_known(message: str, manager: str) -> None:
    cause = {"reason": "FieldManagerConflict", "field": "f", "message": message}
    (conflict,) = parse_conflicts(parse_status(json.dumps({"details": {"causes": [cause]}}).encode()))
    assert conflict == FieldConflict("f", manager, message)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (400, KubernetesContentError),
        (401, KubernetesUnauthorizedError),
        (403, KubernetesForbiddenError),
        (404, KubernetesNotFoundError),
        (409, KubernetesConflictError),
        (410, KubernetesGoneError),
        (418, KubernetesContentError),
        (422, KubernetesInvalidError),
        (429, KubernetesBusyError),
        (500, KubernetesServerError),
        (504, KubernetesServerError),
    ],
)
def test_every_status_of_http_has_its_error(code: int, kind: type[KubernetesError]) -> None:
    error = make_error(code, parse_status(b'{"message": "said", "reason": "Word"}'), "it failed")
    assert type(error) is kind
    assert (error.status, error.reason, error.what) == (code, "Word", "it failed")
    assert error.why == f"the API server answered {code}: said"


def test_a_refused_value_tells_its_causes() -> None:
    status = parse_status(b'{"details": {"causes": [{"reason": "FieldValueInvalid", "message": "m", "field": "f"}]}}')
    error = make_error(422, status, "it failed")
    assert isinstance(error, KubernetesInvalidError)
    assert error.causes == (Cause("FieldValueInvalid", "m", "f"),)


@pytest.mark.parametrize(
    ("body", "header", "wait"),
    [
        (b'{"details": {"retryAfterSeconds": 7}}', None, 7.0),
        (b'{"details": {"retryAfterSeconds": 7}}', 2.0, 2.0),
        (b"{}", None, None),
    ],
)
def test_the_time_to_come_again_is_in_the_header_or_in_the_status(
    body: bytes, header: float | None, wait: float | None
) -> None:
    error = make_error(429, parse_status(body), "it failed", retry_after=header)
    assert isinstance(error, KubernetesBusyError)
    assert error.retry_after == wait


@given(st.binary())
def test_any_bytes_are_a_status_or_an_empty_one(data: bytes) -> None:
    assert isinstance(parse_status(data), Status)


@pytest.mark.parametrize("body", [b"<html>502 Bad Gateway</html>", b"[]", b'{"message": 1}', b"[" * 100_000])
def test_a_page_of_a_proxy_is_an_empty_status(body: bytes) -> None:
    assert parse_status(body) == Status()


def test_a_message_is_one_bounded_line_without_control_characters() -> None:
    assert printable("a\n\x1b[31m b\t c") == "a [31m b c"
    assert printable("x" * 10, 4) == "xxxx…"
