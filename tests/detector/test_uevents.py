import errno
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy_detector.uevents import MAX_MESSAGES, Heard, Uevent, UeventSocket, parse_uevent, read_events

VETH = (
    b"add@/devices/virtual/net/veth1\0ACTION=add\0DEVPATH=/devices/virtual/net/veth1\0SUBSYSTEM=net\0"
    b"INTERFACE=veth1\0IFINDEX=5\0SEQNUM=817\0"
)
"""Heard on Linux 6.18 while a veth pair was made."""

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Two ends of a datagram socket, neither of which waits."""
    one, two = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    with one, two:
        yield one, two


def test_a_message_of_the_kernel_is_taken_apart() -> None:
    assert parse_uevent(VETH) == Uevent("add", "/devices/virtual/net/veth1", "net")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"libudev\0\xfe\xed\xca\xfe",
        b"add@/devices/x\0ACTION=add\0",
        b"add\0SUBSYSTEM=net\0",
        b"@/devices/x\0SUBSYSTEM=net\0",
        b"add@devices\0SUBSYSTEM=net\0",
    ],
)
def test_what_is_no_message_of_the_kernel_or_names_no_subsystem_is_nothing(data: bytes) -> None:
    assert parse_uevent(data) is None


@given(st.binary(max_size=300) | st.binary(max_size=100).map(lambda data: b"add@/x\0SUBSYSTEM=" + data))
def test_any_bytes_are_a_notice_or_none(data: bytes) -> None:
    event = parse_uevent(data)
    assert event is None or event.path.startswith("/")


def test_a_burst_is_read_in_bounded_parts_in_its_order(pair: Pair) -> None:
    sender, listener = pair
    heard: list[Uevent] = []
    for number in range(3 * MAX_MESSAGES):
        data = b"change@/devices/%d\0SUBSYSTEM=pci\0" % number
        while True:
            try:
                sender.send(data)
                break
            except BlockingIOError:  # the other end is full
                heard += read_events(listener).events
    while part := read_events(listener).events:
        assert len(part) <= MAX_MESSAGES
        heard += part
    assert [event.path for event in heard] == [f"/devices/{number}" for number in range(3 * MAX_MESSAGES)]


class Overrun:
    """A listener whose kernel lost messages before the last one."""

    def __init__(self) -> None:
        self.answers: list[bytes | int] = [VETH, errno.ENOBUFS, VETH, errno.EAGAIN]

    def recvfrom(self, _size: int) -> tuple[bytes, tuple[int, int]]:
        answer = self.answers.pop(0)
        if isinstance(answer, int):
            raise OSError(answer, os.strerror(answer))
        return answer, (0, 1)


def test_what_was_lost_is_told_and_what_was_not_is_read() -> None:
    heard = read_events(Overrun())  # type: ignore[arg-type] # what is used of a socket
    assert heard == Heard((Uevent("add", "/devices/virtual/net/veth1", "net"),) * 2, is_lost=True)


def test_a_message_of_another_process_is_passed_over() -> None:
    class Stranger(Overrun):
        def recvfrom(self, size: int) -> tuple[bytes, tuple[int, int]]:
            return super().recvfrom(size)[0], (4711, 1)

    listener = Stranger()
    listener.answers = [VETH, errno.EAGAIN]
    assert read_events(listener) == Heard(())  # type: ignore[arg-type] # as above


def test_the_kernel_tells_of_a_device_whose_uevent_file_is_written() -> None:
    """Needs root: the file is the kernel's way to make an event again (Documentation/ABI/testing/sysfs-uevent)."""
    if os.geteuid() != 0 or not os.access("/sys/class/mem/null/uevent", os.W_OK):
        pytest.skip("only root may write to /sys/class/mem/null/uevent")
    listener = UeventSocket()
    try:
        Path("/sys/class/mem/null/uevent").write_text("change")
        assert Uevent("change", "/devices/virtual/mem/null", "mem") in listener.read().events
    finally:
        listener.close()


def test_more_than_the_socket_holds_is_told_as_lost() -> None:
    """The real overrun of a real socket: ENOBUFS."""
    if os.geteuid() != 0 or not os.access("/sys/class/mem/null/uevent", os.W_OK):
        pytest.skip("only root may write to /sys/class/mem/null/uevent")
    listener = UeventSocket()
    try:
        listener._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        for _ in range(100):
            Path("/sys/class/mem/null/uevent").write_text("change")
        assert listener.read().is_lost
        assert listener.read() == Heard(())
    finally:
        listener.close()
