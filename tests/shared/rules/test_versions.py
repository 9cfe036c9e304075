import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import RuleError
from nodeworthy.rules.versions import MAX_VERSION_LENGTH, parse_version

numbers = st.integers(min_value=0, max_value=10**9)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1", (1,)),
        ("v1.2", (1, 2)),
        ("01.2", (1, 2)),
        ("1.2.0", (1, 2)),
        ("0.0", ()),
        ("1-rc.1+build.7", (1,)),
        ("6.8.0-45-generic", (6, 8)),
        ("5.14.0-427.13.1.el9_4.x86_64", (5, 14)),
        ("6.1.119-129.201.amzn2023.x86_64", (6, 1, 119)),
        ("3.10.0-1160.el7.x86_64", (3, 10)),
        ("6.6.87.2-microsoft-standard-WSL2", (6, 6, 87, 2)),
        ("6.12.43+deb13-amd64", (6, 12, 43)),
        ("6.6.15+", (6, 6, 15)),
    ],
)
def test_a_version_is_its_leading_numbers(text: str, numbers: tuple[int, ...]) -> None:
    assert parse_version(text) == numbers


@pytest.mark.parametrize(
    "text", ["", " 1.2", "V1.2", "x", "1.x", "1-", "1+", "1-01", "-1", "1,2", "vv3", ".1", "\u0661.2"]
)
def test_what_does_not_begin_like_a_version_is_none(text: str) -> None:
    with pytest.raises(RuleError, match="is not a version"):
        parse_version(text)


def test_a_number_alone_has_64_bits() -> None:
    assert parse_version(str(2**64 - 1)) == (2**64 - 1,)
    with pytest.raises(RuleError):
        parse_version(str(2**64))


def test_a_version_that_is_too_long_is_none() -> None:
    assert parse_version("1." + "2" * (MAX_VERSION_LENGTH - 2))
    with pytest.raises(RuleError):
        parse_version("1." + "2" * (MAX_VERSION_LENGTH - 1))


@given(st.lists(numbers, min_size=2, max_size=5), st.sampled_from(["", "-rc1", "+x", "-1.el9_4.x86_64", "~a", "."]))
def test_what_follows_the_numbers_does_not_count(parts: list[int], suffix: str) -> None:
    plain = ".".join(map(str, parts))
    assert parse_version(plain + suffix) == parse_version(plain)


@given(st.tuples(numbers, numbers, numbers), st.tuples(numbers, numbers, numbers))
def test_versions_are_ordered_as_their_numbers(left: tuple[int, int, int], right: tuple[int, int, int]) -> None:
    texts = [".".join(map(str, parts)) for parts in (left, right)]
    assert (parse_version(texts[0]) < parse_version(texts[1])) == (left < right)


@given(st.text())
def test_any_text_is_a_version_or_a_rule_error(text: str) -> None:
    try:
        parsed = parse_version(text)
    except RuleError:
        return
    assert all(number >= 0 for number in parsed)
