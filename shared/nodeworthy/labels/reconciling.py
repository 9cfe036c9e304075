"""From what a node should have and what it has to what must be done; nothing goes unexplained.

A label of ours goes only on evidence: everybody who gave it is gone, or was asked on known facts and does not give it.
Whoever may give it and could not be asked keeps it, and so does a lost memory of who gave it. A label changes its value only
where nobody who could not be asked would win over the new value. Foreign labels are never touched.
"""

from collections.abc import Iterator, Mapping

from nodeworthy.labels.memory import LabelEntry, LabelMemory, LabelState, NodeLabels, Plan, UnresolvedNote
from nodeworthy.labels.origins import MAX_SHOWN, Given, Giver, RejectedKind, Unresolved
from nodeworthy.labels.wanted import WantedLabel, WantedLabels

MAX_NOTES = 200
"""How many labels that are not ours, and how many unresolved givers, a memory lists: it must fit into a message (1 MiB)."""

_MAX_GIVEN = 8
"""How many givers of one label are remembered, the last ones."""

_MAX_REASON = 300
"""How much of a reason is remembered: some hold texts of a machine."""


def reconcile(wanted: WantedLabels, labels: NodeLabels, previous: LabelMemory | None, *, max_labels: int = 500) -> Plan:
    """The plan that brings a node to what it should have.

    ``previous`` is what was remembered after the last plan; ``max_labels`` is how many labels may be ours (more are refused,
    the last ones in the order of names; what is on the node already stays).
    """
    reconciliation = _Reconciliation(wanted, labels, previous)
    for key, label in wanted.labels.items():
        reconciliation.decide_wanted(key, label)
    for key in sorted(reconciliation.owned.keys() - wanted.labels.keys()):
        reconciliation.decide_unwanted(key)
    reconciliation.enforce_quota(max_labels)
    return reconciliation.plan()


class _Reconciliation:
    """The decisions for one node, key by key."""

    def __init__(self, wanted: WantedLabels, labels: NodeLabels, previous: LabelMemory | None) -> None:
        self.wanted = wanted
        self.labels = labels
        self.previous = previous
        self.refused = {one.key: one for one in wanted.rejected if one.kind is RejectedKind.LABEL}
        self.before: Mapping[str, LabelEntry] = previous.labels if previous is not None else {}
        self.owned = {key: labels.live[key] for key in labels.owned if key in labels.live}
        self.entries: dict[str, LabelEntry] = {}
        self.removed: dict[str, str] = {}

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
            reason = f"this node has its {max_labels} labels of ours already"
            entry = self.entries[key]
            self.entries[key] = LabelEntry(LabelState.REJECTED, entry.value, entry.given, entry.sets, reason)

    def plan(self) -> Plan:
        apply = {key: self.entries[key].value for key in sorted(self.entries) if self._is_ours(key)}
        memory = self._memory()
        return Plan(
            apply=apply,
            set={key: value for key, value in apply.items() if self.owned.get(key) != value},
            remove=self.removed,
            is_needed=apply != self.owned,
            memory=memory,
            is_memory_new=memory != self.previous,
        )

    def _doubts(self, label: WantedLabel) -> Iterator[Unresolved]:
        """Who could not be asked and may win over the label with another value.

        Who may give just anything counts only where it is known to have given this label, or where nobody knows who gave the
        value that the node has: else one broken template would stop every label. It comes last, since that hangs on what is
        remembered, and the reason must not.
        """
        key = label.key
        later = [one for one in self.wanted.unresolved if one.position > label.position]
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
        return one.giver == giver or (giver not in self.wanted.givers and one.giver.may_be(giver))

    def _reason_to_keep(self, key: str) -> str | None:
        named = next((one for one in self.wanted.unresolved if one.claims.names(key)), None)
        if named is not None:
            return _not_known(named)
        entry = self.before.get(key)
        if entry is None or not entry.given:
            return "nothing explains this label any more; it goes when a rule that gave it is seen to stop"
        return next((_not_known(one) for one in self.wanted.unresolved if self._gave_anything(one, entry)), None)

    def _evidence(self, key: str) -> str:
        if key in self.refused:
            return f"what {self.refused[key].giver} gives now is refused: {self.refused[key].reason}"
        givers = dict.fromkeys(given.giver for given in self.before[key].given)
        return "; ".join(self._what_became_of(giver) for giver in givers)

    def _what_became_of(self, giver: Giver) -> str:
        if giver in self.wanted.givers:
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
        return any(self._may_be(one, giver) and one.claims.may_give(key) for one in self.wanted.unresolved)

    def _keep(self, key: str, reason: str) -> None:
        entry = self.before.get(key)
        given, sets = (entry.given, entry.sets) if entry is not None else ((), ())
        self.entries[key] = LabelEntry(LabelState.KEPT, self.owned[key], given, sets, reason[:_MAX_REASON])

    def _is_ours(self, key: str) -> bool:
        return self.entries[key].state in (LabelState.APPLIED, LabelState.KEPT)

    def _memory(self) -> LabelMemory:
        refused = {
            key: LabelEntry(LabelState.REJECTED, one.value, (Given(one.giver, one.value),), reason=one.reason)
            for key, one in self.refused.items()
            if key not in self.entries
        }
        ours = set(filter(self._is_ours, self.entries))
        others = sorted(key for key in {*refused, *self.entries} if key not in ours)
        notes = [UnresolvedNote(one.giver, one.outcome, one.reason[:_MAX_REASON]) for one in self.wanted.unresolved]
        return LabelMemory(
            labels={key: self.entries.get(key) or refused[key] for key in sorted([*ours, *others[:MAX_NOTES]])},
            inputs=self._kept_inputs() | dict(self.wanted.inputs),
            unresolved=tuple(notes[:MAX_NOTES]),
            left_out=max(0, len(others) - MAX_NOTES) + max(0, len(notes) - MAX_NOTES),
        )

    def _kept_inputs(self) -> dict[str, str]:
        """Digests of what kept labels were made from, which nobody reads now."""
        inputs = self.previous.inputs if self.previous is not None else {}
        kept = {name for entry in self.entries.values() if entry.state is LabelState.KEPT for name in entry.sets}
        return {name: inputs[name] for name in sorted(kept) if name in inputs}


def _not_known(one: Unresolved) -> str:
    return f"it is not known what {one.giver} gives: {one.reason}"
