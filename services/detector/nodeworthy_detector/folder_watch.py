"""Folders whose files are watched for changes, wherever they are and even while they are not there.

Every folder on the way to one is watched too, for the next name on the way: so it is found when it is made, replaced, moved
away and back, or reached through another symbolic link (kubelets update ConfigMaps by renaming a link inside it).
"""

import asyncio
import errno
from collections.abc import Callable, Iterator, Mapping

import msgspec

from nodeworthy.processes import EventLog
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.inotify import Event, Inotify, Mask
from nodeworthy_detector.sources import Reading, Source

_LOG = EventLog("detector")

_ON_THE_WAY = Mask.CREATE | Mask.MOVED_FROM | Mask.MOVED_TO | Mask.DELETE
_INSIDE = _ON_THE_WAY | Mask.CLOSE_WRITE | Mask.ATTRIB
"""ATTRIB is a file that may be read now; MODIFY is left out, since a file that is being written says nothing yet."""

_ALWAYS = Mask.Q_OVERFLOW | Mask.IGNORED | Mask.UNMOUNT
_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR})

_MAX_INNER = 100
"""Folders inside a folder that are watched with it; a way into the kernel's limit for a tree that nobody meant."""

_Way = Mapping[int, str | None]
"""Watch to the one name in it that counts; ``None``: all."""


class FolderWatch:
    """Watches folders of a host by one inotify instance, of which a user has 128 by default.

    ``arm`` may wait for the file system and belongs into a thread; everything else runs on the loop.
    """

    def __init__(self, host: Host, on_change: Callable[[str], None]) -> None:
        """``on_change`` is told the folder, as it was armed."""
        self._host = host
        self._on_change = on_change
        self._inotify: Inotify | None = None
        self._ways: dict[str, _Way] = {}
        self._problems: dict[str, str] = {}
        self._refusal = ""

    def problem(self, folder: str) -> str:
        """Why a change would not be noticed at once; empty if it would."""
        if self._refusal or folder in self._problems:
            return self._refusal or self._problems[folder]
        return "" if self._ways.get(folder) else "it is not watched yet"

    def open(self) -> None:
        """Begin to listen; where the kernel refuses it is logged and the timer has to do."""
        try:
            self._inotify = Inotify()
        except OSError as error:
            self._refusal = f"inotify: {error.strerror}"
            _LOG.warning("detector.folders_not_watched", why=self._refusal)
            return
        asyncio.get_running_loop().add_reader(self._inotify.descriptor, self._drain, self._inotify)

    def close(self) -> None:
        """Listen no more."""
        if self._inotify is not None:
            asyncio.get_running_loop().remove_reader(self._inotify.descriptor)
            self._inotify.close()
            self._inotify = None

    def arm(self, folder: str, *, is_deep: bool = False) -> None:
        """Watch a folder and those on the way to it, ``is_deep`` also those in it, before somebody reads them.

        Then no change is missed in between. A folder that was replaced is found again by this.
        """
        inotify = self._inotify
        if inotify is None:
            return
        found: dict[int, str | None] = {}
        try:
            for path, name in self._steps(folder.strip("/"), is_deep=is_deep):
                mask = _INSIDE if name is None else _ON_THE_WAY
                found[inotify.add(self._host.locate(path), mask | Mask.MASK_ADD)] = name
        except (OSError, HostReadError) as error:
            if not (isinstance(error, OSError) and error.errno in _NOT_THERE):
                self._complain(folder, (error.strerror if isinstance(error, OSError) else "") or str(error))
                return
        self._problems.pop(folder, None)
        self._replace(inotify, folder, found)

    def forget(self, folder: str) -> None:
        """Watch a folder no more."""
        self._problems.pop(folder, None)
        if self._inotify is not None and folder in self._ways:
            self._replace(self._inotify, folder, {})

    def _replace(self, inotify: Inotify, folder: str, way: _Way) -> None:
        old = self._ways.get(folder, {})
        self._ways = {**self._ways, folder: way}  # at once: the loop reads it meanwhile
        used = {watch for others in self._ways.values() for watch in others}
        for watch in old.keys() - used:
            inotify.remove(watch)

    def _steps(self, folder: str, *, is_deep: bool) -> Iterator[tuple[str, str | None]]:
        yield from _steps(folder)
        if is_deep:
            inner = (f"{folder}/{name}" for name in self._host.list_names(folder) or ())
            folders = [path for path in inner if self._host.is_folder(path)]
            yield from ((path, None) for path in folders[:_MAX_INNER])

    def _drain(self, inotify: Inotify) -> None:
        events = inotify.read()
        if any(event.mask & Mask.Q_OVERFLOW for event in events):
            _LOG.warning("detector.folder_events_lost")
        for folder, way in self._ways.items():
            if any(_counts(event, way) for event in events):
                self._on_change(folder)

    def _complain(self, folder: str, why: str) -> None:
        if why != self._problems.get(folder):
            _LOG.warning("detector.folder_not_watched", folder=folder, why=why)
        self._problems[folder] = why


class WatchedSource(msgspec.Struct, frozen=True):
    """A source that reads a watched folder: the watch is renewed before each reading, in the thread that reads."""

    source: Source
    watch: FolderWatch
    folder: str
    is_deep: bool = False

    @property
    def name(self) -> str:
        """The source's name."""
        return self.source.name

    @property
    def sets(self) -> tuple[str, ...]:
        """The source's sets."""
        return self.source.sets

    def read(self, host: Host) -> Reading:
        """Renew the watch, then read."""
        self.watch.arm(self.folder, is_deep=self.is_deep)
        return self.source.read(host)


def _counts(event: Event, way: _Way) -> bool:
    if event.mask & Mask.Q_OVERFLOW:
        return True
    if event.watch not in way:  # another folder's, or removed by arm
        return False
    name = way[event.watch]
    return name is None or event.name == name or bool(event.mask & _ALWAYS)


def _steps(folder: str) -> Iterator[tuple[str, str | None]]:
    """Each folder on the way with the next name; ``("", "etc"), ("etc", "features.d"), ("etc/features.d", None)``."""
    parts = folder.split("/")
    for depth, part in enumerate(parts):
        yield "/".join(parts[:depth]), part
    yield folder, None
