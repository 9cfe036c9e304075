"""Whether what nodes are labelled is still true: their detectors look afresh, and everything is compared."""

import asyncio
import contextlib
import secrets
from collections.abc import Iterator, Sequence

import msgspec

from nodeworthy.bus import payloads
from nodeworthy.bus.composing import entry_digest
from nodeworthy.bus.keys import DETECTOR, snapshot_key
from nodeworthy.bus.names import Bucket, Topic
from nodeworthy.bus.nodes import PublishedSnapshot
from nodeworthy.bus.placement import Placement, placement_of
from nodeworthy.bus.records import RescanRequest, SetEntry
from nodeworthy.bus.store import Store
from nodeworthy.errors import BusDeniedError
from nodeworthy.features import SetState
from nodeworthy.labels import LabelState, RejectedKind
from nodeworthy_cli.labels.comparing import NodePlan, changes_in, conflicts_in, entries_of, make_plans
from nodeworthy_cli.labels.facts_reading import Facts
from nodeworthy_cli.labels.inputs import Known

FACTS = "facts"
"""What a difference is about that is no label."""

_SHOWN_DIGEST = 19
"""Letters of a digest that are shown: ``sha256:`` and twelve."""


class Difference(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that is not as fresh facts have it."""

    node: str
    what: str
    """``facts``, or the kind of what a node has: ``label``, ``annotation``, ``extended resource``, ``taint``."""
    key: str
    """The name of the set, or the key."""
    there: str | None
    """On the bus, or on the node; ``None``: nothing."""
    fresh: str | None
    """By fresh facts; ``None``: nothing."""
    why: str = ""


class Unknown(msgspec.Struct, frozen=True):
    """A node, or something on it, of which nobody can say."""

    node: str
    reason: str


class Verification(msgspec.Struct, frozen=True):
    """What came of it."""

    nodes: tuple[str, ...]
    """All that were looked at."""
    differences: tuple[Difference, ...]
    unknown: tuple[Unknown, ...]


async def verify(store: Store, known: Known, nodes: Sequence[str], seconds: float) -> Verification:
    """Ask the detectors of these nodes for a fresh scan, wait at most so many seconds for all, and compare.

    What is on the nodes and on the bus is as it was before the scan.

    Raises:
        BusDeniedError: this user may not ask for a scan.
        BusError: the bus could not be read.
    """
    assert known.reading is not None
    before = dict(known.facts.detectors)
    ids = await _ask(store, nodes)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await known.reading.wait_for(_answers(known.facts, set(ids.values())))
    fresh = [node for node in nodes if ids[node] in known.facts.answered]
    unknown = [Unknown(node, _silence(known, node, seconds)) for node in nodes if node not in fresh]
    differences: list[Difference] = []
    for node in fresh:
        differences += _compare_facts(node, before.get(node), known.facts.detectors[node])
    for made in make_plans(known, fresh):
        differences += _compare_node(made)
        if known.has_rules:
            unknown += _kept(made)
    unknown += [Unknown(node, known.unreadable[node]) for node in fresh if node in known.unreadable]
    return Verification(tuple(nodes), tuple(differences), tuple(unknown))


async def _ask(store: Store, nodes: Sequence[str]) -> dict[str, str]:
    """Ask for scans; node to the id of its request. Raises what :func:`verify` raises."""
    connection = store.connection
    ids = {node: secrets.token_hex(8) for node in nodes}
    subjects = {node: store.names.node_subject(Topic.RESCAN, node) for node in nodes}
    refused = {subject: connection.denials.expect(subject) for subject in subjects.values()}
    try:
        for node, subject in subjects.items():
            await connection.publish(subject, payloads.encode(RescanRequest(id=ids[node])))
            # A refused publish is told to nobody; the server answers this after it has refused that.
            await store.get(Bucket.NODES, snapshot_key(node, DETECTOR))
            if refused[subject].done():
                raise BusDeniedError(
                    f"this user may not publish to {subject}",
                    why="a fresh scan costs the node work, so not everybody may ask for one",
                    todo="give --user and --password of an operator of the bus",
                )
    finally:
        for subject, future in refused.items():
            connection.denials.forget(subject, future)
    return ids


async def _answers(facts: Facts, ids: set[str]) -> None:
    """Wait until every request is answered."""
    while not ids <= facts.answered:
        facts.changed.clear()
        await facts.changed.wait()


def _silence(known: Known, node: str, seconds: float) -> str:
    if node not in known.facts.detectors:
        return "no detector speaks of it"
    return f"its detector did not look afresh within {seconds:g} s"


def _compare_facts(node: str, before: PublishedSnapshot | None, after: PublishedSnapshot) -> Iterator[Difference]:
    """Sets whose stored content is not what was found now; those that change all the time are left out."""
    stored = before.message.sets if before is not None else {}
    for name in sorted({*stored, *after.message.sets}):
        there, fresh = stored.get(name), after.message.sets.get(name)
        is_known = fresh is None or fresh.state is not SetState.UNKNOWN
        if placement_of(name) is not Placement.VOLATILE and is_known and _content(there) != _content(fresh):
            yield Difference(node, FACTS, name, _show(there), _show(fresh), "a scan found something else")


def _content(entry: SetEntry | None) -> tuple[SetState | None, str]:
    return (None, "") if entry is None else (entry.state, entry_digest(entry))


def _show(entry: SetEntry | None) -> str | None:
    if entry is None:
        return None
    return entry_digest(entry)[:_SHOWN_DIGEST] if entry.state is SetState.PRESENT else entry.state.value


def _kept(made: NodePlan) -> Iterator[Unknown]:
    """What is on a node and cannot be judged, since what it was made from is not known."""
    for kind in RejectedKind:
        for key, entry in sorted(entries_of(made.plan.memory, kind).items()):
            if entry.state is LabelState.KEPT:
                yield Unknown(made.node, f"{kind} {key}: {entry.reason}")


def _compare_node(made: NodePlan) -> Iterator[Difference]:
    """What is on a node and would not be by fresh facts, or has another value; whoever has set it."""
    for change in changes_in(made):
        yield Difference(made.node, change.kind.value, change.label, change.before, change.after, change.why)
    for conflict in conflicts_in(made.node, made.plan.memory):
        why = f"set by {', '.join(conflict.owners) or 'somebody else'}; {conflict.giver} gives another value"
        yield Difference(made.node, conflict.kind.value, conflict.label, conflict.live, conflict.wanted, why)
