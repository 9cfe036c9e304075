"""The labeler's work: for nodes that may need other labels, compute what they should have and have it carried out.

Whatever changed (facts, rules, a record, the owner of a node), the node is marked, and the work begins from what is known
then. So nothing queues up, and a change that comes while a node is in work is seen at the next turn. A node that changed
comes before those that are gone over because of a rule or an owner.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple, Protocol

from nodeworthy.errors import BusError, NodeworthyError, PayloadError
from nodeworthy.kubernetes.refusals import KubernetesError
from nodeworthy.labels import FactsMark, LabelTarget, Plan, TargetState, WantedLabels
from nodeworthy.processes import EventLog
from nodeworthy_labeler.facts import NodeTable
from nodeworthy_labeler.members import Sharing
from nodeworthy_labeler.metrics import Metrics
from nodeworthy_labeler.planning import Plans
from nodeworthy_labeler.rule_set import RuleSet
from nodeworthy_labeler.settings import Settings
from nodeworthy_labeler.turns import Turns
from nodeworthy_labeler.wanting import rarest_first, want

_LOG = EventLog("labeler")

_TRIES = 5
"""Of one node at one turn: each begins from what somebody else wrote in between. Then its turn comes again later."""


class Target(LabelTarget, Protocol):
    """Where labels end up, and what it does for nodes of which nobody speaks."""

    async def restore(self, node: str) -> bool:
        """Put back what was lost of a node; ``False``: read it and try again."""

    async def forget(self, node: str) -> bool:
        """Let go of a node that is gone; ``False``: read it and try again."""


class _Wish(NamedTuple):
    """What one node should have, and from which facts."""

    labels: WantedLabels
    facts: FactsMark
    plans: Plans
    """Of all nodes whose wishes were made together."""


class Labelling:
    """Marks nodes and works on them; :meth:`run` does the work, the rest may be called at any time."""

    def __init__(
        self,
        table: NodeTable,
        target: Target,
        members: Sharing,
        metrics: Metrics,
        settings: Settings,
        *,
        has_read: Callable[[str], Awaitable[bool]],
    ) -> None:
        """``has_read`` asks the bus whether the table has all facts of a node."""
        self.rules: RuleSet | None = None
        """What is in force (:meth:`use`); nothing is done before there are any."""
        self.is_open = False
        """Whether all inputs were read completely; before that nothing is known to be gone, and nothing is written."""
        self.problem = ""
        """Why the last write failed; empty when all that was due is written."""
        self._table = table
        self._target = target
        self._members = members
        self._metrics = metrics
        self._settings = settings
        self._has_read = has_read
        self._turns: Turns[_Wish | None] = Turns()
        self._failed: dict[str, None] = {}
        self._unmarked = 0
        """Nodes that are about to be marked."""
        self._failures = 0
        """How often in a row nodes were tried again and some of them failed again."""
        self._wake = asyncio.Event()
        self._try_again = asyncio.Event()

    def __len__(self) -> int:
        return len(self._turns) + len(self._failed) + self._unmarked

    async def use(self, rules: RuleSet) -> None:
        """Other rules are in force: every node may need other labels.

        A new rule that matches few nodes leaves the others as they are, and the few do not wait until those were looked at.
        """
        self.rules = rules
        self._unmarked = len(self._table.fleet)
        try:
            self.mark(await rarest_first(self._table.fleet, rules, batch=self._settings.pace.batch))
        finally:
            self._unmarked = 0

    def mark(self, nodes: Iterable[str], *, is_urgent: bool = False) -> None:
        """These nodes may need other labels; the urgent ones come first, except at the start, when all are."""
        self._turns.mark(nodes, is_urgent=is_urgent and self.is_open)
        self._wake.set()

    def is_marked(self, node: str) -> bool:
        """Whether a node may need other labels than those that are being written."""
        return self._turns.is_marked(node)

    async def run(self) -> None:
        """Work until cancelled; what fails is tried again."""
        workers: set[asyncio.Task[None]] = set()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._retry(), name="labels once more")
            while True:
                await self._wake.wait()
                self._wake.clear()
                if self.rules is None or not self.is_open or not len(self._turns):
                    continue
                if not self._has_lease():
                    await asyncio.sleep(self._settings.membership.beat / 4)
                    self._wake.set()
                    continue
                self._prepare(self.rules)
                for _ in range(min(self._settings.pace.writes - len(workers), self._turns.ready)):
                    worker = group.create_task(self._settle_all(), name="labels")
                    workers.add(worker)
                    worker.add_done_callback(workers.discard)

    def _has_lease(self) -> bool:
        return self._members.has_lease(self._settings.bus.request_seconds)

    def _prepare(self, rules: RuleSet) -> None:
        """Make the wishes of the next nodes; those of other labelers are marked again should they ever be this one's."""
        for choose, is_first in ((self._turns.choose_later, False), (self._turns.choose_urgent, True)):
            nodes = choose(self._members.is_mine, self._settings.pace.batch)
            if not nodes:
                continue
            wanted = self._want([node for node in nodes if node in self._table.fleet], rules)
            plans = Plans(rules.policy.settings.max_labels)
            wishes = {node: _Wish(labels, self._table.mark(node), plans) for node, labels in wanted.items()}
            self._turns.put([(node, wishes.get(node)) for node in nodes], is_first=is_first)

    def _want(self, nodes: list[str], rules: RuleSet) -> Mapping[str, WantedLabels]:
        """What nodes should have; if their facts or the rules cannot be used together, they stay as they are."""
        try:
            return want(self._table.fleet, rules, nodes)
        except Exception as error:  # noqa: BLE001 # one node whose facts break a rule must not stop the labels of all
            if len(nodes) > 1:
                half = len(nodes) // 2
                return {**self._want(nodes[:half], rules), **self._want(nodes[half:], rules)}
            self._note_failure(nodes[0], error)
            return {}

    async def _settle_all(self) -> None:
        """Work as long as nodes wait; then somebody looks whether others are marked."""
        while self._turns.ready:
            node, wish = self._turns.begin()
            try:
                await self._attempt(node, wish)
            finally:
                self._turns.end(node)
            if self._turns.is_marked(node):
                self._wake.set()
            await asyncio.sleep(0)  # a node without writes never waits
        self._wake.set()

    async def _attempt(self, node: str, wish: _Wish | None) -> None:
        try:
            is_settled = await self._settle(node, wish)
        except PayloadError as error:  # a newer program's record, or one too large: trying again changes nothing
            self._note_failure(node, error)
        except (BusError, KubernetesError) as error:
            self._metrics.write_failures.inc()
            self._note_problem(str(error))
            self._fail(node)
        except Exception as error:  # noqa: BLE001 # as above: one node must not stop the others
            self._note_failure(node, error)
        else:
            if not is_settled:
                self._fail(node)
            elif not self._failed:
                self._failures = 0
                self._note_problem("")

    def _fail(self, node: str) -> None:
        self._failed[node] = None
        self._try_again.set()

    async def _retry(self) -> None:
        """Mark again what failed, after a while that grows as long as something fails."""
        pace = self._settings.pace
        while True:
            await self._try_again.wait()
            await asyncio.sleep(min(pace.retry_first * 2 ** min(self._failures, 16), pace.retry_most))
            self._failures += 1
            self._try_again.clear()
            failed, self._failed = self._failed, {}
            self.mark(failed)

    async def _settle(self, node: str, wish: _Wish | None) -> bool:
        """Bring one node to what it should have; ``False``: it has to be tried again."""
        for _ in range(_TRIES):
            if not self._has_lease():
                return False
            if not self._members.is_mine(node):
                return True
            if wish is not None:
                state = await self._target.read(node, wish.labels)
                plan = wish.plans.make(wish.labels, state)
                is_doubtful = wish.facts.is_behind(state.facts) or _undoes_others(plan, state)
                if is_doubtful and not await self._is_newest(node):
                    return False
                is_done = await self._target.carry_out(node, state, plan, wish.facts)
            elif node in self._table.fleet:
                return True  # what it should have could not be computed
            elif node in self._table.withdrawn:
                is_done = await self._target.forget(node)
                if is_done:
                    self._table.forget(node)
            else:
                is_done = await self._target.restore(node)
            if is_done:
                return True
        return False

    async def _is_newest(self, node: str) -> bool:
        """Whether what the node should have was made from its last facts.

        Whoever was frozen, or has just got the node from another labeler, may know the record that others wrote and not yet
        the facts that they had read: the revision that a write replaces tells nothing of that. Or it may know what they
        wrote to the Node, and not yet their record.
        """
        return await self._has_read(node) and not self._turns.is_marked(node)

    def _note_problem(self, problem: str) -> None:
        if problem and not self.problem:  # said once, not for every node
            _LOG.warning("labeler.write_failed", error=problem)
        elif self.problem and not problem:
            _LOG.info("labeler.writes_again")
        self.problem = problem

    def _note_failure(self, node: str, error: Exception) -> None:
        self._metrics.node_failures.inc()
        is_ours = isinstance(error, NodeworthyError)
        _LOG.error("labeler.node_failed", about=node, node=node, error=str(error), exception=None if is_ours else error)


def _undoes_others(plan: Plan, state: TargetState) -> bool:
    """Whether a plan changes a label of ours that has another value than is remembered: other labelers give them too."""
    entries = state.memory.labels if state.memory is not None else {}
    live = {key: state.labels.live[key] for key in (*plan.set, *plan.remove) if key in state.labels.owned}
    return any(key not in entries or entries[key].value != value for key, value in live.items())
