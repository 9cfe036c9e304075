import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.labels import legal_value
from nodeworthy.rules.labels import label_value_problem


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NVIDIA-TITAN-X-(Pascal)", "NVIDIA-TITAN-X-_Pascal"),
        ("4.9.140-l4t-r32.3.1+g47e7e1cb0b49", "4.9.140-l4t-r32.3.1_g47e7e1cb0b49"),
        ("  two  words ", "two_words"),
        ("()", ""),
        ("x" * 62 + "-y", "x" * 62),
    ],
)
def test_l6_free_text_becomes_a_legal_value(text: str, value: str) -> None:
    assert legal_value(text) == value


@given(st.text(max_size=200))
def test_any_text_becomes_a_legal_value_and_a_legal_one_stays_as_it_is(text: str) -> None:
    value = legal_value(text)
    assert label_value_problem(value) is None
    assert legal_value(value) == value
    if label_value_problem(text) is None:
        assert value == text
