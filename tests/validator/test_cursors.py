"""Cursors: what one replica writes another one reads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import UsageError
from nodeworthy_validator.cursors import Cursor, parse_cursor, write_cursor


@given(st.integers(0, 2**63 - 1), st.integers(0, 100), st.text(max_size=60))
def test_a_cursor_is_read_as_it_was_written(revision: int, image: int, node: str) -> None:
    cursor = Cursor(revision, image, node)
    assert parse_cursor(write_cursor(cursor)) == cursor


def test_without_a_cursor_the_first_page_is_meant() -> None:
    assert parse_cursor("") == Cursor(0, 0, "")


@pytest.mark.parametrize(
    "text", ["x", "1", "1.", "1.2.N", "-1.0.n", "1.0.a.b", "1.0.=zz", "9" * 30 + ".0.n", "\u0661.0.n"]
)
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no cursor"):
        parse_cursor(text)
