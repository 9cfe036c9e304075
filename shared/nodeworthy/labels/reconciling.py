"""From what a node should have and what it has to what must be done; nothing goes unexplained.

A label of ours goes only on evidence: everybody who gave it is gone, or was asked on known facts and does not give it.
Whoever may give it and could not be asked keeps it, and so does a lost memory of who gave it. A label changes its value only
where nobody who could not be asked would win over the new value. Foreign labels are never touched.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from nodeworthy.labels.memory import (
    Changes,
    LabelEntry,
    LabelMemory,
    LabelState,
    NodeLabels,
    Plan,
    UnresolvedNote,
)
from nodeworthy.labels.origins import MAX_SHOWN, Claims, Given, Giver, Rejected, RejectedKind, Unresolved
from nodeworthy.labels.wanted import WantedLabel, WantedLabels, WantedTaint
from nodeworthy.rules.labels import Fault

MAX_NOTES = 200
"""How many labels that are not ours, and how many unresolved givers, a memory lists: it must fit into a message (1 MiB)."""

_MAX_GIVEN = 8
"""How many givers of one label are remembered, the last ones."""

_MAX_REASON = 300
"""How much of a reason is remembered: some hold texts of a machine."""


def reconcile(wanted: WantedLabels, labels: NodeLabels, previous: LabelMemory | None, *, max_labels: int = 500) -> Plan:
    """The plan that brings a node to what it should have.

    ``previous`` is what was remembered after the last plan; ``max_labels`` is how many labels may be ours (more are refused,
    the last ones in the order of names; what is on the node already stays), and how many of each other kind.
    """
    decided = {}
    for kind in RejectedKind:
        reconciliation = _Reconciliation(kind, wanted, labels, previous)
        reconciliation.decide(max_labels)
        decided[kind] = reconciliation
    memory = _memory(wanted, previous, decided)
    changes = decided.pop(RejectedKind.LABEL).changes()
    others = {kind: one.changes() for kind, one in decided.items() if one.entries or one.removed}
    return Plan(
        changes.apply,
        changes.set,
        changes.remove,
        changes.is_needed,
        memory=memory,
        is_memory_new=memory != previous,
        others=others,
    )


def wanted_of(kind: RejectedKind, wanted: WantedLabels) -> Mapping[str, WantedLabel]:
    """What a node should have of one kind, by key; of what others own only these keys count."""
    match kind:
        case RejectedKind.LABEL:
            return wanted.labels
        case RejectedKind.ANNOTATION:
            return wanted.annotations
        case RejectedKind.EXTENDED_RESOURCE:
            return wanted.extended_resources
        case RejectedKind.TAINT:
            return {taint_key(one.taint.key, one.taint.effect): _taint_label(one) for one in wanted.taints}


def taint_key(key: str, effect: str) -> str:
    """What tells taints of a node apart (Kubernetes: a node has one taint of a key and effect)."""
    return f"{key}:{effect}"


def _taint_label(one: WantedTaint) -> WantedLabel:
    taint = one.taint
    given = (Given(one.giver, taint.value),)
    return WantedLabel(taint_key(taint.key, taint.effect), taint.value, given, one.sets)


def _unresolved_of(kind: RejectedKind, wanted: WantedLabels) -> tuple[Unresolved, ...]:
    """Who could not be asked, with what each may give of this kind."""
    if kind is RejectedKind.LABEL:
        return wanted.unresolved
    return tuple(msgspec.structs.replace(one, claims=_claims_of(kind, one.claims)) for one in wanted.unresolved)


def _claims_of(kind: RejectedKind, claims: Claims) -> Claims:
    match kind:
        case RejectedKind.ANNOTATION:
            return Claims(dict.fromkeys(claims.annotations), anything=claims.anything)
        case RejectedKind.EXTENDED_RESOURCE:
            return Claims(dict.fromkeys(claims.extended_resources), anything=claims.anything)
        case _:
            # With whichever effect.
            return Claims(prefixes=tuple(taint_key(key, "") for key in claims.taints), anything=claims.anything)


def _memory(
    wanted: WantedLabels, previous: LabelMemory | None, decided: Mapping[RejectedKind, "_Reconciliation"]
) -> LabelMemory:
    inputs = previous.inputs if previous is not None else {}
    kept = sorted({name for one in decided.values() for name in one.kept_sets()})
    notes = [UnresolvedNote(one.giver, one.outcome, one.reason[:_MAX_REASON]) for one in wanted.unresolved]
    remembered = {kind: one.remember() for kind, one in decided.items()}
    labels = remembered.pop(RejectedKind.LABEL)
    left_out = labels.left_out + sum(one.left_out for one in remembered.values())
    return LabelMemory(
        labels=labels.entries,
        inputs={name: inputs[name] for name in kept if name in inputs} | dict(wanted.inputs),
        unresolved=tuple(notes[:MAX_NOTES]),
        left_out=left_out + max(0, len(notes) - MAX_NOTES),
        others={kind: one.entries for kind, one in remembered.items() if one.entries},
    )


class _Remembered(NamedTuple):
    """What is remembered of one kind."""

    entries: Mapping[str, LabelEntry]
    left_out: int


class _Reconciliation:
    """The decisions for one kind of what a node has, key by key."""

    def __init__(
        self, kind: RejectedKind, wanted: WantedLabels, labels: NodeLabels, previous: LabelMemory | None
    ) -> None:
        is_label = kind is RejectedKind.LABEL
        before = previous if previous is not None else LabelMemory()
        self.kind = kind
        self.labels = labels if is_label else labels.others.get(kind, _NOTHING)
        self.before = before.labels if is_label else before.others.get(kind, {})
        self.givers = wanted.givers
        self.unresolved = _unresolved_of(kind, wanted)
        self.refused = {one.key: one for one in wanted.rejected if one.kind is kind}
        self.wanted = self._without_refused(wanted_of(kind, wanted))
        self.owned = {key: self.labels.live[key] for key in self.labels.owned if key in self.labels.live}
        self.entries: dict[str, LabelEntry] = {}
        self.removed: dict[str, str] = {}

    def decide(self, most: int) -> None:
        """Decide about every key; ``most`` of them may be ours."""
        for key, label in self.wanted.items():
            self.decide_wanted(key, label)
        for key in sorted(self.owned.keys() - self.wanted.keys()):
            self.decide_unwanted(key)
        self.enforce_quota(most)

    def _without_refused(self, wanted: Mapping[str, WantedLabel]) -> Mapping[str, WantedLabel]:
        """What of it the target has not refused."""
        if not self.labels.refusals:
            return wanted
        accepted = {}
        for key, label in wanted.items():
            reason = self.labels.refusals.get((key, label.value))
            if reason is None:
                accepted[key] = label
            else:
                giver = label.given[-1].giver
                self.refused[key] = Rejected(self.kind, key, label.value, reason, giver, Fault.VALUE)
        return accepted

    def decide_wanted(self, key: str, label: WantedLabel) -> None:
        live, owners = self.labels.live.get(key), self.labels.owners.get(key, ())
        doubt = next(self._doubts(label), None)
        if live is None and doubt is not None:
            self._put(label, LabelState.UNKNOWN, reason=_not_known(doubt))
        elif live is None:
            self._put(label, LabelState.APPLIED)
        elif key not in self.owned:
            self._put_foreign(label, live, owners)
        elif live == label.value:
            self._put(label, LabelState.APPLIED)
        elif owners:
            self._put_foreign(label, live, owners)
        elif doubt is not None:
            self._keep(key, _not_known(doubt))
        else:
            self._put(label, LabelState.APPLIED)

    def decide_unwanted(self, key: str) -> None:
        reason = self._reason_to_keep(key)
        if reason is not None:
            self._keep(key, reason)
        else:
            self.removed[key] = self._evidence(key)

    def enforce_quota(self, max_labels: int) -> None:
        mine = [key for key in self.entries if self._is_ours(key)]
        new = sorted(key for key in mine if key not in self.owned)
        room = max(0, max_labels - (len(mine) - len(new)))
        for key in new[room:]:
            reason = f"this node has its {max_labels} {self.kind}s of ours already"
            entry = self.entries[key]
            self.entries[key] = LabelEntry(LabelState.REJECTED, entry.value, entry.given, entry.sets, reason)

    def changes(self) -> Changes:
        """What has to be done."""
        apply = {key: self.entries[key].value for key in sorted(self.entries) if self._is_ours(key)}
        return Changes(
            apply=apply,
            set={key: value for key, value in apply.items() if self.owned.get(key) != value},
            remove=self.removed,
            is_needed=apply != self.owned,
        )

    def remember(self) -> _Remembered:
        """What is to be remembered."""
        refused = {
            key: LabelEntry(LabelState.REJECTED, one.value, (Given(one.giver, one.value),), reason=one.reason)
            for key, one in self.refused.items()
            if key not in self.entries
        }
        ours = set(filter(self._is_ours, self.entries))
        others = sorted(key for key in {*refused, *self.entries} if key not in ours)
        entries = {key: self.entries.get(key) or refused[key] for key in sorted([*ours, *others[:MAX_NOTES]])}
        return _Remembered(entries, max(0, len(others) - MAX_NOTES))

    def kept_sets(self) -> set[str]:
        """What kept labels were made from, which nobody reads now."""
        return {name for entry in self.entries.values() if entry.state is LabelState.KEPT for name in entry.sets}

    def _doubts(self, label: WantedLabel) -> Iterator[Unresolved]:
        """Who could not be asked and may win over the label with another value.

        Who may give just anything counts only where it is known to have given this label, or where nobody knows who gave the
        value that the node has: else one broken template would stop every label. It comes last, since that hangs on what is
        remembered, and the reason must not.
        """
        key = label.key
        later = [one for one in self.unresolved if one.position > label.position]
        for one in later:
            if one.claims.names(key) and one.claims.values.get(key) != label.value:
                yield one
        for one in later:
            if not one.claims.names(key) and self._may_have_given(one, key):
                yield one

    def _may_have_given(self, one: Unresolved, key: str) -> bool:
        entry = self.before.get(key)
        if entry is None or not entry.given:
            return one.claims.anything and key in self.owned
        return self._gave_anything(one, entry)

    def _gave_anything(self, one: Unresolved, entry: LabelEntry) -> bool:
        return one.claims.anything and any(self._may_be(one, given.giver) for given in entry.given)

    def _may_be(self, one: Unresolved, giver: Giver) -> bool:
        """Whether a giver of the past is this one; who is found elsewhere is not in a document that cannot be read."""
        return one.giver == giver or (giver not in self.givers and one.giver.may_be(giver))

    def _reason_to_keep(self, key: str) -> str | None:
        named = next((one for one in self.unresolved if one.claims.names(key)), None)
        if named is not None:
            return _not_known(named)
        entry = self.before.get(key)
        if entry is None or not entry.given:
            return "nothing explains this label any more; it goes when a rule that gave it is seen to stop"
        return next((_not_known(one) for one in self.unresolved if self._gave_anything(one, entry)), None)

    def _evidence(self, key: str) -> str:
        if key in self.refused:
            return f"what {self.refused[key].giver} gives now is refused: {self.refused[key].reason}"
        givers = dict.fromkeys(given.giver for given in self.before[key].given)
        return "; ".join(self._what_became_of(giver) for giver in givers)

    def _what_became_of(self, giver: Giver) -> str:
        if giver in self.givers:
            return f"{giver} does not give it any more"
        return f"{giver} is gone"

    def _put(self, label: WantedLabel, state: LabelState, reason: str = "") -> None:
        given = self._remember(label)
        self.entries[label.key] = LabelEntry(state, label.value, given, label.sets, reason[:_MAX_REASON])

    def _put_foreign(self, label: WantedLabel, live: str, owners: tuple[str, ...]) -> None:
        given = self._remember(label)
        if live == label.value:
            entry = LabelEntry(LabelState.HELD, label.value, given, label.sets, owners=owners)
        else:
            reason = f"it has the value {live[:80]!r} by {', '.join(owners) or 'somebody else'}"
            entry = LabelEntry(LabelState.CONFLICT, label.value, given, label.sets, reason, live, owners)
        self.entries[label.key] = entry

    def _remember(self, label: WantedLabel) -> tuple[Given, ...]:
        """Who gives the label, after those who gave it, may still do so and could not be asked."""
        now = {given.giver for given in label.given}
        entry = self.before.get(label.key)
        former = [given for given in (entry.given if entry is not None else ()) if given.giver not in now]
        given = (*(one for one in former if self._may_still_give(one.giver, label.key)), *label.given)
        return tuple(Given(one.giver, one.value[:MAX_SHOWN]) for one in given[-_MAX_GIVEN:])

    def _may_still_give(self, giver: Giver, key: str) -> bool:
        return any(self._may_be(one, giver) and one.claims.may_give(key) for one in self.unresolved)

    def _keep(self, key: str, reason: str) -> None:
        entry = self.before.get(key)
        given, sets = (entry.given, entry.sets) if entry is not None else ((), ())
        self.entries[key] = LabelEntry(LabelState.KEPT, self.owned[key], given, sets, reason[:_MAX_REASON])

    def _is_ours(self, key: str) -> bool:
        return self.entries[key].state in (LabelState.APPLIED, LabelState.KEPT)


_NOTHING = NodeLabels({})


def _not_known(one: Unresolved) -> str:
    return f"it is not known what {one.giver} gives: {one.reason}"
