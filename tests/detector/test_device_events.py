import asyncio
import errno
import logging
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import pytest

from nodeworthy_detector.device_events import SOURCES_OF, TOLD, DeviceEvents, sources_of, why_other_network, why_silent
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import SOURCES
from nodeworthy_detector.uevents import Heard, Uevent, UeventSocket, read_events

Plant = Callable[[Mapping[str, str | bytes]], Host]

HOST = Host(Path("/"))


def event(subsystem: str) -> Uevent:
    return Uevent("add", "/devices/x", subsystem)


@pytest.mark.parametrize(
    ("subsystem", "sources"),
    [
        ("pci", {"accel", "network", "pci"}),
        ("usb", {"usb"}),
        ("net", {"network"}),
        ("block", {"storage"}),
        ("module", {"accel", "kernel"}),
        ("cpu", {"cpu"}),
        ("queues", set()),
        ("bdi", set()),
    ],
)
def test_a_notice_names_the_sources_that_read_its_subsystem(subsystem: str, sources: set[str]) -> None:
    assert sources_of(Heard((event(subsystem),))) == sources


def test_lost_notices_are_changes_of_everything_that_notices_tell_of() -> None:
    assert sources_of(Heard((), is_lost=True)) == {name for names in SOURCES_OF.values() for name in names} >= TOLD


def test_every_source_that_is_named_exists() -> None:
    named = {name for names in SOURCES_OF.values() for name in names} | TOLD
    assert named <= {source.name for source in SOURCES} | {"accel"}


class Pair(UeventSocket):
    """A listener whose other end is the test's."""

    def __init__(self) -> None:
        self.sender, self._socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)

    def read(self) -> Heard:
        return read_events(self._socket)


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    made = Pair()
    yield made
    made.sender.close()


async def test_a_thousand_notices_in_a_burst_all_reach_their_sources(pair: Pair) -> None:
    told: list[str] = []
    heard_all = asyncio.Event()

    def note(source: str) -> None:
        told.append(source)
        if events.heard == 1000:
            heard_all.set()

    events = DeviceEvents(HOST, note, open_socket=lambda: pair, find_problem=lambda _host: "")
    events.open()
    try:
        for _ in range(1000):
            while True:
                try:
                    pair.sender.send(b"add@/devices/x\0SUBSYSTEM=usb\0")
                    break
                except BlockingIOError:
                    await asyncio.sleep(0)
        async with asyncio.timeout(5):
            await heard_all.wait()
        assert set(told) == {"usb"}
        assert events.problem("usb") == ""
    finally:
        events.close()


async def test_a_socket_that_fails_is_closed_and_everything_is_looked_at(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> Heard:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    told: asyncio.Queue[str] = asyncio.Queue()
    monkeypatch.setattr(pair, "read", fail)
    events = DeviceEvents(HOST, told.put_nowait, open_socket=lambda: pair, find_problem=lambda _host: "")
    events.open()
    pair.sender.send(b"x")
    async with asyncio.timeout(5):
        names = {await told.get()}
    while not told.empty():
        names.add(told.get_nowait())
    assert names >= TOLD
    assert events.problem("pci") == "the uevent socket failed: Bad file descriptor"
    assert events.lost == 1
    assert "detector.no_device_events" in caplog.messages


async def test_without_a_socket_devices_are_polled_and_the_log_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    def refuse() -> UeventSocket:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    events = DeviceEvents(HOST, lambda _name: None, open_socket=refuse)
    with caplog.at_level(logging.WARNING):
        events.open()
    assert caplog.messages == ["detector.no_device_events"]
    assert events.problem("pci") == "the kernel gives no uevent socket: Operation not permitted"
    assert events.problem("cpu") == ""
    events.close()


def test_a_copy_of_another_machine_changes_without_notice(plant: Plant) -> None:
    assert "is not this kernel's" in why_silent(plant({"sys/kernel/uevent_seqnum": "1"}))
    assert "is not this kernel's" in why_silent(plant({"etc/": ""}))


def test_a_sysfs_of_this_kernel_below_another_root_is_this_machine(tmp_path: Path) -> None:
    if why_silent(HOST):
        pytest.skip(f"this process hears nothing: {why_silent(HOST)}")
    (tmp_path / "sys").symlink_to("/sys")

    class Outside(Host):
        """A mount: what is below this root is the machine's own."""

        def read_value(self, path: str) -> str | None:
            return HOST.read_value(path)

    assert why_silent(Outside(tmp_path)) == ""


def test_the_interfaces_of_this_process_are_those_of_its_sysfs_or_it_is_polled(plant: Plant) -> None:
    own = {name: number for number, name in socket.if_nameindex()}
    files = {f"sys/class/net/{name}/ifindex": f"{number}\n" for name, number in own.items()}
    assert why_other_network(plant({**files, "sys/class/net/bonding_masters": ""})) == ""
    host = plant({**files, "sys/class/net/veth0/ifindex": "9999\n"})
    assert why_other_network(host) == "this process is not in the network namespace that sysfs shows"


@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare(1) is not installed")
def test_a_process_in_a_user_namespace_knows_that_it_hears_nothing() -> None:
    program = (
        "from pathlib import Path; from nodeworthy_detector.device_events import why_silent;"
        "from nodeworthy_detector.hostfs import Host; print(why_silent(Host(Path('/'))))"
    )
    command = ["unshare", "--user", "--net", sys.executable, "-c", program]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode and "unshare failed" in done.stderr:
        pytest.skip(f"no user namespaces here: {done.stderr.strip()}")
    assert done.stdout.strip() == "this process is in a user namespace, which the kernel sends no device events to"


async def test_a_real_device_reaches_its_source() -> None:
    """Needs root: writing to a uevent file makes the kernel tell of the device again."""
    if os.geteuid() != 0 or why_silent(HOST):
        pytest.skip("only root may make an event, and only where the kernel tells of it")
    heard: asyncio.Queue[str] = asyncio.Queue()
    events = DeviceEvents(HOST, heard.put_nowait)
    events.open()
    try:
        await asyncio.to_thread(Path("/sys/class/net/lo/uevent").write_text, "change")
        async with asyncio.timeout(5):
            assert await heard.get() == "network"
    finally:
        events.close()
