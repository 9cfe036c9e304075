import asyncio
import contextlib
import itertools
import json
import re
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from nodeworthy.bus.names import NodeSubject, Topic
from nodeworthy.bus.records import EventMessage, Session
from nodeworthy.errors import BusUnreachableError
from nodeworthy.features import FeatureSet, SetChange, SetState, Snapshot, diff_sets
from nodeworthy_cli.watch import write_json, write_line

if TYPE_CHECKING:
    from tests.cli.conftest import FactsBus, ReadUntil, StartVerb, Verb

    from nodeworthy.bus.snapshots import SnapshotPublisher

SUBJECT = NodeSubject(Topic.EVENTS, "node-1", "local.feature")
PRESENT = SetState.PRESENT


def facts(**values: str) -> Snapshot:
    return Snapshot({"local.feature": FeatureSet(attributes=values), "cpu.cpuid": FeatureSet(flags=frozenset(values))})


def event(**facts: object) -> EventMessage:
    known = {"node": "liar", "producer": "detector", "set": "lie", "session": Session("boot-1", 1), "sequence": 2}
    return EventMessage(**(known | {"old_state": PRESENT, "new_state": PRESENT} | facts))  # type: ignore[arg-type] # of a test


async def lines(process: "subprocess.Popen[str]", count: int) -> list[str]:
    """So many lines of standard output."""
    assert process.stdout
    async with asyncio.timeout(60):
        return [(await asyncio.to_thread(process.stdout.readline)).rstrip("\n") for _ in range(count)]


async def test_changes_are_printed_as_they_come(
    facts_bus: "FactsBus", start_verb: "StartVerb", read_until: "ReadUntil"
) -> None:
    publisher = facts_bus.publisher("node-1")
    await publisher.publish(facts(old="1"))
    process = start_verb("watch", "--count", "4", *facts_bus.options)
    read_until(process, "watching cluster local")
    await publisher.publish(facts(a="1"))
    first = await lines(process, 2)
    assert first[0].endswith("node-1 cpu.cpuid: +a, -old")
    assert first[1].endswith("node-1 local.feature: +a=1, -old=1")
    await publisher.publish(facts(a="2"))
    assert (await lines(process, 1))[0].endswith("node-1 local.feature: a=1 -> 2")
    await publisher.publish(Snapshot({"cpu.cpuid": FeatureSet(flags=frozenset("a"))}))
    assert (await lines(process, 1))[0].endswith("node-1 local.feature: present -> not listed")
    assert process.wait(30) == 0


async def test_nodes_and_a_set_can_be_chosen_and_json_is_one_line_each(
    facts_bus: "FactsBus", start_verb: "StartVerb", read_until: "ReadUntil"
) -> None:
    publishers = {node: facts_bus.publisher(node) for node in ("a", "b.c", "d")}
    for publisher in publishers.values():
        await publisher.publish(facts(n="1"))
    options = ("a", "b.c", "--set", "local.feature", "-o", "json", "--count", "2", *facts_bus.options)
    process = start_verb("watch", *options)
    read_until(process, "watching")
    for node in ("d", "b.c", "a"):
        await publishers[node].publish(facts(n="2"))
    found = [json.loads(line) for line in await lines(process, 2)]
    assert [(line["node"], line["set"]) for line in found] == [("b.c", "local.feature"), ("a", "local.feature")]
    assert found[0]["change"]["attributes_changed"] == {"n": ["1", "2"]}
    assert found[0]["time"].endswith("Z")
    assert process.wait(30) == 0


async def test_a_restarted_detector_is_told_by_digests(
    facts_bus: "FactsBus", start_verb: "StartVerb", read_until: "ReadUntil"
) -> None:
    await facts_bus.publisher("node-1").publish(facts(n="1"))
    process = start_verb("watch", "--count", "1", *facts_bus.options)
    read_until(process, "watching")
    await facts_bus.publisher("node-1", start=2).publish(facts(n="2"))
    (line,) = await lines(process, 1)
    assert "node-1 local.feature: changed while nobody looked, " in line


async def test_an_event_that_cannot_be_read_is_said_and_the_next_one_is_printed(
    facts_bus: "FactsBus", start_verb: "StartVerb", read_until: "ReadUntil"
) -> None:
    publisher = facts_bus.publisher("node-1")
    await publisher.publish(facts(n="1"))
    process = start_verb("watch", "--count", "1", *facts_bus.options)
    read_until(process, "watching")
    subject = facts_bus.store.names.node_subject(Topic.EVENTS, "node-1", "local.feature")
    for _ in range(20):
        await facts_bus.store.append(subject, b"\xc1\x1b[2J")
    assert "\x1b" not in read_until(process, "cannot be read")
    await publisher.publish(facts(n="2"))
    assert "n=1 -> 2" in (await lines(process, 1))[0]
    assert process.stderr is not None
    assert "cannot be read" not in process.stderr.read(), "it is said once"


async def test_that_events_cannot_be_read_is_said_of_a_bounded_number_of_subjects(
    facts_bus: "FactsBus", start_verb: "StartVerb", read_until: "ReadUntil"
) -> None:
    publisher = facts_bus.publisher("node-1")
    await publisher.publish(facts(n="1"))
    process = start_verb("watch", "--count", "1", *facts_bus.options)
    read_until(process, "watching")
    for number in range(60):
        await facts_bus.store.append(facts_bus.store.names.node_subject(Topic.EVENTS, f"n{number}", "x"), b"\xc1")
    await publisher.publish(facts(n="2"))
    await lines(process, 1)
    assert process.stderr is not None
    said = process.stderr.read().splitlines()
    assert len([line for line in said if "cannot be read" in line]) == 51
    assert "further subjects" in said[-1]


