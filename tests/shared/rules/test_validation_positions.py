import pytest

from nodeworthy.errors import Problem
from nodeworthy.rules.validation_positions import Positions

TEXT = """a:
  b.c: [x, {d: 1}]
  b: {c: 2}
---
- {e: 3, E2: 4}
"""


@pytest.mark.parametrize(
    ("line", "path", "column"),
    [
        (1, "a", 1),
        (2, "a.b.c", 3),
        (2, "a.b.c[1]", 12),
        (2, "a.b.c[1].d", 13),
        (3, "a.b", 3),
        (5, "[0].e", 4),
        (5, "[0].e2", 10),
    ],
)
def test_a_key_is_found_by_its_path_also_where_keys_hold_dots(line: int, path: str, column: int) -> None:
    assert Positions(TEXT).column(Problem("f", line, path, "")) == column


@pytest.mark.parametrize("path", ["", "z", "a.b.c[9]", "[0]", "a.b.c[x]", "a[\u00b2]", "a.b.c[1].d.e.f"])
def test_a_path_that_leads_elsewhere_gives_what_stands_first_on_the_line(path: str) -> None:
    assert Positions(TEXT).column(Problem("f", 3, path, "")) == 3


def test_a_finding_without_a_line_has_no_column() -> None:
    assert Positions(TEXT).column(Problem("f", 0, "a", "")) == 0
    assert Positions(TEXT).column(Problem("f", 99, "a", "")) == 0


def test_of_a_text_that_stops_to_be_yaml_what_stands_before_is_found() -> None:
    positions = Positions("a:\n  b: 1\n---\nc: [\n")
    assert positions.column(Problem("f", 2, "a.b", "")) == 3
    assert positions.column(Problem("f", 4, "c", "")) == 1


def test_deep_nesting_is_no_harm() -> None:
    for text in ("[" * 100_000, "- " * 100_000 + "x", "{a: " * 5_000):
        assert Positions(text).column(Problem("f", 1, "a", "")) == 1


def test_lines_are_found_by_path_in_their_document() -> None:
    positions = Positions(TEXT)
    assert positions.line("a.b", 1) == 3
    assert positions.line("[0].e", 5) == 5
    assert positions.line("nowhere", 1) == 0
