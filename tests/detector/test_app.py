"""The detector as a whole: real files, a real bus, and what happens to both."""

import asyncio
import dataclasses
import json
import logging
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from nodeworthy.bus import payloads
from nodeworthy.bus.composing import Identity
from nodeworthy.bus.keys import DETECTOR, set_key
from nodeworthy.bus.names import Bucket, Topic
from nodeworthy.bus.records import Heartbeat, RescanRequest, ResyncRequest, Session, SnapshotMessage
from nodeworthy.bus.sessions import read_session
from nodeworthy.errors import BusDeniedError, BusSupersededError, UsageError
from nodeworthy.features import FeatureSet, SetState, Snapshot, decode
from nodeworthy_detector.app import first_error
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.metrics import Metrics
from nodeworthy_detector.presence import Presence
from nodeworthy_detector.sources import SOURCES, Reading

if TYPE_CHECKING:
    from tests.detector.conftest import Bus, MakeSettings, RunDetector, StartOwnBus

NODE = "node-1"


def local(message: SnapshotMessage | None) -> dict[str, str]:
    """The attributes of the set ``local.feature``."""
    entry = message.sets.get("local.feature") if message else None
    content = decode(entry.content) if entry and entry.content is not None else None
    return dict(content.attributes or {}) if content else {}


def write(folder: Path, name: str, text: str) -> None:
    """Write a file as careful programs do: elsewhere, then renamed."""
    folder.mkdir(exist_ok=True)
    new = folder / f".{name}.new"
    new.write_text(text)
    new.rename(folder / name)


async def test_the_facts_of_this_machine_are_on_the_bus_with_every_set_that_they_name(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector"
) -> None:
    async with run_detector(make_settings(bus, node_uid="0f2c")):
        message = await bus.snapshot(NODE)
    assert message
    assert (message.node, message.producer, message.node_uid) == (NODE, "detector", "0f2c")
    sets = [name for source in SOURCES for name in source.sets]
    assert message.catalogue == tuple(sorted([*sets, "programs.label"]))
    assert set(message.sources) == {"programs", *(source.name for source in SOURCES)}
    assert message.session.boot_id == read_session().boot_id
    shared = [entry.digest for entry in message.sets.values() if entry.digest]
    assert shared
    for digest in shared:
        stored = await bus.store.get(Bucket.SETS, set_key(digest))
        assert stored
        assert decode(stored.data)


async def test_a_dropped_file_is_an_event_on_the_bus_within_a_second(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", tmp_path: Path
) -> None:
    folder = tmp_path / "features.d"
    folder.mkdir()
    async with run_detector(make_settings(bus)):
        for number in range(3):
            async with asyncio.timeout(1):
                write(folder, f"file-{number}", f"f{number}=1")
                event = await bus.next_event()
            assert event.change
            assert event.change.attributes_added == {f"f{number}": "1"}
        async with asyncio.timeout(1):
            (folder / "file-0").unlink()
            event = await bus.next_event()
        assert event.change
        assert event.change.attributes_removed == {"f0": "1"}
        assert local(await bus.snapshot(NODE)) == {"f1": "1", "f2": "1"}


async def test_a_hundred_renames_in_a_second_are_a_few_events_and_the_last_state(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", tmp_path: Path
) -> None:
    folder = tmp_path / "features.d"
    folder.mkdir()
    async with run_detector(make_settings(bus)):
        loop = asyncio.get_running_loop()
        start = loop.time()
        for number in range(100):
            await asyncio.sleep(max(0.0, start + number / 100 - loop.time()))  # the second of the case, not a wait
            write(folder, "counter", f"n={number}")
        await bus.snapshot_that(NODE, lambda message: local(message) == {"n": "99"})
    events = [event for event in await bus.events() if event.set == "local.feature"]
    assert 1 <= len(events) <= 6


async def test_a_folder_that_is_made_while_the_detector_runs_is_watched(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", tmp_path: Path
) -> None:
    settings = make_settings(bus, features_d=str(tmp_path / "made/later/features.d"))
    async with run_detector(settings):
        (tmp_path / "made/later").mkdir(parents=True)
        write(tmp_path / "made/later/features.d", "a", "a=1")
        await bus.snapshot_that(NODE, lambda message: local(message) == {"a": "1"})


