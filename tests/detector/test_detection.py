"""What makes a running detector look again, and what it tells of itself: real events, a real bus, a real file."""

import asyncio
import dataclasses
import logging
import os
import queue
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from nodeworthy.bus import payloads
from nodeworthy.bus.names import Topic
from nodeworthy.bus.records import RescanRequest, SnapshotMessage
from nodeworthy.errors import DocumentError
from nodeworthy.features import FeatureSet, SetState, decode
from nodeworthy_detector.device_events import why_silent
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import SOURCES, Reading

if TYPE_CHECKING:
    from tests.detector.conftest import Bus, MakeSettings, RunDetector

NODE = "node-1"
UEVENT = Path("/sys/class/net/lo/uevent")
HOST = Host(Path("/"))

needs_uevents = pytest.mark.skipif(
    os.geteuid() != 0 or bool(why_silent(HOST)), reason="only root may make device events, and only where they are told"
)


class Card(msgspec.Struct, frozen=True):
    """A source of the tests under a name that device events tell of; what it reads is a file of the test's."""

    path: Path
    name: str = "network"
    sets: tuple[str, ...] = ("network.card",)

    def read(self, _host: Host) -> Reading:
        return Reading({"network.card": FeatureSet(attributes={"state": self.path.read_text()})})


@pytest.fixture
def card(tmp_path: Path) -> Card:
    path = tmp_path / "card"
    path.write_text("0")
    return Card(path)


def content(message: SnapshotMessage, name: str) -> Mapping[str, str]:
    """The attributes of an inline set."""
    entry = message.sets[name]
    assert entry.content is not None
    return decode(entry.content).attributes or {}


@needs_uevents
async def test_a_device_that_changes_is_an_event_on_the_bus_within_a_second(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", card: Card
) -> None:
    async with run_detector(make_settings(bus), sources=(card,)):
        for number in range(1, 4):
            async with asyncio.timeout(1):
                card.path.write_text(str(number))
                await asyncio.to_thread(UEVENT.write_text, "change")
                event = await bus.next_event("network.card")
            assert event.change
            assert event.change.attributes_changed == {"state": (str(number - 1), str(number))}


@needs_uevents
async def test_a_thousand_device_events_are_a_few_events_and_the_last_state(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", card: Card
) -> None:
    def burst() -> None:
        for number in range(1000):
            card.path.write_text(str(number))
            UEVENT.write_text("change")

    async with run_detector(make_settings(bus), sources=(card,)):
        await asyncio.to_thread(burst)
        await bus.snapshot_that(NODE, lambda message: content(message, "network.card") == {"state": "999"})
    events = [event for event in await bus.events() if event.set == "network.card"]
    assert 1 <= len(events) <= 8


