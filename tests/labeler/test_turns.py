"""The order in which nodes are looked at."""

from collections.abc import Iterable

from nodeworthy_labeler.turns import Turns

MOST = 100


def everybody(_node: str) -> bool:
    return True


def order(turns: Turns[int]) -> list[str]:
    """All nodes that are ready, in the order in which they are worked on."""
    nodes = []
    while turns.ready:
        node, _ = turns.begin()
        turns.end(node)
        nodes.append(node)
    return nodes


def prepare(turns: Turns[int], wish: int = 0) -> None:
    later: Iterable[str] = turns.choose_later(everybody, MOST)
    turns.put([(node, wish) for node in later], is_first=False)
    turns.put([(node, wish) for node in turns.choose_urgent(everybody, MOST)], is_first=True)


def test_a_node_that_changed_comes_before_those_that_are_gone_over() -> None:
    turns: Turns[int] = Turns()
    turns.mark(["a", "b", "c"], is_urgent=False)
    prepare(turns)
    turns.mark(["d"], is_urgent=True)
    prepare(turns)
    assert order(turns) == ["d", "a", "b", "c"]


def test_a_node_that_changes_while_it_waits_comes_to_the_front_with_its_new_wish_only() -> None:
    turns: Turns[int] = Turns()
    turns.mark(["a", "b"], is_urgent=False)
    prepare(turns, wish=1)
    turns.mark(["b"], is_urgent=True)
    assert (len(turns), turns.is_marked("b")) == (2, True)
    prepare(turns, wish=2)
    assert [turns.begin(), turns.begin()] == [("b", 2), ("a", 1)]


def test_a_node_in_work_is_not_begun_again_before_it_is_done() -> None:
    turns: Turns[int] = Turns()
    turns.mark(["a"], is_urgent=True)
    prepare(turns)
    turns.begin()
    turns.mark(["a"], is_urgent=True)
    prepare(turns)
    assert (turns.ready, turns.is_marked("a")) == (0, True)
    turns.end("a")
    prepare(turns)
    assert order(turns) == ["a"]


def test_the_rest_is_taken_up_when_what_was_chosen_is_in_work() -> None:
    turns: Turns[int] = Turns()
    turns.mark("abcd", is_urgent=False)
    turns.put([(node, 0) for node in turns.choose_later(everybody, 2)], is_first=False)
    assert turns.choose_later(everybody, 2) == []
    assert order(turns) == ["a", "b"]
    assert turns.choose_later(everybody, 2) == ["c", "d"]


def test_a_node_of_others_is_passed_over_for_good() -> None:
    turns: Turns[int] = Turns()
    turns.mark("ab", is_urgent=True)
    assert turns.choose_urgent(lambda node: node == "b", MOST) == ["b"]
    assert len(turns) == 0


def test_what_is_urgent_stays_so_when_a_rule_marks_all() -> None:
    turns: Turns[int] = Turns()
    turns.mark("b", is_urgent=True)
    turns.mark("ab", is_urgent=False)
    prepare(turns)
    assert order(turns) == ["b", "a"]
