import pytest

from nodeworthy.errors import DocumentError, Problem


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (
            Problem("spec.yaml", 3, "rules[0].name", "is missing", "add one"),
            "spec.yaml:3: rules[0].name: is missing (add one)",
        ),
        (Problem("spec.yaml", 1, "", "is no map"), "spec.yaml:1: is no map"),
        (Problem("sha256:ab", 0, "version", "is unknown"), "sha256:ab: version: is unknown"),
        (Problem("sha256:ab", 0, "", "is no YAML"), "sha256:ab: is no YAML"),
    ],
)
def test_a_problem_is_told_with_its_place_as_far_as_that_is_known(problem: Problem, text: str) -> None:
    assert str(problem) == text


def test_an_error_of_a_document_lists_every_problem() -> None:
    problems = (Problem("s", 1, "", "one"), Problem("s", 2, "b", "two"))
    assert DocumentError("s", problems).diagnostics().why == "s:1: one\ns:2: b: two"
