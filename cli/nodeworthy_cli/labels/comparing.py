"""What a labeler would do to nodes, computed here and written nowhere."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from nodeworthy.labels import LabelEntry, LabelMemory, LabelState, Plan, RejectedKind, TargetState
from nodeworthy_cli.labels.inputs import Known
from nodeworthy_labeler.cluster.applications import changes_of
from nodeworthy_labeler.planning import Plans
from nodeworthy_labeler.settings import Pace
from nodeworthy_labeler.wanting import want


class NodePlan(NamedTuple):
    """What would be done to one node."""

    node: str
    state: TargetState
    plan: Plan


class LabelChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """One label, or another output of rules, of one node that would change."""

    node: str
    label: str
    """Its key; of a taint ``key:effect``."""
    before: str | None = None
    """``None``: it is not there."""
    after: str | None = None
    """``None``: it would go."""
    why: str = ""
    """Who would give it, or the evidence that it goes."""
    kind: RejectedKind = RejectedKind.LABEL


class Conflict(msgspec.Struct, frozen=True, omit_defaults=True):
    """A key that rules give and that somebody else has set to another value; it is left alone."""

    node: str
    label: str
    """Its key; of a taint ``key:effect``."""
    wanted: str
    giver: str
    live: str
    owners: tuple[str, ...] = ()
    """Whose the value is, as far as anybody knows."""
    kind: RejectedKind = RejectedKind.LABEL


def make_plans(known: Known, nodes: Sequence[str]) -> Iterator[NodePlan]:
    """What would be done to each of these nodes of which something is known and whose record can be read."""
    readable = [node for node in nodes if node in known.fleet and node not in known.unreadable]
    for first in range(0, len(readable), Pace.batch):
        batch = readable[first : first + Pace.batch]
        plans = Plans(known.rules.policy.settings.max_labels)
        wanted = want(known.fleet, known.rules, batch)
        for node in batch:
            state = known.state(node)
            yield NodePlan(node, state, plans.make(wanted[node], state))


def changes_in(made: NodePlan) -> Iterator[LabelChange]:
    """Everything that would change on one node."""
    for kind in RejectedKind:
        changes = changes_of(made.plan, kind)
        live = live_of(made.state, kind)
        entries = entries_of(made.plan.memory, kind)
        for key in sorted({*changes.set, *changes.remove}):
            if key in changes.remove:
                yield LabelChange(made.node, key, live.get(key), None, changes.remove[key], kind)
            else:
                given = entries[key].given
                why = str(given[-1].giver) if given else entries[key].reason
                yield LabelChange(made.node, key, live.get(key), changes.set[key], why, kind)


def conflicts_in(node: str, memory: LabelMemory) -> Iterator[Conflict]:
    """What of one node others have set to another value than rules give."""
    for kind in RejectedKind:
        for key, entry in sorted(entries_of(memory, kind).items()):
            if entry.state is LabelState.CONFLICT:
                giver = str(entry.given[-1].giver) if entry.given else ""
                yield Conflict(node, key, entry.value, giver, entry.live, entry.owners, kind)


def entries_of(memory: LabelMemory, kind: RejectedKind) -> Mapping[str, LabelEntry]:
    """What is remembered of one kind."""
    return memory.labels if kind is RejectedKind.LABEL else memory.others.get(kind, {})


def live_of(state: TargetState, kind: RejectedKind) -> Mapping[str, str]:
    """What of one kind is on a node."""
    if kind is RejectedKind.LABEL:
        return state.labels.live
    return state.labels.others[kind].live if kind in state.labels.others else {}
