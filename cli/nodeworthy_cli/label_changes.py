"""What a labeler with some rules would change of the labels on the bus, computed here and written nowhere."""

import asyncio
import time
from collections.abc import Collection, Iterator, Sequence

import msgspec

from nodeworthy.bus.keys import labels_key, parse_labels_key
from nodeworthy.bus.labels import read_memory
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.nodes import NodeChange, NodeReader
from nodeworthy.bus.store import Store
from nodeworthy.bus.watching import Complete
from nodeworthy.errors import PayloadError, UsageError
from nodeworthy.fleet import Fleet
from nodeworthy.labels import LabelMemory, Plan, TargetState, labels_of_memory
from nodeworthy_cli.node_summaries import read_keys
from nodeworthy_labeler.facts import NodeTable
from nodeworthy_labeler.planning import Plans
from nodeworthy_labeler.rule_set import RuleSet
from nodeworthy_labeler.settings import Pace
from nodeworthy_labeler.wanting import want


class LabelChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """One label of one node that would change."""

    node: str
    label: str
    before: str | None = None
    """``None``: it is not there."""
    after: str | None = None
    """``None``: it would go."""
    why: str = ""
    """Who would give it, or the evidence that it goes."""


class LabelChanges(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything that would change, and nodes of which that cannot be said."""

    changes: tuple[LabelChange, ...]
    problems: tuple[str, ...] = ()


async def read_changes(store: Store, rules: RuleSet, names: Collection[str]) -> LabelChanges:
    """What a labeler with these rules would change, on all nodes or on those named.

    Raises:
        UsageError: a name is none, or of a node that nobody has published facts of.
        BusError: the bus could not be read.
    """
    table = await _read_facts(store)
    nodes = sorted(table.fleet.nodes()) if not names else list(dict.fromkeys(names))
    table.fleet.rows(nodes)
    memories, problems = await _read_memories(store, nodes if names else ())
    changes: list[LabelChange] = []
    for first in range(0, len(nodes), Pace.batch):
        batch = [node for node in nodes[first : first + Pace.batch] if node not in problems]
        changes += _compare(table.fleet, rules, batch, memories)
    return LabelChanges(tuple(changes), tuple(f"{node}: {problem}" for node, problem in sorted(problems.items())))


def _compare(
    fleet: Fleet, rules: RuleSet, nodes: Sequence[str], memories: dict[str, LabelMemory]
) -> Iterator[LabelChange]:
    plans = Plans(rules.policy.settings.max_labels)
    wanted = want(fleet, rules, nodes)
    for node in nodes:
        memory = memories.get(node)
        state = TargetState(labels_of_memory(memory), memory)
        yield from _changes(node, state, plans.make(wanted[node], state))


def _changes(node: str, state: TargetState, plan: Plan) -> Iterator[LabelChange]:
    live = state.labels.live
    for label in sorted({*plan.set, *plan.remove}):
        if label in plan.remove:
            yield LabelChange(node, label, live.get(label), None, plan.remove[label])
        else:
            giver = str(plan.memory.labels[label].given[-1].giver)
            yield LabelChange(node, label, live.get(label), plan.set[label], giver)


async def _read_facts(store: Store) -> NodeTable:
    """The facts of all nodes as they are now."""
    table = NodeTable(Fleet(), time.time)
    complete = asyncio.Event()

    def take(change: NodeChange) -> None:
        if isinstance(change, Complete):
            complete.set()
        else:
            table.take(change)

    reading = asyncio.create_task(NodeReader(store).run(take), name="facts")
    waiting = asyncio.create_task(complete.wait(), name="complete")
    try:
        await asyncio.wait({reading, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if reading.done():
            reading.result()
    finally:
        reading.cancel()
        waiting.cancel()
        await asyncio.wait({reading, waiting})
    return table


async def _read_memories(store: Store, names: Collection[str]) -> tuple[dict[str, LabelMemory], dict[str, str]]:
    """What is remembered of nodes, and why it cannot be read of some."""
    memories: dict[str, LabelMemory] = {}
    problems: dict[str, str] = {}
    for pattern in [labels_key(name) for name in names] or [">"]:
        async for key, stored in read_keys(store, Bucket.LABELS, pattern):
            try:
                node = parse_labels_key(key)
            except UsageError:  # nobody of ours writes such a key
                continue
            try:
                memories[node] = read_memory(stored.data)
            except PayloadError as error:
                problems[node] = str(error)
    return memories, problems
