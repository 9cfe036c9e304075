"""What all ways through the instructions of one function have in common: a forward data-flow analysis."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from nodeworthy_resolver.inspection.instructions.steps import GOING_ON, JUMPING, NOTHING, Flow, Step

Found = frozenset[str]


class Summary(NamedTuple):
    """What is surely executed in a function, with the functions that it surely calls."""

    returning: Found | None
    """On every way that returns; ``None`` where none does."""
    leaving: Found | None
    """On every way that ends the process well or leads where nobody knows; ``None`` where none does."""

    @property
    def always(self) -> Found:
        """On every way that does not fail."""
        return _common([way for way in (self.returning, self.leaving) if way is not None]) or NOTHING


def summarise(
    steps: Mapping[int, Step],
    start: int,
    calls: Mapping[int, Summary],
    switches: Mapping[int, tuple[int, ...]] = MappingProxyType({}),
) -> Summary:
    """What is executed on all ways from ``start``.

    ``calls`` tells of the steps that lead out of the function, ``switches`` of those that lead through a table.
    """
    flow = _Flow(steps, calls, switches)
    flow.run(start)
    returns = [flow.out(step) for step in flow.visited() if step.flow is Flow.RETURN]
    leaves = [flow.before[at] for at in flow.circles(start)]
    for step in flow.visited():
        before = flow.before[step.address] | step.features
        called = calls.get(step.address)
        if step.flow in {Flow.END, Flow.JUMP_THROUGH} and called is None and step.address not in switches:
            leaves.append(before)
        if called and called.leaving is not None:
            leaves.append(before | called.leaving)
        if called and called.returning is not None and step.flow in JUMPING:
            returns.append(before | called.returning)
        leaves.extend(before for one in flow.next_of(step) if one not in steps)
    return Summary(_common(returns), _common(leaves))


def _common(ways: Iterable[Found]) -> Found | None:
    found = list(ways)
    return frozenset.intersection(*found) if found else None


class _Flow:
    """``before`` holds for each instruction what was executed on all ways to it; it only shrinks, so this ends."""

    def __init__(
        self, steps: Mapping[int, Step], calls: Mapping[int, Summary], switches: Mapping[int, tuple[int, ...]]
    ) -> None:
        self._steps = steps
        self._switches = switches
        self._calls = calls
        self.before: dict[int, Found] = {}

    def run(self, start: int) -> None:
        self.before[start] = NOTHING
        left = [start]
        while left:
            step = self._steps.get(left.pop())
            if step is None:
                continue
            out = self.out(step)
            for one in self.next_of(step):
                known = self.before.get(one)
                new = out if known is None else known & out
                if known is None or len(new) < len(known):
                    self.before[one] = new
                    left.append(one)

    def visited(self) -> list[Step]:
        return [self._steps[at] for at in self.before if at in self._steps]

    def out(self, step: Step) -> Found:
        """What was executed behind an instruction, where execution goes on there."""
        before = self.before[step.address]
        called = self._calls.get(step.address)
        if called and called.returning and step.flow not in JUMPING:
            before = before | called.returning
        return before | step.features if step.features else before

    def next_of(self, step: Step) -> tuple[int, ...]:
        """Where execution goes on in the function."""
        if step.address in self._switches:
            return self._switches[step.address]
        called = self._calls.get(step.address)
        inside = (step.target,) if step.flow in {Flow.BRANCH, Flow.JUMP} and called is None else ()
        comes_back = called is None or called.returning is not None or step.flow in JUMPING
        return (*inside, *((step.end,) if step.flow in GOING_ON and comes_back else ()))

    def circles(self, start: int) -> list[int]:
        """Where loops begin that no way leads out of: a service waits there for ever, and what it does then is not sure."""
        backward: dict[int, list[int]] = {}
        ends = []
        for step in self.visited():
            onward = self.next_of(step)
            for one in onward:
                backward.setdefault(one, []).append(step.address)
            called = self._calls.get(step.address)
            if not onward or (called and (called.leaving is not None or step.flow in JUMPING)):
                ends.append(step.address)
        left = list(ends)
        ending = set(ends)
        while left:
            fresh = [one for one in backward.get(left.pop(), ()) if one not in ending]
            ending.update(fresh)
            left.extend(fresh)
        caught = {at for at in self.before if at not in ending and at in self._steps}
        inner = self._core(caught, backward)
        return [at for at in inner if at == start or any(one not in inner for one in backward.get(at, ()))]

    def _core(self, caught: set[int], backward: Mapping[int, list[int]]) -> set[int]:
        """The loops among instructions, and what only they lead to."""
        counts = {at: sum(one in caught for one in backward.get(at, ())) for at in caught}
        left = [at for at, count in counts.items() if not count]
        core = set(caught)
        while left:
            at = left.pop()
            core.discard(at)
            for one in self.next_of(self._steps[at]):
                if one in counts:
                    counts[one] -= 1
                    if not counts[one]:
                        left.append(one)
        return core
