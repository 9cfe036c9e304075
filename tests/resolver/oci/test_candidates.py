from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy_resolver.oci.candidates import CREATED, Opened, newest, parse_moment, select
from nodeworthy_resolver.oci.digests import compute
from nodeworthy_resolver.oci.manifests import EMPTY, Descriptor, Manifest

TYPE = "application/vnd.example"
CONFIG = Descriptor(media_type=EMPTY, digest=compute(b"{}"), size=2)


def entry(name: str, artifact_type: str | None = TYPE, created: str = "") -> Descriptor:
    said = {CREATED: created} if created else None
    return Descriptor(digest=compute(name.encode()), size=1, artifact_type=artifact_type, annotations=said)


def opened(name: str, created: str) -> Opened:
    said = {CREATED: created} if created else {}
    manifest = Manifest(media_type="", config=CONFIG, layers=(), subject=None, artifact_type=TYPE, annotations=said)
    return Opened.of(compute(name.encode()), manifest)


def test_a_digest_that_is_listed_twice_is_opened_once() -> None:
    assert len(select([entry("a"), entry("a")], TYPE)[0]) == 1


def test_other_types_are_counted_in_the_notices() -> None:
    chosen, notices = select([entry("a", "x"), entry("b", "x"), entry("c", "y\x1b[2J"), entry("d")], TYPE)
    assert [one.digest for one in chosen] == [compute(b"d")]
    assert notices == ("2 of type x passed over", "1 of type 'y\\x1b[2J' passed over")


def test_a_list_that_is_too_long_is_cut_after_the_newest_of_the_type_and_this_is_told() -> None:
    unnamed = [entry(f"unnamed {number}", None, "2030-01-01T00:00:00Z") for number in range(100)]
    named = [entry(f"named {number}", TYPE, f"20{number:02}-01-01T00:00:00Z") for number in range(50)]
    chosen, notices = select([*unnamed, *named], TYPE)
    assert len(chosen) == 64
    assert chosen[0].digest == named[-1].digest
    assert {one.digest for one in named} < {one.digest for one in chosen}
    assert notices == ("150 entries may be artifacts; only the 64 newest by their dates were opened",)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-05-01T12:00:00Z", (datetime(2026, 5, 1, 12, tzinfo=UTC), "")),
        ("2026-05-01t12:00:00.120z", (datetime(2026, 5, 1, 12, tzinfo=UTC), "12")),
        ("2026-05-01T12:00:00.123456789+02:30", (datetime(2026, 5, 1, 9, 30, tzinfo=UTC), "123456789")),
        ("2026-05-01T12:00:00-01:00", (datetime(2026, 5, 1, 13, tzinfo=UTC), "")),
        ("", None),
        ("2026-05-01", None),
        ("2026-05-01 12:00:00Z", None),
        ("2026-05-01T12:00:00", None),
        ("2026-13-01T12:00:00Z", None),
        ("2026-05-01T12:00:60Z", None),
        ("2026-05-01T12:00:00+99:00", None),
        ("0001-01-01T00:00:00+01:00", None),
        ("\uff12\uff10\uff12\uff16-05-01T12:00:00Z", None),
    ],
)
def test_dates_are_those_of_rfc_3339(text: str, moment: tuple[datetime, str] | None) -> None:
    assert parse_moment(text) == moment


@given(st.datetimes(timezones=st.just(UTC)), st.datetimes(timezones=st.just(UTC)))
def test_moments_are_ordered_as_their_dates_are(one: datetime, other: datetime) -> None:
    first, second = parse_moment(one.isoformat()), parse_moment(other.isoformat())
    assert first is not None
    assert second is not None
    assert (first < second) == (one < other)


def test_the_newest_wins_in_whatever_order_and_zone_they_come() -> None:
    many = [
        opened("a", "2026-01-01T00:00:00Z"),
        opened("b", "2026-01-01T01:30:00+01:00"),
        opened("c", "2026-01-01T00:29:59.999999999Z"),
    ]
    for order in (many, many[::-1]):
        assert newest(order) == (many[1], ())


def test_a_tie_goes_to_the_greatest_digest_and_is_told() -> None:
    many = sorted((opened(name, "2026-01-01T00:00:00Z") for name in "abc"), key=lambda one: one.digest)
    best, notices = newest(many)
    assert best is many[-1]
    assert len(notices) == 1
    assert "same date" in notices[0]


def test_one_artifact_needs_no_date() -> None:
    assert newest([opened("a", "")])[1] == ()