async def publish_values(publisher: "SnapshotPublisher", count: int) -> None:
    """The attribute ``n`` of one set, from 0 on."""
    for number in range(count):
        await publisher.publish(facts(n=str(number)))


def restart(bus: "FactsBus", *, is_wiped: bool) -> None:
    """Kill the server and start it, with or without what it had stored."""
    bus.server.kill()
    if is_wiped:
        bus.server.wipe()
    bus.server.start()


async def publish_anew(bus: "FactsBus", publisher: "SnapshotPublisher") -> None:
    """Make the streams and publish a change, however often it takes while the bus starts."""
    async with asyncio.timeout(60):
        for number in itertools.count(100):
            # Another value at each try: one whose answer was lost may be stored, and would be no change.
            with contextlib.suppress(BusUnreachableError):
                await bus.make_streams()
                await publisher.publish(facts(n=str(number)))
                return


@pytest.mark.parametrize("is_wiped", [False, True])
async def test_a_bus_that_restarts_loses_no_event_of_after(
    facts_bus: "FactsBus", start_verb: "StartVerb", read_until: "ReadUntil", is_wiped: bool
) -> None:
    publisher = facts_bus.publisher("node-1")
    await publish_values(publisher, 3)
    process = start_verb("watch", "--count", "1", *facts_bus.options)
    read_until(process, "watching")
    restart(facts_bus, is_wiped=is_wiped)
    await publish_anew(facts_bus, publisher)
    line = (await lines(process, 1))[0]
    assert re.search(r"n=([0-9]+) -> ([0-9]+)", line), line


async def test_streams_that_are_made_after_the_bus_is_back_are_read(
    facts_bus: "FactsBus", start_verb: "StartVerb", read_until: "ReadUntil"
) -> None:
    publisher = facts_bus.publisher("node-1")
    await publish_values(publisher, 3)
    process = start_verb("watch", "--count", "1", *facts_bus.options)
    read_until(process, "watching")
    restart(facts_bus, is_wiped=True)
    read_until(process, "events_unread")
    await publish_anew(facts_bus, publisher)
    assert re.search(r"n=([0-9]+) -> ([0-9]+)", (await lines(process, 1))[0])


async def test_a_new_stream_that_is_as_long_as_the_old_one_is_read_from_its_start(
    facts_bus: "FactsBus", start_verb: "StartVerb", read_until: "ReadUntil"
) -> None:
    publisher = facts_bus.publisher("node-1")
    await publish_values(publisher, 3)
    process = start_verb("watch", "--count", "6", *facts_bus.options)
    read_until(process, "watching")
    process.send_signal(signal.SIGSTOP)
    restart(facts_bus, is_wiped=True)
    await publish_anew(facts_bus, publisher)
    await publish_values(publisher, 5)
    process.send_signal(signal.SIGCONT)
    found = await lines(process, 6)
    assert [line.rpartition(" ")[2] for line in found[1:]] == ["0", "1", "2", "3", "4"]


async def test_a_cluster_that_this_user_may_not_read_is_an_error(facts_bus: "FactsBus", verb: "Verb") -> None:
    done = verb("watch", "--cluster", "other", *facts_bus.options, code=2)
    assert "error: this user may not subscribe to nodeworthy.other.events.*.*" in done.stderr


async def test_a_bus_without_its_streams_is_an_error(facts_bus: "FactsBus", verb: "Verb") -> None:
    restart(facts_bus, is_wiped=True)
    done = verb("watch", *facts_bus.options, code=2)
    assert "the stream is missing" in done.stderr


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (
            event(new_state=SetState.UNKNOWN, reason="etc is not there"),
            "present -> unknown (etc is not there)",
        ),
        (event(old_state=None), "not listed -> present"),
        (event(old_digest="sha256:" + "ab" * 32), "changed while nobody looked, abababababab -> nothing"),
        (event(change=SetChange()), "changed"),
        (event(change=SetChange(instances_reordered=True)), "other order"),
        (
            event(change=SetChange(unobserved_added=("A",), unobserved_removed=("B",))),
            "A not known any more, B known now",
        ),
        (
            event(change=diff_sets(FeatureSet(instances=({"b": "2", "a": "1"},)), FeatureSet(flags=frozenset("f")))),
            "+f, -(a=1 b=2), +flags, -instances",
        ),
        (
            event(change=SetChange(flags_added=tuple(f"f{number}" for number in range(10)))),
            "+f0, +f1, +f2, +f3, +f4, +f5, +f6, +f7 and 2 more",
        ),
        (event(change=SetChange(attributes_added={"a": "x\x1b[2J\n"})), "+a=x\ufffd[2J\ufffd"),
    ],
)
def test_every_change_is_a_short_line_that_moves_no_cursor(message: EventMessage, text: str) -> None:
    line = write_line(SUBJECT, message, 1_800_000_000.0)
    assert line.partition(" ")[2] == f"node-1 local.feature: {text}"


def test_json_names_the_node_of_the_subject_and_not_of_the_body() -> None:
    document = json.loads(write_json(SUBJECT, event(), 1_800_000_000.25))
    assert (document["node"], document["set"]) == ("node-1", "local.feature")
    assert document["time"] == "2027-01-15T08:00:00.250Z"
