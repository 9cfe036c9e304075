import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import Problem
from nodeworthy.labels import RuleObject, compile_chain
from nodeworthy.labels.ordering import order_objects
from nodeworthy.rules import Expression, Operator, Rule, Term, UnreadableRule

EXISTS = Expression(Operator.EXISTS)


def asks(*names: str) -> tuple[Term, ...]:
    return (Term("Rule.Matched", dict.fromkeys(names, EXISTS)),)


def names_like(pattern: str) -> tuple[Term, ...]:
    return (Term("rule.matched", name=Expression(Operator.IN_REGEXP, (pattern,))),)


def consumer(*names: str) -> tuple[Rule, ...]:
    return (Rule("c", asks(*names)),)


def producer(name: str) -> tuple[Rule, ...]:
    return (Rule("p", vars={name: "1"}),)


def test_r15_an_object_runs_after_those_whose_names_it_asks_for() -> None:
    assert order_objects([consumer("v"), producer("v")]).places == (1, 0)
    chain = (Rule("c", asks("v"), labels={"w": "1"}),)
    assert order_objects([consumer("w"), chain, producer("v"), producer("x")]).places == (2, 1, 0, 3)


def test_objects_that_do_not_ask_stay_in_the_order_of_their_names() -> None:
    always = (Term("rule.matched", {}), Term("pci.device", {"v": EXISTS}))
    order = order_objects([(Rule("a", always),), producer("v"), consumer("v"), consumer("nobody")])
    assert order == ((0, 1, 2, 3), ())


def test_a_question_for_names_waits_for_those_that_give_one_that_matches() -> None:
    assert order_objects([(Rule("c", names_like("^gpu")),), producer("net"), producer("gpu-1")]).places == (1, 2, 0)
    broken = Expression(Operator.GT, ("1",))
    assert order_objects([(Rule("c", (Term("rule.matched", name=broken),)),), producer("net")]).places == (0, 1)


def test_a_condition_in_an_alternative_counts_too() -> None:
    rule = Rule("c", match_any=(asks("x"), asks("v")))
    assert order_objects([(rule,), producer("v")]).places == (1, 0)


def test_a_name_that_an_earlier_rule_of_the_same_object_gives_makes_it_wait_for_nobody() -> None:
    own = (*producer("v"), *consumer("v"))
    assert order_objects([own, producer("v")]).places == (0, 1)
    assert order_objects([tuple(reversed(own)), producer("v")]).places == (1, 0)


def test_a_template_may_give_any_name_and_counts_where_nobody_names_it() -> None:
    template = (Rule("t", vars_template="{{ . }}"),)
    assert order_objects([consumer("v"), template]).places == (1, 0)
    assert order_objects([consumer("v"), producer("v"), template]).places == (1, 0, 2)


def test_a_rule_that_cannot_be_read_is_passed_over() -> None:
    bad = UnreadableRule("bad", (Problem("f", 1, "spec", "wrong"),))
    assert order_objects([(bad, *consumer("v")), (bad, *producer("v"))]).places == (1, 0)


def test_objects_that_wait_for_each_other_run_by_name_and_others_in_their_place() -> None:
    def both(asked: str, given_name: str) -> tuple[Rule, ...]:
        return (Rule("r", asks(asked), vars={given_name: "1"}),)

    order = order_objects([consumer("x"), both("y", "x"), both("x", "y"), producer("z")])
    assert order == ((1, 2, 0, 3), ((1, 2),))


def test_objects_that_wait_for_each_other_are_told() -> None:
    objects = [
        RuleObject("b", (Rule("r", asks("x"), vars={"y": "1"}),), "b.yaml"),
        RuleObject("a", (Rule("r", asks("y"), vars={"x": "1"}),), "a.yaml"),
        RuleObject("c", producer("z"), "c.yaml"),
    ]
    notices = compile_chain(objects).notices
    message = "the objects a, b ask for each other's names, so they run in the order of their names"
    assert [(one.source, one.path, one.message) for one in notices] == [
        ("a.yaml", "a", message),
        ("b.yaml", "b", message),
    ]


def test_a_circle_of_many_objects_is_told_in_few_words() -> None:
    objects = [
        RuleObject(f"o{number:02}", (Rule("r", asks(f"n{(number + 1) % 20}"), vars={f"n{number}": "1"}),))
        for number in range(20)
    ]
    (message,) = {one.message for one in compile_chain(objects).notices}
    assert message.startswith("the objects o00, o01, o02, o03, o04 and 15 more ask")


def test_a_chain_of_thousands_of_objects_needs_no_deep_stack() -> None:
    size = 5_000
    objects = [(Rule("r", asks(f"n{number + 1}"), vars={f"n{number}": "1"}),) for number in range(size)]
    assert order_objects(objects).places == tuple(reversed(range(size)))


@given(st.lists(st.tuples(st.sets(st.integers(0, 7)), st.sets(st.integers(0, 7))), max_size=8))
def test_every_object_runs_once_and_after_all_it_waits_for_outside_of_its_circle(
    wishes: list[tuple[set[int], set[int]]],
) -> None:
    objects = [
        (Rule("r", asks(*map(str, asked)), vars=dict.fromkeys(map(str, given_names), "1")),)
        for asked, given_names in wishes
    ]
    order = order_objects(objects)
    assert sorted(order.places) == list(range(len(objects)))
    when = {place: turn for turn, place in enumerate(order.places)}
    circles = [set(cycle) for cycle in order.cycles]
    for place, (asked, _) in enumerate(wishes):
        for other, (_, given_names) in enumerate(wishes):
            if other != place and asked & given_names and not any({place, other} <= circle for circle in circles):
                assert when[other] < when[place]
    for cycle in order.cycles:
        assert [when[place] for place in cycle] == sorted(when[place] for place in cycle)


@pytest.mark.parametrize("size", [0, 1])
def test_few_objects_have_an_order_too(size: int) -> None:
    assert order_objects([producer("v")] * size) == (tuple(range(size)), ())
