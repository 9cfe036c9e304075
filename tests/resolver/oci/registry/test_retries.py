from datetime import UTC, datetime

import pytest

from nodeworthy_resolver.oci.registry.retries import backoff, is_safe, is_worth_it, parse_retry_after

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("Thu, 01 Jan 2026 00:01:30 GMT", 90.0),
        ("Wed, 31 Dec 2025 23:59:00 GMT", 0.0),
        ("9" * 400, 9_999_999_999.0),
        ("", None),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("١٢", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(text: str, seconds: float | None) -> None:
    assert parse_retry_after(text, NOW) == seconds


def test_waits_double_up_to_a_limit_and_differ_between_clients() -> None:
    assert [backoff(attempt, lambda: 1.0) for attempt in range(7)] == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0]
    assert backoff(2, lambda: 0.0) == 0.5


def test_an_internal_error_gets_one_more_chance_and_a_passing_one_more() -> None:
    assert [is_worth_it(500, attempt) for attempt in (0, 1)] == [True, False]
    assert [is_worth_it(503, attempt) for attempt in (0, 1)] == [True, True]
    assert not any(is_worth_it(status, 0) for status in (200, 400, 401, 403, 404, 501))


def test_only_reading_is_repeated() -> None:
    assert [is_safe(method) for method in ("GET", "HEAD", "POST", "PUT")] == [True, True, False, False]
