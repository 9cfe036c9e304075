"""The members of a NodeFeatureGroup: the nodes on which any rule of the group matches (NFD, nfd-master).

A node on which no rule matches and some rule is unknown or in error is neither a member nor surely none: whoever keeps a
list of members keeps it as it is there. Members carry the names that the nodes have in the table.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from nodeworthy.fleet import kleene
from nodeworthy.fleet.chain_results import evaluate_rules
from nodeworthy.fleet.chains import make_chain
from nodeworthy.fleet.table import Fleet
from nodeworthy.rules import Rule, TemplateEngine, UnreadableRule, compile_rules


class GroupMembers(msgspec.Struct, frozen=True):
    """What a group says of some nodes; names in the order in which they were asked for."""

    members: tuple[str, ...]
    undecided: tuple[str, ...]
    """Not known: facts are missing, or a rule is in error."""

    def keep(self, before: Sequence[str]) -> tuple[str, ...]:
        """The members to write down, where these were written down before: who is undecided stays what it was."""
        listed = set(before)
        return tuple(sorted({*self.members, *(node for node in self.undecided if node in listed)}))


def find_members(
    fleet: Fleet,
    rules: Sequence[Rule | UnreadableRule],
    nodes: Sequence[str] | None = None,
    templates: TemplateEngine | None = None,
) -> GroupMembers:
    """The members of a group with these rules (``featureGroupRules``) among these nodes, or among all.

    Raises:
        UsageError: a node is not in the table, or the rules ask too much of it at once.
    """
    results = evaluate_rules(fleet, make_chain(compile_rules(rules)), nodes, templates)
    names = results.nodes()
    matched = np.zeros(len(names), np.bool_)
    in_doubt = np.zeros(len(names), np.bool_)
    for place in range(len(rules)):
        outcomes = results.outcomes(place)
        matched |= outcomes == kleene.TRUE
        in_doubt |= outcomes >= kleene.UNKNOWN
    return GroupMembers(
        tuple(names[place] for place in np.flatnonzero(matched).tolist()),
        tuple(names[place] for place in np.flatnonzero(in_doubt & ~matched).tolist()),
    )
