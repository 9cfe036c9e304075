"""Which labels nodes should have, made once for nodes that are alike."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from nodeworthy.features import Lookup, SetState, SetStatus, Snapshot
from nodeworthy.fleet import ChainResults, Fleet, evaluate_rules
from nodeworthy.fleet.grouping import Numbers, group
from nodeworthy.labels import WantedLabels, combine, join_default_labels
from nodeworthy_labeler import default_labels
from nodeworthy_labeler.rule_set import RuleSet


def want(fleet: Fleet, rules: RuleSet, nodes: Sequence[str]) -> dict[str, WantedLabels]:
    """What each of these nodes should have; nodes that should have the same for the same reasons share one record.

    It is what :func:`nodeworthy.labels.want_labels` says of each node alone.

    Raises:
        UsageError: a node is not in the table, or the rules ask too much of it at once.
    """
    statuses = _Statuses(fleet)
    kinds = _find_kinds(fleet, rules, nodes, evaluate_rules(fleet, rules.fleet_chain, nodes), statuses)
    return dict(zip(nodes, _tell_apart(fleet, fleet.rows(nodes), kinds, statuses), strict=True))


def want_kinds(fleet: Fleet, rules: RuleSet, nodes: Sequence[str], results: ChainResults) -> Sequence[WantedLabels]:
    """What :func:`want` says of these nodes, once for all that differ in nothing but inputs.

    The inputs are those of one of them; ``results`` is what the rules say of the nodes.
    """
    return _find_kinds(fleet, rules, nodes, results, _Statuses(fleet)).wanted


async def rarest_first(fleet: Fleet, rules: RuleSet, *, batch: int) -> list[str]:
    """All nodes: those before others of which the rules say what they say of fewer in the same ``batch``.

    Where the rules cannot be used on a batch, all of it comes first.
    """
    counts: dict[str, int] = {}
    async for part in in_batches(fleet, batch):
        counts.update(zip(part, _count_alike(fleet, rules, part), strict=True))
    return sorted(counts, key=counts.__getitem__)


async def in_batches(fleet: Fleet, size: int) -> AsyncIterator[list[str]]:
    """All nodes in parts: other work comes between two of them. Those that are gone before their turn are left out."""
    nodes = fleet.nodes()
    for start in range(0, len(nodes), size):
        yield [node for node in nodes[start : start + size] if node in fleet]
        await asyncio.sleep(0)


def _count_alike(fleet: Fleet, rules: RuleSet, nodes: list[str]) -> list[int]:
    """By node: of how many of these the rules say the same."""
    try:
        numbers = evaluate_rules(fleet, rules.fleet_chain, nodes).group_numbers()
    except Exception:  # noqa: BLE001 # whose facts break a rule is found out when the labels are made, and told there
        return [0] * len(nodes)
    counts: list[int] = np.bincount(numbers)[numbers].tolist()
    return counts


class _Kinds(NamedTuple):
    """Nodes that should have the same labels for the same reasons, taken together."""

    wanted: Sequence[WantedLabels]
    """Of each kind; its inputs are those of one of its nodes."""
    numbers: Sequence[int]
    """The kind of each node."""


def _find_kinds(
    fleet: Fleet, rules: RuleSet, nodes: Sequence[str], results: ChainResults, statuses: "_Statuses"
) -> _Kinds:
    rows = fleet.rows(nodes)
    makers = default_labels.classify(fleet, rules.policy, rows)
    makers.append(rules.custom.classify(fleet, nodes, rows))
    rule_groups = results.group_numbers()
    alike = group([rule_groups, *(maker.numbers for maker in makers)], len(nodes))
    wanted = []
    for first in alike.first.tolist():
        defaults = join_default_labels(maker.made[int(maker.numbers[first])] for maker in makers)
        facts = _NodeFacts(fleet, int(rows[first]), statuses)
        result = results.chain_result(int(rule_groups[first]))
        wanted.append(combine(facts, rules.policy, defaults, rules.chain, result))
    return _Kinds(wanted, alike.numbers.tolist())


def _tell_apart(fleet: Fleet, rows: Numbers, kinds: _Kinds, statuses: "_Statuses") -> list[WantedLabels]:
    """The record of each row: those of one kind have the same labels, and may have made them from other contents."""
    names = {name for one in kinds.wanted for name in one.inputs}
    columns = {name: fleet.numbers(name, rows).tolist() for name in names}
    known: dict[tuple[int, ...], WantedLabels] = {}
    records = []
    for place, (row, kind) in enumerate(zip(rows.tolist(), kinds.numbers, strict=True)):
        numbers = {name: columns[name][place] for name in kinds.wanted[kind].inputs}
        key = (kind, *numbers.values())
        if key not in known:
            inputs = {name: _input(statuses.get(row, name, number)) for name, number in numbers.items()}
            known[key] = msgspec.structs.replace(kinds.wanted[kind], inputs=inputs)
        records.append(known[key])
    return records


def _input(status: SetStatus) -> str:
    return status.digest if status.state is SetState.PRESENT else status.state.value


class _Statuses:
    """State and digest of contents, each computed once."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._known: dict[tuple[str, int], SetStatus] = {}

    def get(self, row: int, name: str, number: int) -> SetStatus:
        """The status of a set on a row whose content has this number."""
        status = self._known.get((name, number))
        if status is None:
            found = self._fleet.lookup(row, name)
            contents = {name: found.content} if found.content is not None else {}
            status = Snapshot(contents, {name: SetStatus(found.state, found.reason)}).status(name)
            self._known[name, number] = status
        return status


class _NodeFacts:
    """The facts of one row with their digests (a ``labels.NodeFacts``)."""

    def __init__(self, fleet: Fleet, row: int, statuses: _Statuses) -> None:
        self._fleet = fleet
        self._row = row
        self._statuses = statuses

    def lookup(self, name: str) -> Lookup:
        return self._fleet.lookup(self._row, name)

    def status(self, name: str) -> SetStatus:
        number = int(self._fleet.numbers(name, np.array([self._row]))[0])
        return self._statuses.get(self._row, name, number)
