"""The labeler's work: for nodes that may need other labels, compute what they should have and have it carried out.

Whatever changed (facts, rules, a record, the owner of a node), the node is marked, and the work begins from what is known
then. So nothing queues up, and a change that comes while a node is in work is seen at the next turn.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

from nodeworthy.errors import BusError, NodeworthyError, PayloadError
from nodeworthy.labels import FactsMark, LabelTarget, WantedLabels
from nodeworthy.processes import EventLog
from nodeworthy_labeler.facts import NodeTable
from nodeworthy_labeler.members import Members
from nodeworthy_labeler.metrics import Metrics
from nodeworthy_labeler.planning import Plans
from nodeworthy_labeler.rule_set import RuleSet
from nodeworthy_labeler.settings import Settings
from nodeworthy_labeler.wanting import want

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


class Labelling:
    """Marks nodes and works on them; :meth:`run` does the work, the rest may be called at any time."""

    def __init__(
        self,
        table: NodeTable,
        target: Target,
        members: Members,
        metrics: Metrics,
        settings: Settings,
        *,
        has_read: Callable[[str], Awaitable[bool]],
    ) -> None:
        """``has_read`` asks the bus whether the table has all facts of a node."""
        self.rules: RuleSet | None = None
        """What is in force; nothing is done before there are any."""
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
        self._marked: dict[str, None] = {}
        self._wake = asyncio.Event()

    def __len__(self) -> int:
        return len(self._marked)

    def mark(self, nodes: Iterable[str]) -> None:
        """These nodes may need other labels."""
        self._marked.update(dict.fromkeys(nodes))
        self._wake.set()

    async def run(self) -> None:
        """Work until cancelled; what fails is tried again."""
        failures = 0
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._marked and self.is_open and self.rules is not None:
                if not self._has_lease():
                    await asyncio.sleep(self._settings.membership.beat / 4)
                    continue
                failed = await self._work(self._take_batch(), self.rules)
                self.mark(failed)
                failures = failures + 1 if failed else 0
                await self._pause(failures)

    def _has_lease(self) -> bool:
        return self._members.has_lease(self._settings.bus.request_seconds)

    def _take_batch(self) -> list[str]:
        """The next nodes of this labeler; those of others are passed over, and marked again should they ever be its own."""
        batch: list[str] = []
        while self._marked and len(batch) < self._settings.pace.batch:
            node = next(iter(self._marked))
            del self._marked[node]
            if self._members.is_mine(node):
                batch.append(node)
        return batch

    async def _work(self, batch: list[str], rules: RuleSet) -> list[str]:
        """Work on some nodes; those that are to be tried again."""
        wanted = self._want([node for node in batch if node in self._table.fleet], rules)
        wishes = {node: _Wish(labels, self._table.mark(node)) for node, labels in wanted.items()}
        plans = Plans(rules.policy.settings.max_labels)
        waiting = iter(batch)
        failed: list[str] = []
        async with asyncio.TaskGroup() as group:
            for number in range(min(self._settings.pace.writes, len(batch))):
                group.create_task(self._settle_all(waiting, wishes, plans, failed), name=f"labels {number}")
        self._note_problem("" if not failed else self.problem)
        return failed

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

    async def _settle_all(
        self, waiting: Iterator[str], wishes: Mapping[str, _Wish], plans: Plans, failed: list[str]
    ) -> None:
        for node in waiting:
            try:
                is_settled = await self._settle(node, wishes.get(node), plans)
            except PayloadError as error:  # a newer program's record, or one too large: trying again changes nothing
                self._note_failure(node, error)
            except BusError as error:
                self._metrics.write_failures.inc()
                self._note_problem(str(error))
                failed.append(node)
            except Exception as error:  # noqa: BLE001 # as above: one node must not stop the others
                self._note_failure(node, error)
            else:
                if not is_settled:
                    failed.append(node)

    async def _settle(self, node: str, wish: _Wish | None, plans: Plans) -> bool:
        """Bring one node to what it should have; ``False``: it has to be tried again."""
        for _ in range(_TRIES):
            if not self._has_lease():
                return False
            if not self._members.is_mine(node):
                return True
            if wish is not None:
                state = await self._target.read(node)
                if wish.facts.is_behind(state.facts) and not await self._is_newest(node):
                    return False
                is_done = await self._target.carry_out(node, state, plans.make(wish.labels, state), wish.facts)
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
        the facts that they had read: the revision that a write replaces tells nothing of that.
        """
        return await self._has_read(node) and node not in self._marked

    async def _pause(self, failures: int) -> None:
        """Wait after a failure; without one only let others work, since a batch without writes never waits."""
        pace = self._settings.pace
        await asyncio.sleep(min(pace.retry_first * 2 ** min(failures - 1, 16), pace.retry_most) if failures else 0)

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
