"""A kind of objects as it is and as it changes: all of it first, a mark that this was all, then every change.

As :mod:`nodeworthy.bus.watching` for a bucket. It lists in pages, then watches from the list's version on, and after a
lost connection from the last version that it saw: no change is passed over, and none is told twice. Where that version is
compacted (410), or the server fails in a way that leaves doubt, it lists again and tells what differs from what was told;
so it does now and then without a reason, since nothing else finds an event that something in between has lost.

A list of Kubernetes is complete: what it does not hold is gone.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, replace

import msgspec

from nodeworthy.kubernetes import watch_stream
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.metadata import Identity, is_older, read_identity
from nodeworthy.kubernetes.refusals import (
    KubernetesBusyError,
    KubernetesContentError,
    KubernetesError,
    KubernetesForbiddenError,
    KubernetesNotFoundError,
    KubernetesUnauthorizedError,
    KubernetesUnreachableError,
)
from nodeworthy.kubernetes.requests import METADATA, METADATA_LIST, Request
from nodeworthy.kubernetes.watch_stream import EventType
from nodeworthy.processes import EventLog

_LOG = EventLog("kubernetes")

_SAYS_NOTHING = (
    KubernetesUnreachableError,
    KubernetesBusyError,
    KubernetesUnauthorizedError,
    KubernetesForbiddenError,
)
"""Failures that say nothing of the objects; the watch then goes on from its version. After any other there is doubt."""
_AT_ONCE = 1.0
"""Seconds; a watch that ends sooner without a word is none: something in between does not let answers go on."""


@dataclass(frozen=True)
class ReflectorSettings:
    """The times of a reflector, in seconds."""

    watch: float = 300.0
    """How long one watch lasts at least; twice it at most, so that not all begin anew at once. As client-go."""
    idle: float = 150.0
    """Without a byte for so long the connection counts as lost; bookmarks come about every minute."""
    relist: float = 3600.0
    """How long an event that was lost may stay so; a list of the metadata of 1,000 Nodes costs the server 0.13 s."""
    retry_first: float = 0.25
    """After a failure; it doubles up to :attr:`retry_most`, jittered by a half."""
    retry_most: float = 10.0
    page: int = 500
    """Objects in one page of a list: what is held in memory at a time."""


@dataclass(frozen=True, slots=True)
class Put:
    """An object is this now."""

    key: str
    """``namespace/name``, or the name alone."""
    data: bytes
    """JSON."""
    uid: str
    resource_version: str


@dataclass(frozen=True, slots=True)
class Gone:
    """An object is gone; another one may come under its key."""

    key: str
    uid: str


@dataclass(frozen=True, slots=True)
class Complete:
    """Every object has been told, at the beginning or again after a list."""

    is_first: bool


@dataclass(frozen=True, slots=True)
class Absent:
    """The server has no such kind of objects (404): its definition is not installed, or just being replaced.

    Told once, and again after the kind was there. What was told of its objects stands until a list says otherwise.
    """


Change = Put | Gone | Complete | Absent


@dataclass(frozen=True, slots=True)
class _Known:
    uid: str
    resource_version: str


class Reflector:
    """Follows the objects of one list; iterate :meth:`changes` once."""

    def __init__(self, client: Client, objects: Request, settings: ReflectorSettings = ReflectorSettings()) -> None:
        """``objects`` is what :func:`nodeworthy.kubernetes.requests.list_all` makes."""
        self._client = client
        self._objects = objects
        self._settings = settings
        self._known: dict[str, _Known] = {}
        self._version = ""
        """Up to which everything was told; empty: list first."""
        self._list_due = 0.0
        self._is_complete = False
        self._is_absent = False
        self._failures = 0
        self.problem = ""
        """Why the objects cannot be followed now; empty when they can."""

    async def changes(self) -> AsyncGenerator[Change]:
        """Every change, for ever; failures of the server are waited out."""
        while True:
            try:
                async with contextlib.aclosing(self._follow()) as found:
                    async for change in found:
                        yield change
            except KubernetesError as error:
                self._note_failure(error)
                if isinstance(error, KubernetesNotFoundError) and not self._is_absent:
                    self._is_absent = True
                    yield Absent()
                await self._pause()

    def _note_failure(self, error: KubernetesError) -> None:
        self._failures += 1
        self._note_problem(str(error))
        if not isinstance(error, _SAYS_NOTHING):
            self._version = ""

    async def _follow(self) -> AsyncGenerator[Change]:
        """One list, if it is time to, and one watch."""
        if not self._version or time.monotonic() >= self._list_due:
            async with contextlib.aclosing(self._list()) as listed:
                async for change in listed:
                    yield change
        async with contextlib.aclosing(self._watch()) as watched:
            async for change in watched:
                yield change

    async def _list(self) -> AsyncGenerator[Change]:
        self._version = ""
        version = ""
        seen: set[str] = set()
        async for page in self._client.pages(self._objects, size=self._settings.page):
            version = page.metadata.resource_version
            for item in page.items or ():
                identity = self._identify(item)
                seen.add(identity.key)
                for change in self._learn(identity, item):
                    yield change
        for key in [key for key in self._known if key not in seen]:
            yield Gone(key, self._known.pop(key).uid)
        self._version = version
        self._list_due = time.monotonic() + self._settings.relist * _jitter()
        self._is_absent = False
        self._failures = 0
        self._note_problem("")
        yield Complete(is_first=not self._is_complete)
        self._is_complete = True

    async def _watch(self) -> AsyncGenerator[Change]:
        request = self._watch_request()
        begun, is_silent = time.monotonic(), True
        async with self._client.streaming(request, idle=self._settings.idle) as pieces:
            self._note_problem("")
            async for line in watch_stream.split_lines(pieces, request.what):
                event = watch_stream.parse_event(line, request.what)
                is_silent, self._failures = False, 0
                if event.type == EventType.BOOKMARK:
                    self._version = watch_stream.parse_bookmark(event.object, request.what)
                    continue
                identity = self._identify(event.object)
                if is_older(identity.resource_version, self._version):
                    continue  # told twice: changes come in the order of their versions
                is_deleted = event.type == EventType.DELETED
                for change in self._forget(identity) if is_deleted else self._learn(identity, event.object):
                    yield change
                self._version = identity.resource_version
        if is_silent and time.monotonic() - begun < _AT_ONCE:
            raise KubernetesUnreachableError(
                request.what,
                why="the watch ended at once",
                todo="does a proxy in between let answers go on for minutes?",
                was_sent=True,
            )

    def _watch_request(self) -> Request:
        seconds = self._settings.watch * (2 * _jitter())
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(max(1, round(seconds))),
        }
        accept = METADATA if self._objects.accept == METADATA_LIST else self._objects.accept
        return replace(self._objects, query={**self._objects.query, **query}, accept=accept)

    def _identify(self, data: msgspec.Raw) -> Identity:
        try:
            return read_identity(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise KubernetesContentError(self._objects.what, why=f"an object has no identity: {error}") from error

    def _learn(self, identity: Identity, data: msgspec.Raw) -> Iterable[Change]:
        known = self._known.get(identity.key)
        now = _Known(identity.uid, identity.resource_version)
        if known == now:
            return
        if known is not None and known.uid != now.uid:
            yield Gone(identity.key, known.uid)
        self._known[identity.key] = now
        yield Put(identity.key, bytes(data), identity.uid, identity.resource_version)

    def _forget(self, identity: Identity) -> Iterable[Change]:
        known = self._known.get(identity.key)
        # An old removal, told again, is not one of what has come under the same name since.
        if known is not None and known.uid == identity.uid:
            del self._known[identity.key]
            yield Gone(identity.key, known.uid)

    async def _pause(self) -> None:
        longest = min(self._settings.retry_first * 2 ** min(self._failures - 1, 16), self._settings.retry_most)
        await asyncio.sleep(longest * _jitter())

    def _note_problem(self, problem: str) -> None:
        if problem != self.problem:  # said once, not at every try
            if problem:
                _LOG.warning("kubernetes.watch_failed", path=self._objects.path, error=problem)
            else:
                _LOG.info("kubernetes.watch_works", path=self._objects.path)
        self.problem = problem


def _jitter() -> float:
    """From a half to one: clients must not come in step."""
    return 0.5 + random.random() / 2  # noqa: S311 # no secret
