"""Default labels and what rules give, put together: who wins, what is refused, what hangs on unknown facts."""

from collections.abc import Iterator, Mapping

import msgspec

from nodeworthy.features import SetState
from nodeworthy.labels.acceptance import Acceptance, find_taint_problem
from nodeworthy.labels.chain import ChainedRule, RuleChain
from nodeworthy.labels.custom_rules import make_own_labels
from nodeworthy.labels.defaults import DefaultLabels
from nodeworthy.labels.dynamic_values import DynamicValues, Resolved
from nodeworthy.labels.origins import Claims, Given, Rejected, RejectedKind, Unresolved, refuse
from nodeworthy.labels.policy import LabelPolicy
from nodeworthy.labels.settings import OutputSettings
from nodeworthy.labels.wanted import NodeFacts, WantedLabel, WantedLabels, WantedTaint
from nodeworthy.rules import ChainResult, Outcome, Taint, TemplateEngine, evaluate_chain
from nodeworthy.rules.labels import Fault, Objection
from nodeworthy.rules.prefixes import DEFAULT_PREFIX


def want_labels(
    facts: NodeFacts, policy: LabelPolicy, chain: RuleChain, templates: TemplateEngine | None = None
) -> WantedLabels:
    """What a node with these facts should have.

    The chain must be compiled with the policy's ``auto_prefix``. Who evaluates many nodes at once, or has facts for default
    labels that differ from those for rules, makes the two parts in its own way and puts them together by :func:`combine`.
    """
    labels = make_own_labels(facts, policy, templates)
    return combine(facts, policy, labels, chain, evaluate_chain(chain.compiled, facts, templates))


