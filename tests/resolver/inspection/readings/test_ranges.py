"""Ranges of versions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy_resolver.inspection.readings.ranges import in_range, numbers_of


@pytest.mark.parametrize(
    ("version", "wanted", "answer"),
    [
        ("2.4.0", ">=2.4", True),
        ("2.3.5", ">=2.4", False),
        ("2.4.0rc1", ">=2.4", True),
        ("10", ">=2.4", True),
        ("1:7.0.15-1~deb12u1", ">=6.2,<7.1", True),
        ("v1.10.0", "<1.10", False),
        ("4.4.19", ">=5; >=4.4.19,<4.5", True),
        ("4.4.18", ">=5; >=4.4.19,<4.5", False),
        ("4.5.0", ">=5; >=4.4.19,<4.5", False),
        ("anything", "", True),
        ("", ">=1", None),
        ("latest", ">=1", None),
        ("1.3.0", "==1.3", True),
    ],
)
def test_versions_are_compared_by_their_numbers(version: str, wanted: str, answer: bool | None) -> None:
    assert in_range(version, wanted) is answer


def test_what_is_no_range_is_an_error() -> None:
    with pytest.raises(ValueError, match="no range"):
        in_range("1", "~=2")


@given(st.lists(st.integers(0, 999), min_size=1, max_size=5))
def test_zeros_at_the_end_do_not_count(numbers: list[int]) -> None:
    text = ".".join(map(str, numbers))
    assert numbers_of(text) == numbers_of(f"{text}.0")
