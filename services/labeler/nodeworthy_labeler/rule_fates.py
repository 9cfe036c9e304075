"""How each object of rules fares on all nodes: whom it matches, what is refused of it, what is in error."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from nodeworthy.fleet import ChainResults, Fleet, evaluate_rules, kleene
from nodeworthy.labels import ObjectStatus, StatusCounting
from nodeworthy_labeler.rule_set import RuleSet
from nodeworthy_labeler.wanting import in_batches, want_kinds


class RuleFate(msgspec.Struct, frozen=True):
    """How one object fares on all nodes."""

    status: ObjectStatus
    nodes_matched: int
    """Nodes on which at least one rule of it matches."""


async def find_rule_fates(fleet: Fleet, rules: RuleSet, *, batch: int) -> Mapping[str, RuleFate]:
    """How each object fares, by its name; objects without rules are missing. ``batch`` nodes are looked at at once.

    Raises:
        UsageError: the rules ask too much of nodes at once.
    """
    counting = StatusCounting(rules.chain)
    matched: Counter[str] = Counter()
    async for nodes in in_batches(fleet, batch):
        results = evaluate_rules(fleet, rules.fleet_chain, nodes)
        for group in results.groups():
            counting.add_results(group.results, group.size)
        for wanted in want_kinds(fleet, rules, nodes, results):
            counting.add_wanted(wanted)
        matched.update(_count_matched(rules, results))
    return {one.name: RuleFate(one, matched[one.name]) for one in counting.statuses()}


def _count_matched(rules: RuleSet, results: ChainResults) -> dict[str, int]:
    """By object: the nodes on which at least one rule of it matches."""
    matched: dict[str, np.ndarray[Any, np.dtype[np.bool_]]] = {}
    for place, link in enumerate(rules.chain.rules):
        is_true = results.outcomes(place) == kleene.TRUE
        matched[link.giver.name] = is_true | matched.get(link.giver.name, False)
    return {name: int(nodes.sum()) for name, nodes in matched.items()}


def find_last_error(status: ObjectStatus) -> str:
    """Why the first rule of an object that is in error on some node is; empty: none is."""
    errors = (f"{rule.name}: {rule.reason}" for rule in status.rules if rule.errors and not rule.is_left_out)
    return next(errors, "")


class RuleFates:
    """What was found last, so that it is computed once for everybody who tells it.

    Args:
        batch: How many nodes are looked at at once; other work comes before the next.
    """

    def __init__(self, batch: int) -> None:
        self._batch = batch
        self._finding = asyncio.Lock()
        self._about: tuple[int, str] | None = None
        self._found: Mapping[str, RuleFate] = {}

    async def find(self, fleet: Fleet, rules: RuleSet) -> Mapping[str, RuleFate]:
        """What :func:`find_rule_fates` says; ``fleet`` is always the same table. Raises what it raises.

        Where nodes changed meanwhile, some are told as they were and some as they are: whoever asks next is told anew.
        """
        async with self._finding:
            about = (fleet.version, rules.digest)
            if about != self._about:
                self._found = await find_rule_fates(fleet, rules, batch=self._batch)
                self._about = about
            return self._found
