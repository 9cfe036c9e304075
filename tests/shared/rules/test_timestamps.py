import datetime as dt

from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.rules.timestamps import is_timestamp


@given(st.datetimes(timezones=st.just(dt.UTC)), st.text())
def test_what_python_writes_is_a_time_and_what_follows_it_spoils_it(moment: dt.datetime, rest: str) -> None:
    text = moment.isoformat()
    assert is_timestamp(text)
    assert is_timestamp(text + rest) == (not rest)


def test_leap_days_follow_the_calendar() -> None:
    assert is_timestamp("2032-02-29T00:00:00Z")
    assert is_timestamp("0000-02-29T00:00:00Z")
    assert not is_timestamp("2100-02-29T00:00:00Z")
