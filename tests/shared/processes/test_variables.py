import pytest
from hypothesis import given as given_by
from hypothesis import strategies

from nodeworthy.errors import UsageError
from nodeworthy.processes import read_number, read_port, read_seconds


def test_a_variable_that_is_not_set_has_no_number() -> None:
    assert read_port({"OTHER": "1"}, "PORT") is None


@pytest.mark.parametrize(("text", "port"), [("0", 0), ("8080", 8080), ("00080", 80), ("65535", 65_535)])
def test_a_port_is_read(text: str, port: int) -> None:
    assert read_port({"PORT": text}, "PORT") == port


@pytest.mark.parametrize("text", ["", "-1", "+1", "65536", "http", "8080 ", "8_080", "٨٠", "²", "8.0", "9" * 5000])
def test_what_is_no_port_is_refused_with_its_bounds(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_port({"PORT": text}, "PORT")
    assert caught.value.what == f"PORT={text[:60]!r} cannot be used"
    assert caught.value.why == "it is a number from 0 to 65,535"


@given_by(strategies.integers(0, 10**6), strategies.integers(0, 10**6), strategies.integers(0, 10**6))
def test_a_number_is_taken_within_its_bounds_and_refused_outside(number: int, one: int, other: int) -> None:
    least, most = sorted((one, other))
    given = {"REPLICAS": str(number)}
    if least <= number <= most:
        assert read_number(given, "REPLICAS", least=least, most=most) == number
    else:
        with pytest.raises(UsageError, match=f"from {least:,} to {most:,}"):
            read_number(given, "REPLICAS", least=least, most=most)


@given_by(strategies.text())
def test_any_text_is_a_number_or_a_usage_error(text: str) -> None:
    try:
        number = read_port({"PORT": text}, "PORT")
    except UsageError:
        return
    assert number is not None
    assert 0 <= number <= 65_535


def test_seconds_may_have_fractions_and_are_the_default_where_nothing_is_said() -> None:
    assert read_seconds({"TAG": "1.5"}, "TAG", 9.0, least=0, most=60) == 1.5
    assert read_seconds({}, "TAG", 9.0, least=0, most=60) == 9.0


@pytest.mark.parametrize("text", ["-1", "61", "nan", "inf", "soon"])
def test_what_is_no_time_is_refused_with_its_bounds(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_seconds({"TAG": text}, "TAG", 9.0, least=0, most=60)
    assert caught.value.why == "it is a number of seconds from 0 to 60"
