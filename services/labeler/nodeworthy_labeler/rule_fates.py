"""How each object of rules fares on all nodes: whom it matches, what is refused of it, what is in error."""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from nodeworthy.fleet import Fleet, evaluate_rules, kleene
from nodeworthy.labels import ObjectStatus, object_statuses
from nodeworthy_labeler.rule_set import RuleSet
from nodeworthy_labeler.wanting import want_kinds


class RuleFate(msgspec.Struct, frozen=True):
    """How one object fares on all nodes."""

    status: ObjectStatus
    nodes_matched: int
    """Nodes on which at least one rule of it matches."""


def find_rule_fates(fleet: Fleet, rules: RuleSet) -> Mapping[str, RuleFate]:
    """How each object fares, by its name; objects without rules are missing.

    Raises:
        UsageError: the rules ask too much of all nodes at once.
    """
    results = evaluate_rules(fleet, rules.fleet_chain)
    nodes = results.nodes()
    wanted = want_kinds(fleet, rules, nodes, results)
    groups = [(one.results, one.size) for one in results.groups()]
    matched: dict[str, np.ndarray[Any, np.dtype[np.bool_]]] = {}
    for place, link in enumerate(rules.chain.rules):
        before = matched.get(link.giver.name, np.zeros(len(nodes), np.bool_))
        matched[link.giver.name] = before | (results.outcomes(place) == kleene.TRUE)
    return {
        one.name: RuleFate(one, int(matched[one.name].sum())) for one in object_statuses(rules.chain, groups, wanted)
    }


def find_last_error(status: ObjectStatus) -> str:
    """Why the first rule of an object that is in error on some node is; empty: none is."""
    errors = (f"{rule.name}: {rule.reason}" for rule in status.rules if rule.errors and not rule.is_left_out)
    return next(errors, "")


class RuleFates:
    """What was found last, so that it is computed once for everybody who tells it."""

    def __init__(self) -> None:
        self._about: tuple[int, str] | None = None
        self._found: Mapping[str, RuleFate] = {}

    def find(self, fleet: Fleet, rules: RuleSet) -> Mapping[str, RuleFate]:
        """What :func:`find_rule_fates` says; ``fleet`` is always the same table. Raises what it raises."""
        about = (fleet.version, rules.digest)
        if about != self._about:
            self._found = find_rule_fates(fleet, rules)
            self._about = about
        return self._found