async def test_where_nothing_tells_of_devices_it_is_said_and_they_are_polled(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", card: Card, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    settings = make_settings(bus, host_root=root, features_d="etc/features.d")
    quick = dataclasses.replace(settings, pace=dataclasses.replace(settings.pace, poll=0.05))
    async with run_detector(quick, sources=(card, SOURCES[1])):
        message = await bus.snapshot_that(NODE, lambda message: bool(message.sources["network"].polled))
        assert "is not this kernel's" in message.sources["network"].polled
        assert message.sources["cpu"].polled == ""
        card.path.write_text("1")
        await bus.snapshot_that(NODE, lambda message: content(message, "network.card") == {"state": "1"})


async def test_a_folder_that_cannot_be_watched_is_polled(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", tmp_path: Path
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    async with run_detector(make_settings(bus, features_d=str(tmp_path / "loop/features.d"))):
        message = await bus.snapshot_that(NODE, lambda message: "local" in message.sources)
    assert "Too many levels of symbolic links" in message.sources["local"].polled


@pytest.fixture
def configuration(tmp_path: Path) -> Path:
    path = tmp_path / "configuration/detector.yaml"
    path.parent.mkdir()
    return path


def write(path: Path, text: str) -> None:
    """Write a file as careful programs do."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)


async def test_a_source_is_switched_off_and_on_while_the_detector_runs(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", configuration: Path
) -> None:
    write(configuration, "core: {featureSources: [all, -usb]}")
    async with run_detector(make_settings(bus, configuration=configuration)):
        message = await bus.snapshot(NODE)
        assert message
        assert message.sources["usb"].disabled
        assert message.sets["usb.device"].state is SetState.UNKNOWN
        assert "switched off" in message.sets["usb.device"].reason
        write(configuration, "core: {featureSources: [all, -pci]}")
        message = await bus.snapshot_that(NODE, lambda message: message.sources["pci"].disabled)
        assert not message.sources["usb"].disabled
        assert "switched off" not in message.sets["usb.device"].reason
    # What is asked anew is not unknown in between.
    assert len([event for event in await bus.events() if event.set == "usb.device"]) <= 1


async def test_rules_libraries_and_folders_of_the_file_are_followed(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", configuration: Path, tmp_path: Path
) -> None:
    for name, text in (("one", "a=1"), ("two", "b=2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(text)
    write(configuration, f"sources: {{local: {{folder: {tmp_path}/one}}}}")
    async with run_detector(make_settings(bus, configuration=configuration, features_d="")):
        await bus.snapshot_that(NODE, lambda message: content(message, "local.feature") == {"a": "1"})
        rules = "[{name: r, labels: {x: y}}]"
        write(configuration, f"sources: {{local: {{folder: {tmp_path}/two}}, custom: {rules}}}")
        await bus.snapshot_that(NODE, lambda message: content(message, "local.feature") == {"b": "2"})
        message = await bus.snapshot_that(NODE, lambda message: bool(content(message, "custom.rules")))
        assert "labels: {x: y}" in content(message, "custom.rules")["sources.custom"]
        (tmp_path / "two/file").write_text("b=3")
        await bus.snapshot_that(NODE, lambda message: content(message, "local.feature") == {"b": "3"})


async def test_a_file_that_becomes_wrong_is_told_and_the_one_before_holds(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", configuration: Path
) -> None:
    write(configuration, "core: {featureSources: [all, -usb]}")
    async with run_detector(make_settings(bus, configuration=configuration)):
        write(configuration, "core: {featureSources: [all, -usbb]}")
        message = await bus.snapshot_that(NODE, lambda message: "configuration" in message.sources)
        assert "did you mean usb?" in message.sources["configuration"].error
        assert message.sources["usb"].disabled
        write(configuration, "core: {featureSources: [all]}")
        message = await bus.snapshot_that(NODE, lambda message: "configuration" not in message.sources)
        assert not message.sources["usb"].disabled


async def test_a_file_that_is_wrong_at_the_start_ends_the_detector(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", configuration: Path
) -> None:
    write(configuration, "sources: {cpu: {interval: soon}}")
    with pytest.raises(DocumentError, match=r"detector\.yaml:1: sources\.cpu\.interval"):
        async with run_detector(make_settings(bus, configuration=configuration)):
            pass


async def test_a_program_that_is_dropped_into_its_folder_is_on_the_bus(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", configuration: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "sources.d"
    folder.mkdir(mode=0o755)
    write(configuration, f"sources: {{programs: {{folder: {folder}}}}}")
    async with run_detector(make_settings(bus, configuration=configuration)):
        program = tmp_path / "probe"
        program.write_text("#!/bin/sh\necho fan=on\n")
        program.chmod(0o755)
        program.rename(folder / "probe")
        found = lambda message: "programs.probe" in message.sets and message.sets["programs.probe"].content  # noqa: E731
        message = await bus.snapshot_that(NODE, found)
        assert content(message, "programs.probe") == {"fan": "on"}
        (folder / "probe").unlink()
        await bus.snapshot_that(NODE, lambda message: "programs.probe" not in message.sets)


async def test_a_machine_whose_mounts_are_taken_away_is_a_loud_state_and_erases_nothing(
    bus: "Bus",
    make_settings: "MakeSettings",
    run_detector: "RunDetector",
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc/os-release").write_text("ID=debian\n")
    (root / "sys/bus/pci/devices").mkdir(parents=True)
    settings = make_settings(bus, host_root=root, features_d="etc/features.d")
    sources = tuple(source for source in SOURCES if source.name in {"local", "pci", "system"})
    subject = bus.names.node_subject(Topic.RESCAN, NODE)
    with caplog.at_level(logging.INFO):
        async with run_detector(settings, sources=sources):
            before = await bus.snapshot(NODE)
            assert before
            assert before.sets["system.osrelease"].state is SetState.PRESENT
            root.rename(tmp_path / "gone")
            root.mkdir()
            for number in range(2):
                await bus.connection.publish(subject, payloads.encode(RescanRequest(id=str(number))))
                after = await bus.snapshot_that(NODE, lambda message, n=number: message.rescans == (str(n),))  # type: ignore[misc] # bound now
            assert all(health.error for health in after.sources.values())
            entry = after.sets["system.osrelease"]
            assert entry.state is SetState.UNKNOWN
            assert entry.last_digest.startswith("sha256:")
            assert caplog.messages.count("detector.blind") == 1
            root.rmdir()
            (tmp_path / "gone").rename(root)
            await bus.connection.publish(subject, payloads.encode(RescanRequest(id="again")))
            healed = await bus.snapshot_that(NODE, lambda message: message.rescans == ("again",))
            assert healed.sets["system.osrelease"] == before.sets["system.osrelease"]
            assert not any(health.error for health in healed.sources.values())
    assert caplog.messages.count("detector.sees_again") == 1


async def test_a_clock_that_jumps_changes_nothing_about_when_it_looks(
    bus: "Bus",
    make_settings: "MakeSettings",
    run_detector: "RunDetector",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jumps = iter([10.0, 4e9, 0.0, 2e9] * 10_000)
    folder = tmp_path / "features.d"
    folder.mkdir()
    async with run_detector(make_settings(bus)):
        monkeypatch.setattr("time.time", lambda: next(jumps))
        for number in range(3):
            async with asyncio.timeout(2):
                write(folder / "file.x", f"n={number}")
                await bus.next_event()


async def test_at_rest_nothing_is_said(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", card: Card, tmp_path: Path
) -> None:
    """Looks that find nothing new make no message: times of looks are on the page /status and not on the bus."""
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    settings = make_settings(bus, host_root=root, features_d="etc/features.d")
    quick = dataclasses.replace(settings, pace=dataclasses.replace(settings.pace, poll=0.02, share=1))
    async with run_detector(quick, sources=(card,)):
        first = await bus.snapshot_that(NODE, lambda message: bool(message.sources["network"].polled))
        await asyncio.sleep(0.5)  # some twenty looks
        last = await bus.snapshot(NODE)
    assert last == first


async def test_a_line_that_expires_is_gone_at_its_time_though_nobody_touched_its_file(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", tmp_path: Path
) -> None:
    folder = tmp_path / "features.d"
    folder.mkdir()
    async with run_detector(make_settings(bus)):
        soon = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
        write(folder / "file.x", f"stays=1\n# +expiry-time={soon}\ngoes=1\n")
        await bus.snapshot_that(NODE, lambda message: content(message, "local.feature") == {"stays": "1", "goes": "1"})
        await bus.snapshot_that(NODE, lambda message: content(message, "local.feature") == {"stays": "1"})


class Observed(msgspec.Struct, frozen=True):
    """A source of the tests that tells the test what it read."""

    path: Path
    reads: "queue.SimpleQueue[str]"
    name: str = "storage"
    sets: tuple[str, ...] = ("storage.card",)

    def read(self, _host: Host) -> Reading:
        text = self.path.read_text()
        self.reads.put(text)
        return Reading({"storage.card": FeatureSet(attributes={"state": text})})


async def test_of_many_changes_while_the_bus_is_away_only_the_newest_is_published(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", tmp_path: Path
) -> None:
    source = Observed(tmp_path / "card", queue.SimpleQueue())
    source.path.write_text("0")
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    settings = make_settings(bus, host_root=root, features_d="etc/features.d")
    quick = dataclasses.replace(settings, pace=dataclasses.replace(settings.pace, poll=0.02, share=1))
    async with run_detector(quick, sources=(source,)) as task:
        await bus.snapshot_that(NODE, lambda message: bool(message.sources["storage"].polled))
        bus.server.kill()
        for number in range(1, 6):
            source.path.write_text(str(number))
            async with asyncio.timeout(20):
                while await asyncio.to_thread(source.reads.get) != str(number):
                    pass
        bus.server.start()
        await bus.snapshot_that(NODE, lambda message: content(message, "storage.card") == {"state": "5"})
        assert not task.done()
    states = [event.change.attributes_changed["state"] for event in await bus.events() if event.change]
    assert states in ([("0", "5")], [("0", "1"), ("1", "5")])  # the first may have been on its way
