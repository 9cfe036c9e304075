import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import RuleError
from nodeworthy.rules.integers import parse_integer


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_every_64_bit_number_is_read(number: int) -> None:
    assert parse_integer(str(number)) == number
    assert parse_integer(f"{number:+d}") == number


@pytest.mark.parametrize(
    "text", ["", " 1", "1 ", "1\n", "1_0", "0x10", "1.0", "+", "1e2", "\u0be7", str(2**63), "9" * 5000]
)
def test_what_go_does_not_take_is_no_number(text: str) -> None:
    with pytest.raises(RuleError, match="is not a whole number"):
        parse_integer(text)
