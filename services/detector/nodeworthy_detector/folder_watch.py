"""A folder whose files are watched for changes, wherever it is and even while it is not there.

Every folder on the way to it is watched too, for the next name on the way: so the folder is found when it is made, replaced,
moved away and back, or reached through another symbolic link (kubelets update ConfigMaps by renaming a link inside it).
"""

import asyncio
import errno
from collections.abc import Callable, Iterator

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


class FolderWatch:
    """Watches one folder of a host.

    ``arm`` may wait for the file system and belongs into a thread; everything else runs on the loop.
    """

    def __init__(self, host: Host, folder: str, on_change: Callable[[], None]) -> None:
        self._host = host
        self._folder = folder.strip("/")
        self._on_change = on_change
        self._inotify: Inotify | None = None
        self._names: dict[int, str | None] = {}
        """Watch to the one name in it that counts; ``None``: all."""
        self._problem = ""

    @property
    def is_watching(self) -> bool:
        """Whether a change would be noticed at once; else the next pass of the timer finds it."""
        return bool(self._names) and not self._problem

    def open(self) -> None:
        """Begin to listen; where the kernel refuses it is logged and the timer has to do."""
        try:
            self._inotify = Inotify()
        except OSError as error:
            self._complain(f"inotify: {error.strerror}")
            return
        asyncio.get_running_loop().add_reader(self._inotify.descriptor, self._drain, self._inotify)

    def close(self) -> None:
        """Listen no more."""
        if self._inotify is not None:
            asyncio.get_running_loop().remove_reader(self._inotify.descriptor)
            self._inotify.close()
            self._inotify = None

    def arm(self) -> None:
        """Watch the folders that are on the way now, before somebody reads them: then no change is missed in between."""
        inotify = self._inotify
        if inotify is None:
            return
        found: dict[int, str | None] = {}
        try:
            for path, name in _steps(self._folder):
                watch = inotify.add(self._host.locate(path), _INSIDE if name is None else _ON_THE_WAY)
                found[watch] = name
        except (OSError, HostReadError) as error:
            if not (isinstance(error, OSError) and error.errno in _NOT_THERE):
                self._complain(str(error))
                return
        old, self._names, self._problem = self._names, found, ""
        for watch in old.keys() - found.keys():
            inotify.remove(watch)

    def _drain(self, inotify: Inotify) -> None:
        counting = [event for event in inotify.read() if self._counts(event)]
        if counting:
            self._on_change()

    def _counts(self, event: Event) -> bool:
        if event.mask & Mask.Q_OVERFLOW:
            _LOG.warning("detector.features_d_overflow", folder=self._folder)
            return True
        if event.watch not in self._names:  # removed by arm
            return False
        name = self._names[event.watch]
        return name is None or event.name == name or bool(event.mask & _ALWAYS)

    def _complain(self, why: str) -> None:
        if why != self._problem:
            _LOG.warning("detector.features_d_not_watched", folder=self._folder, why=why)
        self._problem = why


class WatchedSource(msgspec.Struct, frozen=True):
    """A source that reads a watched folder: the watch is renewed before each reading, in the thread that reads."""

    source: Source
    watch: FolderWatch

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
        self.watch.arm()
        return self.source.read(host)


def _steps(folder: str) -> Iterator[tuple[str, str | None]]:
    """Each folder on the way with the next name; ``("", "etc"), ("etc", "features.d"), ("etc/features.d", None)``."""
    parts = folder.split("/")
    for depth, part in enumerate(parts):
        yield "/".join(parts[:depth]), part
    yield folder, None
