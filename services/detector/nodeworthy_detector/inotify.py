"""The kernel's notices of changes in folders: inotify(7), by three calls of the C library and nothing else."""

import ctypes
import os
import struct
from collections.abc import Iterator
from enum import IntFlag
from typing import NamedTuple

_HEAD = struct.Struct("iIII")
"""``struct inotify_event``: watch, mask, cookie, length of the name that follows."""

_READ_BYTES = 64 * 1024
"""About 1,500 events; more are read in the next turn."""


class Mask(IntFlag):
    """Kinds of events, from <sys/inotify.h>."""

    ATTRIB = 0x4
    CLOSE_WRITE = 0x8
    MOVED_FROM = 0x40
    MOVED_TO = 0x80
    CREATE = 0x100
    DELETE = 0x200
    DELETE_SELF = 0x400
    MOVE_SELF = 0x800
    UNMOUNT = 0x2000
    Q_OVERFLOW = 0x4000
    """Events were lost; what changed is not known."""
    IGNORED = 0x8000
    """The watch is gone, with its folder or because it was removed."""
    ONLYDIR = 0x0100_0000
    MASK_ADD = 0x2000_0000
    """Beside what the watch of the same folder is for already."""


class Event(NamedTuple):
    """One event; ``name`` is that of a file in the watched folder, empty for the folder itself."""

    watch: int
    mask: Mask
    name: str


class Inotify:
    """One inotify instance; its file descriptor is readable when there are events.

    Raises:
        OSError: the kernel gives no instance; usually ``fs.inotify.max_user_instances`` is used up.
    """

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None, use_errno=True)
        self.descriptor = _checked(self._library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))

    def add(self, path: str, mask: Mask) -> int:
        """Watch a folder; the number is the same for the same folder, however it is called.

        Raises:
            OSError: it is not there, is no folder, may not be read, or there are too many watches.
        """
        return _checked(
            self._library.inotify_add_watch(self.descriptor, os.fsencode(path), ctypes.c_uint32(mask | Mask.ONLYDIR))
        )

    def remove(self, watch: int) -> None:
        """Watch a folder no more; a watch that has gone by itself is no error."""
        self._library.inotify_rm_watch(self.descriptor, watch)

    def read(self) -> tuple[Event, ...]:
        """The events that wait; none if there are none."""
        try:
            return tuple(parse_events(os.read(self.descriptor, _READ_BYTES)))
        except BlockingIOError:
            return ()

    def close(self) -> None:
        """Give the instance back, with all its watches."""
        os.close(self.descriptor)


def parse_events(data: bytes) -> Iterator[Event]:
    """Take apart what the kernel gives: heads of 16 bytes, each followed by a name that is filled up with NUL bytes."""
    place = 0
    while place < len(data):
        watch, mask, _, length = _HEAD.unpack_from(data, place)
        place += _HEAD.size
        name = data[place : place + length].rstrip(b"\0")
        place += length
        yield Event(watch, Mask(mask), os.fsdecode(name))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
