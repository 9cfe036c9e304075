"""What all ways through small graphs of instructions have in common."""

from nodeworthy_resolver.inspection.instructions.paths import Summary, summarise
from nodeworthy_resolver.inspection.instructions.steps import Flow, Step

A, B = frozenset({"A"}), frozenset({"B"})


def graph(*steps: Step) -> dict[int, Step]:
    return {step.address: step for step in steps}


def step(address: int, flow: Flow = Flow.NEXT, target: int = 0, features: frozenset[str] = frozenset()) -> Step:
    return Step(address, 1, flow, target, features)


def test_both_sides_of_a_branch_count_together() -> None:
    steps = graph(
        step(0, Flow.BRANCH, 3),
        step(1, features=A | B),
        step(2, Flow.JUMP, 4),
        step(3, features=A),
        step(4, Flow.RETURN),
    )

    assert summarise(steps, 0, {}) == Summary(A, None)


def test_one_side_alone_does_not_count() -> None:
    steps = graph(step(0, Flow.BRANCH, 2), step(1, features=A), step(2, Flow.RETURN))

    assert summarise(steps, 0, {}).always == frozenset()


def test_a_loop_that_ends_is_passed_once_at_least() -> None:
    steps = graph(step(0), step(1, features=A), step(2, Flow.BRANCH, 1), step(3, Flow.RETURN))

    assert summarise(steps, 0, {}).returning == A


def test_what_a_loop_without_an_end_does_later_is_not_sure() -> None:
    steps = graph(step(0, features=B), step(1), step(2, Flow.BRANCH, 1), step(3, features=A), step(4, Flow.JUMP, 1))

    assert summarise(steps, 0, {}) == Summary(None, B)


def test_a_way_that_traps_does_not_count() -> None:
    steps = graph(step(0, Flow.BRANCH, 2), step(1, Flow.TRAP), step(2, features=A), step(3, Flow.RETURN))

    assert summarise(steps, 0, {}) == Summary(A, None)


def test_a_call_that_may_leave_the_process_is_an_end() -> None:
    steps = graph(step(0, Flow.CALL, 99), step(1, features=A), step(2, Flow.RETURN))

    assert summarise(steps, 0, {0: Summary(B, frozenset())}) == Summary(A | B, frozenset())


def test_behind_a_call_that_does_not_return_nothing_runs() -> None:
    steps = graph(step(0, Flow.CALL, 99), step(1, features=A), step(2, Flow.RETURN))

    assert summarise(steps, 0, {0: Summary(None, None)}) == Summary(None, None)


def test_a_jump_to_another_function_returns_as_that_does() -> None:
    steps = graph(step(0, features=A), step(1, Flow.JUMP, 99))

    assert summarise(steps, 0, {1: Summary(B, None)}) == Summary(A | B, None)


def test_an_unknown_jump_ends_a_way() -> None:
    steps = graph(step(0, features=A), step(1, Flow.JUMP_THROUGH))

    assert summarise(steps, 0, {}) == Summary(None, A)


def test_all_cases_of_a_switch_count_together() -> None:
    steps = graph(
        step(0, Flow.JUMP_THROUGH),
        step(1, features=A),
        step(2, Flow.RETURN),
        step(3, features=A | B),
        step(4, Flow.RETURN),
    )

    assert summarise(steps, 0, {}, {0: (1, 3)}) == Summary(A, None)
