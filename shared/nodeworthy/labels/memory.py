"""What is known of the labels on a node, what is remembered about them, and what has to be done."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from nodeworthy.labels.origins import Given, Giver, RejectedKind
from nodeworthy.rules import Outcome


class LabelState(StrEnum):
    """How a label fares."""

    APPLIED = "applied"
    """On the node with the wanted value, and ours."""
    HELD = "held"
    """On the node with the wanted value, by somebody else."""
    CONFLICT = "conflict"
    """On the node with another value, by somebody else; foreign values are not touched."""
    REJECTED = "rejected"
    """Wanted, and no node may have it."""
    KEPT = "kept"
    """On the node, ours, and nothing shows that it should go or change."""
    UNKNOWN = "unknown"
    """Not on the node, and its value hangs on what is not known."""


class LabelEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is remembered of one label."""

    state: LabelState
    value: str
    """On the node, for APPLIED, HELD and KEPT; wanted, for the others."""
    given: tuple[Given, ...] = ()
    """Everybody who gives it, the winner last; of a kept one, who gave it last. Empty: nobody knows."""
    sets: tuple[str, ...] = ()
    """The sets that the winner read; :attr:`LabelMemory.inputs` has their digests."""
    reason: str = ""
    """Why it is not applied."""
    live: str = ""
    """For CONFLICT: the foreign value."""
    owners: tuple[str, ...] = ()
    """For HELD and CONFLICT: whose it is, as far as the target tells."""


class UnresolvedNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """A giver that could not be asked, as it is remembered."""

    giver: Giver
    outcome: Outcome
    reason: str = ""


class LabelMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is remembered of one node: the content of bucket ``labels``.

    It tells which rule gave which label, so that a label goes when this rule stops giving it. It is no more than a memory:
    where it is lost, labels are kept until they are explained again. It holds no times, so that equal inputs give equal
    memories and nothing is written.
    """

    labels: Mapping[str, LabelEntry] = {}
    inputs: Mapping[str, str] = {}
    """Set to digest, or to ``absent`` or ``unknown``."""
    unresolved: tuple[UnresolvedNote, ...] = ()
    left_out: int = 0
    """How many refused labels and unresolved givers are not listed, because there are too many."""
    others: Mapping[RejectedKind, Mapping[str, LabelEntry]] = {}
    """The same of annotations, extended resources and taints, where there are any; a taint's key is ``key:effect``."""


class NodeLabels(msgspec.Struct, frozen=True):
    """The labels on a node as its target sees them."""

    live: Mapping[str, str]
    owned: frozenset[str] = frozenset()
    """Keys that are ours; a key that is not live is nobody's."""
    owners: Mapping[str, tuple[str, ...]] = {}
    """Who else owns a key, where the target can tell."""
    refusals: Mapping[tuple[str, str], str] = {}
    """Key and value that the target has refused, and why: they are not tried again."""
    others: Mapping[RejectedKind, "NodeLabels"] = {}
    """The same of annotations, extended resources and taints; a kind that is missing has nothing on the node."""


class Changes(msgspec.Struct, frozen=True):
    """What has to be done about one kind of what a node has."""

    apply: Mapping[str, str]
    """Everything that is to be ours afterwards, whether it changes or not: a server-side apply deletes what it omits."""
    set: Mapping[str, str]
    """Of these, what is new or changes."""
    remove: Mapping[str, str]
    """What goes: key to the evidence."""
    is_needed: bool
    """Whether ``apply`` differs from what we own; if not, nothing is sent."""


NO_CHANGES = Changes({}, {}, {}, is_needed=False)


class Plan(Changes, frozen=True, kw_only=True):
    """What has to be done on one node; what it is itself are the labels.

    ``memory`` is written after the rest was done, never before: a label whose removal failed and that is remembered no more
    would stay for ever.
    """

    memory: LabelMemory
    is_memory_new: bool
    """Whether ``memory`` differs from the one before; if not, it is not written."""
    others: Mapping[RejectedKind, Changes] = {}
    """Annotations, extended resources and taints; a kind that is missing needs nothing."""

    def in_state(self, state: LabelState) -> dict[str, LabelEntry]:
        """The labels that are in this state once the plan is carried out."""
        return {key: entry for key, entry in self.memory.labels.items() if entry.state is state}


def labels_of_memory(memory: LabelMemory | None) -> NodeLabels:
    """The labels of a node without a cluster: the memory is all there is, and everything on the node is ours."""
    if memory is None:
        return NodeLabels({})
    others = {kind: _of_entries(entries) for kind, entries in memory.others.items()}
    return msgspec.structs.replace(_of_entries(memory.labels), others=others)


def _of_entries(entries: Mapping[str, LabelEntry]) -> NodeLabels:
    live = {key: entry.value for key, entry in entries.items() if entry.state in _OURS}
    return NodeLabels(live, frozenset(live))


_OURS = (LabelState.APPLIED, LabelState.KEPT)
