import pytest

from nodeworthy.errors import UsageError
from nodeworthy.rules import CompatibilitySet, CompatibilitySpec, Rule
from nodeworthy.verdicts import select_sets


def spec(*tags: str) -> CompatibilitySpec:
    return CompatibilitySpec("v1alpha1", tuple(CompatibilitySet((Rule("r"),), tag=tag) for tag in tags))


def test_sets_with_one_of_the_tags_are_selected_and_without_tags_all() -> None:
    assert [one.tag for one in select_sets(spec("a", "", "b"), ["b", "c"])] == ["b"]
    assert [one.tag for one in select_sets(spec("a", ""), [])] == ["a", ""]


@pytest.mark.parametrize(
    ("given", "why", "todo"),
    [
        (spec("b", "", "a"), "the specification has these tags: a, b", "ask for one of them with --tag"),
        (spec("", ""), "none of the specification's sets has a tag", "leave --tag out"),
        (spec(), "it asks for nothing", "give it one set"),
    ],
)
def test_where_no_set_is_left_the_reason_is_told(given: CompatibilitySpec, why: str, todo: str) -> None:
    with pytest.raises(UsageError) as caught:
        select_sets(given, ["x"])
    assert why in caught.value.why
    assert caught.value.todo.startswith(todo)