def combine(
    facts: NodeFacts, policy: LabelPolicy, labels: DefaultLabels, chain: RuleChain, result: ChainResult
) -> WantedLabels:
    """Default labels and the results of the chain as the node gets them: rules win over default labels, later over earlier.

    Refused is what wins and is not legal; the key is then given to nobody, as in NFD.
    """
    outputs = policy.settings.outputs
    combination = _Combination(DynamicValues(facts, chain, result), policy.acceptance, outputs)
    combination.add_defaults(labels)
    combination.add_rules(chain, result, policy.defaults.positions)
    wanted = combination.settle(RejectedKind.LABEL)
    annotations = combination.settle(RejectedKind.ANNOTATION)
    resources = combination.settle(RejectedKind.EXTENDED_RESOURCE)
    taints = combination.settle_taints()
    read = {name for label in wanted.values() for name in label.sets}
    return WantedLabels(
        labels=wanted,
        givers=policy.defaults.givers | labels.givers | chain.givers,
        inputs={name: _input(facts, name) for name in sorted(read)},
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
    """Collects what everybody gives one node, then settles who wins; what is switched off is not collected at all."""

    def __init__(self, values: DynamicValues, acceptance: Acceptance, outputs: OutputSettings) -> None:
        self.values = values
        self.acceptance = acceptance
        self.outputs = outputs
        self.offers: dict[RejectedKind, dict[str, list[_Offer]]] = {kind: {} for kind in RejectedKind}
        self.taints: list[tuple[ChainedRule, Taint]] = []
        self.unresolved: list[Unresolved] = []
        self.rejected: list[Rejected] = []

    def add_defaults(self, labels: DefaultLabels) -> None:
        self.unresolved += map(self._without_what_is_off, labels.unresolved)
        if not self.outputs.labels:
            return
        self.rejected += labels.rejected
        for label in sorted(labels.labels, key=lambda label: label.position):
            offer = _Offer(Given(label.giver, label.value), label.sets, label.position)
            self.offers[RejectedKind.LABEL].setdefault(label.key, []).append(offer)

    def add_rules(self, chain: RuleChain, result: ChainResult, first: int) -> None:
        in_place = sorted(zip(chain.rules, result.results, strict=True), key=lambda pair: pair[0].place)
        for link, outcome in in_place:
            position = first + link.place
            if outcome.outcome in (Outcome.UNKNOWN, Outcome.ERROR):
                # A document whose name nobody knows may belong after all others.
                place = position if link.giver.name else first + len(chain.rules)
                doubt = Unresolved(link.giver, outcome.outcome, outcome.reason, link.claims, place)
                self.unresolved.append(self._without_what_is_off(doubt))
                continue
            if self.outputs.labels:
                self.add(RejectedKind.LABEL, outcome.labels, link, position)
            if self.outputs.annotations:
                self.add(RejectedKind.ANNOTATION, outcome.annotations, link, position)
            if self.outputs.extended_resources:
                self.add(RejectedKind.EXTENDED_RESOURCE, outcome.extended_resources, link, position)
            if self.outputs.taints:
                self.taints += [(link, taint) for taint in outcome.taints]

    def add(self, kind: RejectedKind, names: Mapping[str, str], link: ChainedRule, position: int) -> None:
        full = link.full_names(names)
        offers = self.offers[kind]
        for key, value in full.items():
            offers.setdefault(key, []).append(_Offer(Given(link.giver, value), link.sets, position))
        for name in names.keys() - full.keys():
            if names[name] != full[DEFAULT_PREFIX + name]:
                text = f"the same rule gives {DEFAULT_PREFIX}{name}, which is the same {kind} and wins"
                objection = Objection(Fault.SPELLED_TWICE, text)
                self.rejected.append(refuse(kind, Given(link.giver, names[name]), name, objection))

    def settle(self, kind: RejectedKind) -> dict[str, WantedLabel]:
        """Who wins: the last one, unless it is refused; the key is then given to nobody."""
        wanted = {}
        for key, value, offers in self._winners(kind):
            last = offers[-1]
            given = tuple(offer.given for offer in offers)
            wanted[key] = WantedLabel(key, value, given, last.sets, last.position)
        return wanted

    def settle_taints(self) -> tuple[WantedTaint, ...]:
        """A node has one taint of a key and effect; as elsewhere, the last one wins."""
        kept: dict[tuple[str, str], WantedTaint] = {}
        for link, taint in self.taints:
            problem = find_taint_problem(taint)
            if problem is None:
                kept[taint.key, taint.effect] = WantedTaint(taint, link.giver, link.sets)
            else:
                self.rejected.append(refuse(RejectedKind.TAINT, Given(link.giver, taint.value), taint.key, problem))
        return tuple(kept.values())

    def _without_what_is_off(self, one: Unresolved) -> Unresolved:
        """What a setting has switched off goes, whoever may give it: that is known of it."""
        claims = one.claims
        return msgspec.structs.replace(
            one,
            claims=Claims(
                values=claims.values if self.outputs.labels else {},
                prefixes=claims.prefixes if self.outputs.labels else (),
                anything=claims.anything and self.outputs.labels,
                annotations=claims.annotations if self.outputs.annotations else frozenset(),
                extended_resources=claims.extended_resources if self.outputs.extended_resources else frozenset(),
                taints=claims.taints if self.outputs.taints else frozenset(),
            ),
        )

    def _winners(self, kind: RejectedKind) -> Iterator[tuple[str, str, list[_Offer]]]:
        for key, offers in sorted(self.offers[kind].items()):
            winner = offers[-1]
            giver, written = winner.given.giver, winner.given.value
            # Annotations are written as they are, as in NFD.
            found = Resolved(written) if kind is RejectedKind.ANNOTATION else self.values.resolve(written)
            if not found.is_known:
                self._doubt(kind, key, winner, found.reason)
            elif found.value is None:
                objection = Objection(Fault.DYNAMIC, found.reason)
                self.rejected.append(refuse(kind, Given(giver, written), key, objection))
            elif problem := self.acceptance.find_problem(kind, key, found.value):
                self.rejected.append(refuse(kind, Given(giver, found.value), key, problem))
            else:
                yield key, found.value, offers

    def _doubt(self, kind: RejectedKind, key: str, winner: _Offer, reason: str) -> None:
        is_label = kind is RejectedKind.LABEL
        claims = Claims({key: None}) if is_label else Claims(extended_resources=frozenset({key}))
        self.unresolved.append(
            Unresolved(winner.given.giver, Outcome.UNKNOWN, f"{kind} {key}: {reason}", claims, winner.position)
        )
