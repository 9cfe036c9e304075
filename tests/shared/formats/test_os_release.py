from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.formats.os_release import parse_os_release


def test_quotes_of_both_kinds_are_taken_off() -> None:
    found = parse_os_release("A=\"x y\"\nB='43.81.202003052336.0'\nC=8.0\n")
    assert found.values == {"A": "x y", "B": "43.81.202003052336.0", "C": "8.0"}
    assert found.bad_lines == ()


def test_comments_and_empty_values_are_passed_over_and_other_lines_counted() -> None:
    found = parse_os_release("\n# x\nID='a'\r\nnonsense\nVERSION_ID=\n")
    assert found == ({"ID": "a"}, (4,))


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    values, bad_lines = parse_os_release(text)
    assert all("\n" not in value for value in values.values())
    assert len(values) + len(bad_lines) <= text.count("\n") + 1
