r"""The kernel's notices of devices and modules that come, change and go: kobject uevents over netlink(7).

A message of the kernel (lib/kobject_uevent.c) is a head, ``action@path``, and variables, each ended by a NUL byte::

    add@/devices/virtual/net/veth1\0ACTION=add\0DEVPATH=/devices/virtual/net/veth1\0SUBSYSTEM=net\0SEQNUM=817\0
"""

import errno
import os
import socket
from typing import NamedTuple

_NETLINK_KOBJECT_UEVENT = 15
"""<linux/netlink.h>"""
_KERNEL_GROUP = 1
"""The multicast group that the kernel sends to; udev sends what it has made of it to group 2."""

_BUFFER_BYTES = 1024 * 1024
"""Of the socket: some thousand messages. The kernel gives what net.core.rmem_max allows where that is less."""
_MESSAGE_BYTES = 8 * 1024
"""A message has at most 2 KiB of variables and a path of 4 KiB (UEVENT_BUFFER_SIZE, PATH_MAX)."""

MAX_MESSAGES = 500
"""Of one reading; more are read in the next turn of the loop, so that whatever else waits has its turn."""


class Uevent(NamedTuple):
    """One notice."""

    action: str
    """``add``, ``remove``, ``change``, ``move``, ``online``, ``offline``, ``bind`` or ``unbind``."""
    path: str
    """Below ``/sys``."""
    subsystem: str


class Heard(NamedTuple):
    """What one reading gave."""

    events: tuple[Uevent, ...]
    is_lost: bool = False
    """Whether the kernel had more to say than the socket holds: what changed is then not known."""


class UeventSocket:
    """One listener; its file descriptor is readable when there are events.

    Raises:
        OSError: the kernel gives no such socket.
    """

    def __init__(self) -> None:
        kind = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
        self._socket = socket.socket(socket.AF_NETLINK, kind, _NETLINK_KOBJECT_UEVENT)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
            self._socket.bind((0, _KERNEL_GROUP))
        except OSError:
            self._socket.close()
            raise

    @property
    def descriptor(self) -> int:
        """For the loop."""
        return self._socket.fileno()

    def read(self) -> Heard:
        """The events that wait; none if there are none."""
        return read_events(self._socket)

    def close(self) -> None:
        """Listen no more."""
        self._socket.close()


def read_events(listener: socket.socket) -> Heard:
    """What waits on a socket, at most :data:`MAX_MESSAGES`; what is no message of the kernel is passed over."""
    events: list[Uevent] = []
    is_lost = False
    for _ in range(MAX_MESSAGES):
        try:
            data, sender = listener.recvfrom(_MESSAGE_BYTES)
        except BlockingIOError:
            break
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise
            is_lost = True
            continue
        # A process may send to this group too, if it has the right to; its netlink port is not 0.
        event = parse_uevent(data) if not sender or sender[0] == 0 else None
        if event is not None:
            events.append(event)
    return Heard(tuple(events), is_lost)


def parse_uevent(data: bytes) -> Uevent | None:
    """Take a message apart; ``None`` if it is none of the kernel's, or names no subsystem."""
    head, *variables = data.split(b"\0")
    action, at, path = head.partition(b"@")
    if not at or not action.isalpha() or not path.startswith(b"/"):
        return None
    for variable in variables:
        if variable.startswith(b"SUBSYSTEM="):
            subsystem = variable.partition(b"=")[2]
            return Uevent(*(os.fsdecode(part) for part in (action, path, subsystem)))
    return None
