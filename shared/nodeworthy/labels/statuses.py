"""How each object of rules fares on the nodes: what a status of the object, a table or a metric tells of it.

Rules are evaluated once for nodes that are alike, so the results come with the number of nodes that they hold for.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec

from nodeworthy.labels.chain import ChainedRule, RuleChain
from nodeworthy.labels.origins import GiverKind, Rejected
from nodeworthy.labels.wanted import WantedLabels
from nodeworthy.rules import Outcome, RuleResult, UnreadableRule

MAX_LISTED = 50
"""How many refusals and conflicts of one object are listed; a status must fit into a message."""


class RuleStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """One rule on all nodes; the counts are nodes."""

    name: str
    matched: int = 0
    unmatched: int = 0
    unknown: int = 0
    errors: int = 0
    reason: str = ""
    """Of the first node where it is in error, or else unknown; of a rule that could not be read, why."""
    is_left_out: bool = False
    """It could not be read, so it gives nothing and nothing of it goes."""


class Conflict(msgspec.Struct, frozen=True, order=True):
    """A key to which rules give different values on some node; the last one in NFD's order wins."""

    key: str
    winner: str
    loser: str
    """Givers, in words."""


class Refusal(msgspec.Struct, frozen=True, order=True):
    """Something that a rule of the object gives and no node may have."""

    rule: str
    kind: str
    key: str
    reason: str


class ObjectStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """One object of rules; lists are sorted, so that equal facts give equal statuses."""

    name: str
    rules: tuple[RuleStatus, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    """Of labels, annotations and extended resources that a rule of this object gives, winning or losing."""
    refusals: tuple[Refusal, ...] = ()
    notices: tuple[str, ...] = ()
    """Why it does not run in its place."""
    left_out: int = 0
    """How many conflicts and refusals are not listed, because there are too many."""


class StatusCounting:
    """Counts what is said of nodes, and makes the statuses of the objects of it."""

    def __init__(self, chain: RuleChain) -> None:
        self.chain = chain
        self.counts: list[Counter[Outcome]] = [Counter() for _ in chain.rules]
        self.reasons: list[dict[Outcome, str]] = [{} for _ in chain.rules]
        self.conflicts: dict[str, set[Conflict]] = {}
        self.refusals: dict[str, set[Refusal]] = {}

    def add_results(self, outcomes: Sequence[RuleResult], size: int) -> None:
        """What the chain says of this many nodes that are alike, as a group of :class:`nodeworthy.fleet.ChainResults`."""
        for count, reasons, result in zip(self.counts, self.reasons, outcomes, strict=True):
            count[result.outcome] += size
            reasons.setdefault(result.outcome, result.reason)

    def add_wanted(self, wanted: WantedLabels) -> None:
        """What nodes should have; equal ones once or more often."""
        for label in wanted.conflicts:
            rules = [given for given in label.given if given.giver.kind is GiverKind.RULE]
            for loser in rules[:-1]:
                if loser.value != rules[-1].value:
                    conflict = Conflict(label.key, str(rules[-1].giver), str(loser.giver))
                    self.conflicts.setdefault(rules[-1].giver.name, set()).add(conflict)
                    self.conflicts.setdefault(loser.giver.name, set()).add(conflict)
        for refused in wanted.rejected:
            if refused.giver.kind is GiverKind.RULE:
                self.refusals.setdefault(refused.giver.name, set()).add(_refusal(refused))

    def statuses(self) -> tuple[ObjectStatus, ...]:
        """The statuses of all objects that could be read, by name."""
        rules: dict[str, list[tuple[int, RuleStatus]]] = {}
        for place, link in enumerate(self.chain.rules):
            if link.giver.kind is GiverKind.RULE:
                rules.setdefault(link.giver.name, []).append((link.place, self._rule(place, link)))
        return tuple(self._object(name, [one for _, one in sorted(rules[name], key=_place)]) for name in sorted(rules))

    def _rule(self, place: int, link: ChainedRule) -> RuleStatus:
        count, reasons = self.counts[place], self.reasons[place]
        return RuleStatus(
            name=link.giver.part,
            matched=count[Outcome.TRUE],
            unmatched=count[Outcome.FALSE],
            unknown=count[Outcome.UNKNOWN],
            errors=count[Outcome.ERROR],
            reason=reasons.get(Outcome.ERROR) or reasons.get(Outcome.UNKNOWN, ""),
            is_left_out=isinstance(link.rule, UnreadableRule),
        )

    def _object(self, name: str, rules: list[RuleStatus]) -> ObjectStatus:
        conflicts, refusals = sorted(self.conflicts.get(name, ())), sorted(self.refusals.get(name, ()))
        notices = dict.fromkeys(notice.message for notice in self.chain.notices if notice.path == name)
        return ObjectStatus(
            name=name,
            rules=tuple(rules),
            conflicts=tuple(conflicts[:MAX_LISTED]),
            refusals=tuple(refusals[:MAX_LISTED]),
            notices=tuple(notices),
            left_out=max(0, len(conflicts) - MAX_LISTED) + max(0, len(refusals) - MAX_LISTED),
        )


def _place(pair: tuple[int, RuleStatus]) -> int:
    return pair[0]


def _refusal(refused: Rejected) -> Refusal:
    return Refusal(refused.giver.part, refused.kind.value, refused.key, refused.reason)