async def test_a_restart_without_changes_makes_no_event(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", tmp_path: Path
) -> None:
    write(tmp_path / "features.d", "a", "a=1")
    settings = make_settings(bus)
    async with run_detector(settings):
        first = await bus.snapshot(NODE)
    async with run_detector(settings):
        second = await bus.snapshot(NODE)
    assert first
    assert second
    assert second.session.replaces(first.session)
    # A machine in use changes by itself, so only the sets that this test governs are held to it.
    assert [event for event in await bus.events() if event.set.startswith(("local.", "cpu.cpuid", "system."))] == []


async def test_a_change_between_two_runs_is_an_event_with_the_digests_only(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", tmp_path: Path
) -> None:
    write(tmp_path / "features.d", "a", "a=1")
    async with run_detector(make_settings(bus)):
        pass
    write(tmp_path / "features.d", "a", "a=2")
    async with run_detector(make_settings(bus)):
        event = await bus.next_event()
    assert event.change is None
    assert event.old_digest.startswith("sha256:")
    assert event.new_digest.startswith("sha256:")
    assert event.old_digest != event.new_digest
    assert event.old_state is event.new_state is SetState.PRESENT


async def test_a_bus_that_comes_later_gets_the_newest_facts(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", tmp_path: Path
) -> None:
    bus.server.kill()
    settings = make_settings(bus)
    async with run_detector(
        dataclasses.replace(settings, bus=dataclasses.replace(settings.bus, connect_seconds=0.2)), wait=False
    ) as task:
        write(tmp_path / "features.d", "a", "a=1")
        bus.server.start()
        message = await bus.snapshot_that(NODE, lambda message: local(message) == {"a": "1"})
        assert message.sequence >= 1
        assert not task.done()


async def test_what_changes_while_the_bus_is_away_is_published_when_it_is_back(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", tmp_path: Path
) -> None:
    async with run_detector(make_settings(bus)) as task:
        for number in range(2):
            bus.server.kill()
            write(tmp_path / "features.d", "a", f"a={number}")
            bus.server.start()
            await bus.snapshot_that(NODE, lambda message, n=number: local(message) == {"a": str(n)})  # type: ignore[misc] # bound now
        assert not task.done()


async def test_a_store_that_was_wiped_is_filled_again(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", tmp_path: Path
) -> None:
    write(tmp_path / "features.d", "a", "a=1")
    async with run_detector(make_settings(bus)):
        before = await bus.snapshot(NODE)
        assert before
        bus.server.kill()
        bus.server.wipe()
        bus.server.start()
        await bus.make_streams()
        after = await bus.snapshot_that(NODE, lambda _message: True)
        assert dict(after.sets).keys() == dict(before.sets).keys()
        for entry in after.sets.values():
            if entry.digest:
                assert await bus.store.get(Bucket.SETS, set_key(entry.digest))


async def test_a_rescan_is_answered_by_a_snapshot_that_carries_its_id(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", caplog: pytest.LogCaptureFixture
) -> None:
    subject = bus.names.node_subject(Topic.RESCAN, NODE)
    async with run_detector(make_settings(bus)):
        await bus.connection.publish(subject, b"\xc1 is never used in MessagePack")
        await bus.connection.publish(subject, b'{"id": "json", "sources": ["pci"]}')
        await bus.snapshot_that(NODE, lambda message: message.rescans == ("json",))
        await bus.connection.publish(subject, payloads.encode(RescanRequest(id="two", sources=("gpu",))))
        await bus.snapshot_that(NODE, lambda message: message.rescans == ("two",))
    assert "bus.bad_request" in caplog.messages
    assert "detector.rescan_of_strange_sources" in caplog.messages


async def test_a_resync_puts_everything_again(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector"
) -> None:
    async with run_detector(make_settings(bus)):
        before = await bus.snapshot(NODE)
        assert before
        digest = next(entry.digest for entry in before.sets.values() if entry.digest)
        stored = await bus.store.get(Bucket.SETS, set_key(digest))
        assert stored
        await bus.store.purge(Bucket.SETS, set_key(digest), up_to=stored.revision)
        assert await bus.store.get(Bucket.SETS, set_key(digest)) is None
        await bus.connection.publish(
            bus.names.node_subject(Topic.RESYNC, NODE), payloads.encode(ResyncRequest(reason="test"))
        )
        await bus.snapshot_that(NODE, lambda message: message.sequence > before.sequence)
        assert await bus.store.get(Bucket.SETS, set_key(digest))


