"""What is executed on every way through a function: an intersection over all paths, with calls followed in the same file.

Nothing is assumed of conditions: what one side of a branch does counts only if the other does it too. Ways that end in a
crash or with a failing exit code do not count, as an image for which they are the usual ones works nowhere. Loops are
taken to end, unless no way leads out of them. What cannot be followed (indirect jumps, code that is too long) ends
a way there, with what was executed until then.
"""

from collections.abc import Callable, Iterable, Mapping

from nodeworthy_resolver.inspection.instructions.code import Code
from nodeworthy_resolver.inspection.instructions.leaving import Leaving, leaving_of
from nodeworthy_resolver.inspection.instructions.paths import Summary, summarise
from nodeworthy_resolver.inspection.instructions.steps import GOING_ON, JUMPING, LEADING, NOTHING, Flow, Step
from nodeworthy_resolver.inspection.instructions.switches import switch_targets

IMPORT = "@"
"""Before the name of a library function that is surely called, among the features."""

_MAX_STEPS = 20_000
"""Instructions of one function; longer ones are interpreters and parsers, of which nothing is sure."""
_MAX_WORK = 150_000
"""Instructions of one file: some 60 MB of memory, half a second."""
_MAX_DEPTH = 40
"""Calls in calls."""
_LOOK_BACK = 8
"""Instructions before a call that may set its first argument."""

_UNKNOWN = Summary(None, NOTHING)
_PLAIN = Summary(NOTHING, None)


class Walk:
    """The functions of one file, each looked at once."""

    def __init__(self, code: Code) -> None:
        """The walk is bounded: a long file is followed as far as the bounds allow."""
        self._code = code
        self._known: dict[int, Summary] = {}
        self._bodies: dict[int, dict[int, Step]] = {}
        self._switches: dict[int, tuple[int, ...]] = {}
        self._work = 0

    def summary(self, address: int, depth: int = 0) -> Summary:
        """Of the function at an address."""
        if address in self._known:
            return self._known[address]
        if depth > _MAX_DEPTH or self._work > _MAX_WORK:
            return _UNKNOWN
        # A function that calls itself comes back from it, or never at all.
        self._known[address] = _PLAIN
        steps = self.body(address)
        found = self._summarise(steps, address, depth) if steps else _UNKNOWN
        self._known[address] = found
        return found

    def _summarise(self, steps: dict[int, Step], start: int, depth: int) -> Summary:
        ends = {step.end: step for step in steps.values()}
        calls = {
            step.address: self.called(step, ends, depth)
            for step in steps.values()
            if step.address not in self._switches and self._leads_out(step, start)
        }
        switches = {at: self._switches[at] for at in steps if at in self._switches}
        return summarise(steps, start, calls, switches)

    def _leads_out(self, step: Step, start: int) -> bool:
        """Whether a step leads to a function, as far as that is known."""
        if step.flow is Flow.JUMP_THROUGH:
            return any(self._code.callee(step))
        return step.flow in LEADING and not (step.flow in JUMPING and self.is_inside(step.target, start))

    def body(self, start: int) -> dict[int, Step]:
        """The instructions that a function can reach without calls, by their addresses; empty where they are too many."""
        if start in self._bodies:
            return self._bodies[start]
        steps: dict[int, Step] = {}
        ends: dict[int, Step] = {}
        left = [start]
        while left:
            for step in self._code.steps_from(left.pop()):
                if step.address in steps or (step.address != start and step.address in self._code.starts):
                    break
                steps[step.address] = step
                ends[step.end] = step
                if step.flow in {Flow.BRANCH, Flow.JUMP} and self.is_inside(step.target, start):
                    left.append(step.target)
                if step.flow is Flow.JUMP_THROUGH and (cases := switch_targets(self._code, ends, step)):
                    self._switches[step.address] = cases
                    left.extend(cases)
                if step.flow not in GOING_ON or len(steps) > _MAX_STEPS:
                    break
            if len(steps) > _MAX_STEPS:
                break
        self._work += len(steps)
        self._bodies[start] = steps if len(steps) <= _MAX_STEPS else {}
        return self._bodies[start]

    def is_inside(self, target: int, start: int) -> bool:
        """Whether a jump stays in the function that begins at ``start``."""
        return target == start or (target not in self._code.starts and not self.stub_name(target))

    def stub_name(self, target: int) -> str:
        """The library function to which a stub at an address leads."""
        address, name = self._code.callee(Step(target, 0, Flow.JUMP, target))
        return name if address != target else ""

    def called(self, step: Step, ends: Mapping[int, Step], depth: int) -> Summary:
        """What a call or a jump to another function executes."""
        address, name = self._code.callee(step)
        match leaving_of(name, argument_before(ends, step.address)):
            case Leaving.FAILS:
                return Summary(None, None)
            case Leaving.LEAVES:
                return _UNKNOWN
        if address:
            return self.summary(address, depth + 1)
        return Summary(frozenset({IMPORT + name}), None) if name else _PLAIN

    def find(self, feature: str, address: int) -> tuple[int, Step] | None:
        """Where a feature that is surely used is used first: (function, instruction)."""
        seen: set[int] = set()
        left = [address]
        while left:
            function = left.pop()
            if function in seen:
                continue
            seen.add(function)
            steps = self.body(function)
            for at in sorted(steps):
                if feature in steps[at].features:
                    return function, steps[at]
            calls = (self._code.callee(steps[at])[0] for at in sorted(steps, reverse=True) if steps[at].flow in LEADING)
            left.extend(one for one in calls if one in self._known and feature in self._known[one].always)
        return None

    def reached(
        self, starts: Iterable[int], is_closed: Callable[[dict[int, Step]], bool]
    ) -> dict[int, dict[int, Step]]:
        """The functions that direct calls and taken addresses lead to; what a closed function calls is not followed."""
        found: dict[int, dict[int, Step]] = {}
        left = list(starts)
        while left and self._work <= 2 * _MAX_WORK:
            function = left.pop()
            if function in found:
                continue
            steps = self.body(function)
            if is_closed(steps):
                continue
            found[function] = steps
            callees = (self._code.callee(step)[0] for step in steps.values() if step.flow in LEADING)
            left.extend(one for one in callees if one and not self.is_inside(one, function))
            # A function whose address is taken, or stands in a variable that is read, is there to be called.
            left.extend(one for step in steps.values() for one in self._taken(step) if one in self._code.starts)
        return found

    def _taken(self, step: Step) -> tuple[int, ...]:
        addresses = (step.memory, self._code.pointer_at(step.memory)) if step.memory else ()
        return (*addresses, step.argument) if step.argument else addresses


def argument_before(ends: Mapping[int, Step], address: int) -> int | None:
    """The number that is passed first to a call, as far as the instructions right before it tell."""
    for _ in range(_LOOK_BACK):
        before = ends.get(address)
        if before is None or before.flow is not Flow.NEXT:
            return None
        if before.argument is not None:
            return before.argument
        address = before.address
    return None
