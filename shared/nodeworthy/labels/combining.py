"""Default labels and what rules give, put together: who wins, what is refused, what hangs on unknown facts."""

from collections.abc import Iterator, Mapping

import msgspec

from nodeworthy.features import SetState
from nodeworthy.labels.acceptance import Acceptance, find_taint_problem
from nodeworthy.labels.chain import ChainedRule, RuleChain
from nodeworthy.labels.defaults import DefaultLabels, make_default_labels
from nodeworthy.labels.dynamic_values import DynamicValues, Resolved
from nodeworthy.labels.origins import Claims, Given, Giver, Rejected, RejectedKind, Unresolved, refuse
from nodeworthy.labels.policy import LabelPolicy
from nodeworthy.labels.wanted import NodeFacts, WantedLabel, WantedLabels
from nodeworthy.rules import ChainResult, Outcome, Taint, TemplateEngine, evaluate_chain
from nodeworthy.rules.prefixes import DEFAULT_PREFIX, add_default_prefix


def want_labels(
    facts: NodeFacts, policy: LabelPolicy, chain: RuleChain, templates: TemplateEngine | None = None
) -> WantedLabels:
    """What a node with these facts should have.

    The chain must be compiled with the policy's ``auto_prefix``. Who evaluates many nodes at once, or has facts for default
    labels that differ from those for rules, makes the two parts in its own way and puts them together by :func:`combine`.
    """
    labels = make_default_labels(facts, policy.defaults, auto_prefix=policy.auto_prefix)
    return combine(facts, policy, labels, chain, evaluate_chain(chain.compiled, facts, templates))


def combine(
    facts: NodeFacts, policy: LabelPolicy, labels: DefaultLabels, chain: RuleChain, result: ChainResult
) -> WantedLabels:
    """Default labels and the results of the chain as the node gets them: rules win over default labels, later over earlier.

    Refused is what wins and is not legal; the key is then given to nobody, as in NFD.
    """
    combination = _Combination(DynamicValues(facts, chain, result), policy.acceptance)
    combination.unresolved += labels.unresolved
    combination.rejected += labels.rejected
    combination.add_defaults(labels)
    combination.add_rules(chain, result, policy.defaults.positions)
    wanted = combination.settle_labels()
    annotations = combination.settle(RejectedKind.ANNOTATION)
    resources = combination.settle(RejectedKind.EXTENDED_RESOURCE)
    taints = combination.settle_taints()
    read = sorted({name for label in wanted.values() for name in label.sets})
    return WantedLabels(
        labels=wanted,
        givers=policy.defaults.givers | chain.givers,
        inputs={name: _input(facts, name) for name in read},
        unresolved=tuple(sorted(combination.unresolved, key=lambda one: (one.position, one.giver))),
        rejected=tuple(combination.rejected),
        annotations=annotations,
        extended_resources=resources,
        taints=taints,
    )


def _input(facts: NodeFacts, name: str) -> str:
    status = facts.status(name)
    return status.digest if status.state is SetState.PRESENT else status.state.value


class _Offer(msgspec.Struct, frozen=True):
    """One value of one key, in its place."""

    given: Given
    sets: tuple[str, ...]
    position: int


class _Combination:
    """Collects what everybody gives one node, then settles who wins."""

    def __init__(self, values: DynamicValues, acceptance: Acceptance) -> None:
        self.values = values
        self.acceptance = acceptance
        self.offers: dict[RejectedKind, dict[str, list[_Offer]]] = {kind: {} for kind in RejectedKind}
        self.taints: list[tuple[Giver, Taint]] = []
        self.unresolved: list[Unresolved] = []
        self.rejected: list[Rejected] = []

    def add_defaults(self, labels: DefaultLabels) -> None:
        for label in sorted(labels.labels, key=lambda label: label.position):
            offer = _Offer(Given(label.giver, label.value), label.sets, label.position)
            self.offers[RejectedKind.LABEL].setdefault(label.key, []).append(offer)

    def add_rules(self, chain: RuleChain, result: ChainResult, first: int) -> None:
        for position, (link, outcome) in enumerate(zip(chain.rules, result.results, strict=True), first):
            if outcome.outcome in (Outcome.UNKNOWN, Outcome.ERROR):
                # A document whose name nobody knows may belong after all others.
                place = position if link.giver.name else first + len(chain.rules)
                doubt = Unresolved(link.giver, outcome.outcome, outcome.reason, link.claims, place)
                self.unresolved.append(doubt)
                continue
            self.add(RejectedKind.LABEL, outcome.labels, link, position)
            self.add(RejectedKind.ANNOTATION, outcome.annotations, link, position)
            self.add(RejectedKind.EXTENDED_RESOURCE, outcome.extended_resources, link, position)
            self.taints += [(link.giver, taint) for taint in outcome.taints]

    def add(self, kind: RejectedKind, names: Mapping[str, str], link: ChainedRule, position: int) -> None:
        full = add_default_prefix(names) if self.acceptance.auto_prefix else names
        offers = self.offers[kind]
        for key, value in full.items():
            offers.setdefault(key, []).append(_Offer(Given(link.giver, value), link.sets, position))
        for name in names.keys() - full.keys():
            if names[name] != full[DEFAULT_PREFIX + name]:
                reason = f"the same rule gives {DEFAULT_PREFIX}{name}, which is the same label and wins"
                self.rejected.append(refuse(kind, Given(link.giver, names[name]), name, reason))

    def settle_labels(self) -> dict[str, WantedLabel]:
        wanted = {}
        for key, value, offers in self._winners(RejectedKind.LABEL):
            last = offers[-1]
            given = tuple(offer.given for offer in offers)
            wanted[key] = WantedLabel(key, value, given, last.sets, last.position)
        return wanted

    def settle(self, kind: RejectedKind) -> dict[str, str]:
        return {key: value for key, value, _ in self._winners(kind)}

    def settle_taints(self) -> tuple[Taint, ...]:
        """A node has one taint of a key and effect; as elsewhere, the last one wins."""
        kept: dict[tuple[str, str], Taint] = {}
        for giver, taint in self.taints:
            problem = find_taint_problem(taint)
            if problem is None:
                kept[taint.key, taint.effect] = taint
            else:
                self.rejected.append(refuse(RejectedKind.TAINT, Given(giver, taint.value), taint.key, problem))
        return tuple(kept.values())

    def _winners(self, kind: RejectedKind) -> Iterator[tuple[str, str, list[_Offer]]]:
        for key, offers in sorted(self.offers[kind].items()):
            winner = offers[-1]
            giver, written = winner.given.giver, winner.given.value
            # Annotations are written as they are, as in NFD.
            found = Resolved(written) if kind is RejectedKind.ANNOTATION else self.values.resolve(written)
            if not found.is_known:
                self._doubt(kind, key, winner, found.reason)
            elif found.value is None:
                self.rejected.append(refuse(kind, Given(giver, written), key, found.reason))
            elif problem := self.acceptance.find_problem(kind, key, found.value):
                self.rejected.append(refuse(kind, Given(giver, found.value), key, problem))
            else:
                yield key, found.value, offers

    def _doubt(self, kind: RejectedKind, key: str, winner: _Offer, reason: str) -> None:
        claims = Claims({key: None}) if kind is RejectedKind.LABEL else Claims()
        self.unresolved.append(
            Unresolved(winner.given.giver, Outcome.UNKNOWN, f"{kind} {key}: {reason}", claims, winner.position)
        )