async def test_of_two_detectors_of_one_boot_the_older_ends_with_an_error(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", tmp_path: Path
) -> None:
    async with run_detector(make_settings(bus), ends=True) as older, run_detector(make_settings(bus)) as newer:
        write(tmp_path / "features.d", "a", "a=1")
        async with asyncio.timeout(20):
            await asyncio.wait({older})
        with pytest.raises(BusSupersededError, match="a newer process publishes the facts of node-1"):
            older.result()
        assert not newer.done()
        await bus.snapshot_that(NODE, lambda message: local(message) == {"a": "1"})


async def test_two_machines_with_one_name_are_told_loudly_and_neither_ends(
    bus: "Bus",
    make_settings: "MakeSettings",
    run_detector: "RunDetector",
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    one, two = Session("11111111-1111-1111-1111-111111111111", 1), Session("22222222-2222-2222-2222-222222222222", 1)
    settings = make_settings(bus)
    async with run_detector(settings, session=one) as first, run_detector(settings, session=two) as second:
        message, number = await bus.snapshot(NODE), 0
        while message is None or "bus" not in message.sources:
            number += 1
            write(tmp_path / "features.d", "a", f"a={number}")
            message = await bus.snapshot_that(NODE, lambda message, n=number: local(message) == {"a": str(n)})  # type: ignore[misc] # bound now
            assert number < 10
        assert "another machine" in message.sources["bus"].error
        assert not first.done()
        assert not second.done()
    assert "bus.two_machines_one_name" in caplog.messages


@pytest.mark.parametrize("node", ["ip-10-0-1-2.eu-west-1.compute.internal", "n" * 253, "Node *.>ä", "a.b_c"])
async def test_every_name_of_a_node_is_one_token_and_comes_back(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", tmp_path: Path, node: str
) -> None:
    async with run_detector(make_settings(bus, node)):
        write(tmp_path / "features.d", "a", "a=1")
        event = await bus.next_event()
        message = await bus.snapshot(node)
    assert event.node == node
    assert message
    assert message.node == node


@pytest.mark.parametrize("node", ["ip-10-0-1-2.eu-west-1.compute.internal", "n" * 253])
async def test_a_detector_does_all_its_work_as_a_user_that_may_speak_for_its_own_node_only(
    start_own_bus: "StartOwnBus",
    make_settings: "MakeSettings",
    run_detector: "RunDetector",
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    node: str,
) -> None:
    async with start_own_bus(node) as (bus, user):
        own = dataclasses.replace(bus.settings, user=user.name, inbox_prefix=user.inbox_prefix)
        settings = dataclasses.replace(make_settings(bus, node), bus=own)
        async with run_detector(settings):
            write(tmp_path / "features.d", "a", "a=1")
            assert (await bus.next_event()).node == node
            await bus.connection.publish(
                bus.names.node_subject(Topic.RESCAN, node), payloads.encode(RescanRequest(id="one"))
            )
            before = await bus.snapshot_that(node, lambda message: message.rescans == ("one",))
            await bus.connection.publish(bus.names.node_subject(Topic.RESYNC, node), payloads.encode(ResyncRequest()))
            await bus.snapshot_that(node, lambda message: message.sequence > before.sequence)
        with pytest.raises(BusDeniedError):
            async with run_detector(dataclasses.replace(settings, node="other")):
                pass
    assert not {"bus.publish_failed", "bus.event_waits"} & set(caplog.messages)


async def test_a_connection_that_closes_for_good_ends_the_detector_with_an_error(
    bus: "Bus", make_settings: "MakeSettings"
) -> None:
    identity = Identity(NODE, DETECTOR, read_session())
    presence = Presence(make_settings(bus), identity, Metrics(), asyncio.Event(), lambda _request: None)
    running = asyncio.create_task(presence.run())
    presence.offer(Snapshot({}))
    async with asyncio.timeout(20):
        await presence.ready.wait()
        assert presence.connection
        await presence.connection.client.close()
        await asyncio.wait({running})
    assert running.exception()
    assert "closed the connection for good" in str(first_error(running.exception() or Exception()))


async def test_a_heartbeat_says_session_and_revision(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector"
) -> None:
    settings = make_settings(bus)
    quick = dataclasses.replace(settings, publication=dataclasses.replace(settings.publication, heartbeat=0.05))
    subject = bus.names.node_subject(Topic.HEARTBEAT, NODE)
    async with run_detector(quick), asyncio.timeout(20):
        while (message := await bus.heard.get()).subject != subject:
            pass
    beat = payloads.decode(message.data, Heartbeat)
    assert beat.node == NODE
    assert beat.session.boot_id == read_session().boot_id


class Hanging(msgspec.Struct):
    """A source whose file system does not answer."""

    gate: threading.Event
    name: str = "hanging"
    sets: tuple[str, ...] = ("hanging.one",)

    def read(self, _host: Host) -> Reading:
        self.gate.wait(60)
        return Reading({"hanging.one": FeatureSet(attributes={"came": "back"})})


async def test_a_file_system_that_hangs_stops_neither_the_other_facts_nor_the_heartbeats(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", tmp_path: Path
) -> None:
    settings = make_settings(bus)
    quick = dataclasses.replace(
        settings,
        pace=dataclasses.replace(settings.pace, source=0.2),
        publication=dataclasses.replace(settings.publication, heartbeat=0.05),
    )
    gate = threading.Event()
    heartbeats = bus.names.node_subject(Topic.HEARTBEAT, NODE)
    async with run_detector(quick, sources=(Hanging(gate), *SOURCES)):
        message = await bus.snapshot_that(NODE, lambda message: "cpu.cpuid" in message.sets)
        assert message.sets["hanging.one"].state is SetState.UNKNOWN
        assert message.sources["hanging"].error == "no answer within 0.2 s"
        write(tmp_path / "features.d", "a", "a=1")
        await bus.snapshot_that(NODE, lambda message: local(message) == {"a": "1"})
        async with asyncio.timeout(20):
            while (await bus.heard.get()).subject != heartbeats:
                pass
        gate.set()
        await bus.snapshot_that(NODE, lambda message: message.sets["hanging.one"].state is SetState.PRESENT)


async def test_the_pages_tell_whether_the_bus_has_the_facts(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", caplog: pytest.LogCaptureFixture
) -> None:
    def read(page: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    with caplog.at_level(logging.INFO):
        async with run_detector(make_settings(bus, http_port=0)):
            listening = next(record for record in caplog.records if record.getMessage() == "detector.http_listening")
            port = listening.fields["port"]  # type: ignore[attr-defined] # an attribute of event logs
            assert await asyncio.to_thread(read, "readyz") == (200, "ok\n")
            status, metrics = await asyncio.to_thread(read, "metrics")
            assert status == 200
            assert "nodeworthy_detector_snapshots_stored_total 1\n" in metrics
            assert 'nodeworthy_detector_source_polled{source="local"} 0\n' in metrics
            status, text = await asyncio.to_thread(read, "status")
            page = json.loads(text)
            assert (status, page["node"], page["connected"]) == (200, NODE, True)
            assert page["sources"]["cpu"]["state"] == "ok"
            assert page["sources"]["cpu"]["facts"] > 20
            assert page["sources"]["cpu"]["interval"] == 600
            assert 0 < time.time() - page["sources"]["cpu"]["last"] < 60
            bus.server.kill()
            async with asyncio.timeout(20):
                while (await asyncio.to_thread(read, "readyz"))[0] == 200:
                    pass
            assert await asyncio.to_thread(read, "readyz") == (503, "the bus is away\n")
            assert await asyncio.to_thread(read, "healthz") == (200, "ok\n")


async def test_a_frozen_bus_does_not_keep_the_detector_from_ending(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector"
) -> None:
    loop = asyncio.get_running_loop()
    async with run_detector(make_settings(bus)):
        bus.server.freeze()
        start = loop.time()
    assert loop.time() - start < 8
    bus.server.thaw()


async def test_a_host_root_or_port_that_cannot_be_used_is_an_error_of_its_own(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="cannot be used as a host root"):
        async with run_detector(make_settings(bus, host_root=tmp_path / "nowhere")):
            pass
    server = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
    with pytest.raises(UsageError, match="HTTP port"):
        async with run_detector(make_settings(bus, http_port=server.sockets[0].getsockname()[1])):
            pass
    server.close()


def test_the_detector_loads_nothing_but_the_standard_library_msgspec_and_nats() -> None:
    program = (
        "import sys; before = set(sys.modules); import nodeworthy_detector.app;"
        "print(' '.join(sorted({name.partition('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert set(done.stdout.split()) <= {"nodeworthy", "nodeworthy_detector", "nats", "msgspec", "typing_extensions"}
