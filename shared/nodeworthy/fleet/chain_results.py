"""A chain of rules on many nodes: what ``rules.evaluate_chain`` says of each, made once for nodes that are alike."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nodeworthy.fleet import kleene
from nodeworthy.fleet.chains import Chain
from nodeworthy.fleet.grouping import Groups, Numbers, group
from nodeworthy.fleet.table import Fleet
from nodeworthy.fleet.vectors import Vectors
from nodeworthy.fleet.walking import Walk
from nodeworthy.rules import ChainResult, RuleResult, TemplateEngine


class NodeGroup(NamedTuple):
    """Nodes of which the chain says the same."""

    results: tuple[RuleResult, ...]
    """Of each rule, in order."""
    size: int
    example: str
    """The first of them; what is made of the results and of the sets named in ``@`` values is the same for all."""


class ChainResults:
    """What a chain says of the nodes that it was evaluated on."""

    def __init__(self, walk: Walk, groups: Groups) -> None:
        """Hold a finished walk, and its vectors in groups."""
        self._walk = walk
        self._vectors = walk.vectors
        self._groups = groups

    def nodes(self) -> list[str]:
        """The nodes in the order in which they were asked for."""
        self._vectors.check()
        return self._vectors.fleet.names(self._vectors.rows)

    def group_numbers(self) -> Numbers:
        """By node: its place among the groups."""
        return self._groups.numbers[self._vectors.groups.numbers]

    def groups(self) -> list[NodeGroup]:
        """Nodes that the chain treats alike, with their results."""
        self._vectors.check()
        sizes = np.bincount(self.group_numbers(), minlength=len(self._groups.first)).tolist()
        return [
            NodeGroup(
                tuple(one.result(vector) for one in self._walk.decided),
                size,
                self._vectors.fleet.name(self._vectors.row(vector)),
            )
            for vector, size in zip(self._groups.first.tolist(), sizes, strict=True)
        ]

    @property
    def ran(self) -> frozenset[int]:
        """The places of the rules of which anything was evaluated; of all others everything was remembered."""
        return frozenset(self._walk.ran)

    def outcomes(self, rule: int) -> kleene.Outcomes:
        """By node: the number of the outcome of the rule in this place (:data:`kleene.OUTCOMES`)."""
        return self._walk.decided[rule].outcomes()[self._vectors.groups.numbers]

    def chain_result(self, group_number: int) -> ChainResult:
        """The results of a group with ``rule.matched`` as it is at the end, for ``@rule.matched`` values."""
        self._vectors.check()
        return self._walk.chain_of(int(self._groups.first[group_number]))


def evaluate_rules(
    fleet: Fleet, chain: Chain, nodes: Sequence[str] | None = None, templates: TemplateEngine | None = None
) -> ChainResults:
    """What a chain of rules says of these nodes, or of all.

    Raises:
        UsageError: a node is not in the table.
    """
    vectors = Vectors(fleet, chain.panel, fleet.rows(nodes))
    walk = Walk(chain, vectors, templates)
    for place, rule in enumerate(chain.rules):
        walk.decide(place, rule)
    columns = [one.numbers for one in walk.decided] + [vectors.whole(name) for name in sorted(chain.dynamic)]
    return ChainResults(walk, group(columns, vectors.size))
