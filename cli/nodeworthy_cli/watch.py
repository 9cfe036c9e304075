"""``nodeworthy watch``: what changes on nodes, as it comes."""

import logging
import sys
import time
from collections.abc import Collection
from datetime import UTC, datetime

import click
import msgspec

from nodeworthy import features
from nodeworthy.bus import payloads
from nodeworthy.bus.names import NodeSubject
from nodeworthy.bus.records import EventMessage
from nodeworthy.bus.store import Store, Stored
from nodeworthy.errors import PayloadError, UsageError
from nodeworthy_cli.bus_calls import run_on_bus
from nodeworthy_cli.bus_options import BusOptions, bus_options
from nodeworthy_cli.event_stream import event_subjects, follow_events
from nodeworthy_cli.output import printable

_SHOWN = 8
"""Changes of one event that a line lists; json has all."""

_UNREAD_SUBJECTS = 50
"""Subjects of which it is said that events cannot be read; that there are more is said once."""


@click.command(name="watch")
@click.argument("nodes", nargs=-1, metavar="[NODE]...")
@click.option("--set", "set_name", default="", help="Only changes of this set, such as local.feature.")
@click.option("--count", type=click.IntRange(1), help="End after so many events.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="A line for people, or the event as JSON, one a line.",
)
@bus_options
def command(nodes: tuple[str, ...], set_name: str, count: int | None, output: str, bus: BusOptions) -> None:
    """Print every change of a node's facts as it comes, of all nodes or those named, until Ctrl-C."""

    async def follow(store: Store) -> None:
        left = count
        unread: set[str] = set()
        events = follow_events(store, event_subjects(store, nodes, set_name), on_start=lambda: _announce(store))
        async for stored in events:
            if _print(store, stored, nodes, output, unread) and left is not None:
                left -= 1
            if left == 0:
                return

    run_on_bus(bus, "watch", follow, log_level=logging.WARNING)


def _announce(store: Store) -> None:
    click.echo(f"watching cluster {store.names.cluster}; Ctrl-C ends it", err=True)


def _print(store: Store, stored: Stored, nodes: Collection[str], output: str, unread: set[str]) -> bool:
    """Print one event, if it is of a node that was asked for; what cannot be read is told on standard error."""
    try:
        subject = store.names.parse_node_subject(stored.subject)
        event = payloads.decode(stored.data, EventMessage)
    except (UsageError, PayloadError) as error:
        _tell_unread(stored, str(error), unread)
        return False
    if nodes and subject.node not in nodes:
        return False
    line = write_json(subject, event, stored.time) if output == "json" else write_line(subject, event, stored.time)
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
    return True


def _tell_unread(stored: Stored, error: str, unread: set[str]) -> None:
    """Whoever writes one bad event writes many: a terminal full of them would hide those that can be read."""
    if stored.subject in unread or len(unread) > _UNREAD_SUBJECTS:
        return
    unread.add(stored.subject)
    if len(unread) > _UNREAD_SUBJECTS:
        click.echo("events on further subjects cannot be read; no more of this is told", err=True)
        return
    what = f"event {stored.revision} on {printable(stored.subject)} cannot be read"
    click.echo(f"{what}, further ones there are not told: {printable(error)}", err=True)


def write_json(subject: NodeSubject, event: EventMessage, moment: float) -> str:
    """The event as one line of JSON; node and set are those of the subject, whatever the body says."""
    document = msgspec.to_builtins(event) | {"node": subject.node, "set": subject.set}
    when = datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return msgspec.json.encode({"time": when, **document}).decode()


def write_line(subject: NodeSubject, event: EventMessage, moment: float) -> str:
    """The event as one line for people: ``14:48:13 node-1 local.feature: +a=1``."""
    clock = time.strftime("%H:%M:%S", time.localtime(moment))
    return printable(f"{clock} {subject.node} {subject.set}: {_describe(event)}")


def _describe(event: EventMessage) -> str:
    if event.old_state != event.new_state or event.new_state is not features.SetState.PRESENT:
        states = f"{event.old_state or 'not listed'} -> {event.new_state or 'not listed'}"
        return f"{states} ({event.reason})" if event.reason else states
    if event.change is None:
        return f"changed while nobody looked, {_short(event.old_digest)} -> {_short(event.new_digest)}"
    parts = _parts(event.change)
    more = f" and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else ""
    return (", ".join(parts[:_SHOWN]) + more) or "changed"


def _parts(change: features.SetChange) -> list[str]:
    return [
        *(f"+{name}" for name in change.flags_added),
        *(f"-{name}" for name in change.flags_removed),
        *(f"+{name}={value}" for name, value in change.attributes_added.items()),
        *(f"-{name}={value}" for name, value in change.attributes_removed.items()),
        *(f"{name}={old} -> {new}" for name, (old, new) in change.attributes_changed.items()),
        *(f"+({_instance(instance)})" for instance in change.instances_added),
        *(f"-({_instance(instance)})" for instance in change.instances_removed),
        *(["other order"] if change.instances_reordered else []),
        *(f"+{kind}" for kind in change.kinds_added),
        *(f"-{kind}" for kind in change.kinds_removed),
        *(f"{name} not known any more" for name in change.unobserved_added),
        *(f"{name} known now" for name in change.unobserved_removed),
    ]


def _instance(instance: features.Instance) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(instance.items()))


def _short(digest: str) -> str:
    return digest.removeprefix("sha256:")[:12] or "nothing"
