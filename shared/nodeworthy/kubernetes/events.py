"""Events: what people see under ``kubectl describe``. They are a courtesy: one that cannot be written stops nothing.

``events.k8s.io/v1``. What happens again and again is one Event with a count, written at most once in a while; the rest would
cost the API server more than it tells anybody. Events about Nodes, which have no namespace, must be in ``default``
(``k8s.io/kubernetes``, ``pkg/apis/core/validation/events.go``).
"""

import asyncio
import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import msgspec

from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.refusals import KubernetesError, KubernetesNotFoundError, printable
from nodeworthy.kubernetes.requests import Patch
from nodeworthy.kubernetes.resources import EVENTS, Resource
from nodeworthy.processes import EventLog

_LOG = EventLog("kubernetes")

MAX_NOTE = 1024
"""Bytes of an Event's note, set by the API."""
_NAMESPACE = "default"


class EventType(StrEnum):
    """The two types that there are."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True)
class Regarding:
    """The object that an Event is about."""

    resource: Resource
    name: str
    uid: str
    namespace: str = ""


@dataclass(frozen=True)
class EventSettings:
    """How often Events are written."""

    quiet: float = 600.0
    """Seconds in which the same thing is told at most once; the API server keeps Events for an hour."""
    most: int = 1000
    """Different Events that are remembered; of older ones a repetition is told as new."""


@dataclass(slots=True)
class _Told:
    name: str
    count: int
    """How often it happened, as it was told last and since."""
    due: float


class Recorder:
    """Writes Events in the name of one controller.

    It waits for the API server; who has something else to do calls it from a task of its own.

    Args:
        controller: Such as ``nodeworthy.io/labeler``.
        instance: Which replica; its pod's name.
        clock: Seconds, monotonic.
    """

    def __init__(
        self,
        client: Client,
        controller: str,
        instance: str,
        *,
        manager: str,
        clock: Callable[[], float],
        settings: EventSettings = EventSettings(),
    ) -> None:
        self._client = client
        self._controller = controller
        self._instance = instance
        self._manager = manager
        self._clock = clock
        self._settings = settings
        self._told: OrderedDict[tuple[str, str, str], _Told] = OrderedDict()
        self._writing = asyncio.Lock()

    async def record(
        self, regarding: Regarding, reason: str, note: str, *, action: str, type_: EventType = EventType.NORMAL
    ) -> bool:
        """Tell that something happened to an object; whether a request was made that succeeded.

        ``reason`` (why) and ``action`` (what was done, or not) are words in CamelCase, as ``LabelConflict``; ``note`` is
        a sentence for people, cut at :data:`MAX_NOTE` bytes.
        """
        key = (regarding.uid or regarding.name, reason, note)
        async with self._writing:
            told = self._told.get(key)
            if told is not None:
                self._told.move_to_end(key)
                told.count += 1
                if self._clock() < told.due:
                    return False
            try:
                name = await self._tell_again(told, regarding) if told is not None else ""
                if not name:
                    name = await self._tell(regarding, reason, note, action, type_)
            except KubernetesError as error:
                _LOG.warning("kubernetes.event_not_written", reason=reason, object=regarding.name, error=str(error))
                return False
            self._remember(key, name, told.count if told is not None and told.name == name else 1)
            return True

    def _remember(self, key: tuple[str, str, str], name: str, count: int) -> None:
        self._told[key] = _Told(name, count, self._clock() + self._settings.quiet)
        if len(self._told) > self._settings.most:
            self._told.popitem(last=False)

    async def _tell(self, regarding: Regarding, reason: str, note: str, action: str, type_: EventType) -> str:
        namespace = regarding.namespace or _NAMESPACE
        name = f"{regarding.name[:200]}.{uuid.uuid4().hex[:16]}"
        event = {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": name, "namespace": namespace},
            "eventTime": _now(),
            "reportingController": self._controller,
            "reportingInstance": self._instance[:128],
            "action": action,
            "reason": reason,
            "type": type_,
            "note": _cut(note),
            "regarding": {
                "apiVersion": regarding.resource.api_version,
                "kind": regarding.resource.kind,
                "name": regarding.name,
                "uid": regarding.uid,
                **({"namespace": regarding.namespace} if regarding.namespace else {}),
            },
        }
        body = msgspec.json.encode(event)
        await self._client.request(requests.create(EVENTS, name, body, manager=self._manager, namespace=namespace))
        return name

    async def _tell_again(self, told: _Told, regarding: Regarding) -> str:
        """Add to the Event that is there; empty: it is not there any more."""
        body = msgspec.json.encode({"series": {"count": told.count, "lastObservedTime": _now()}})
        namespace = regarding.namespace or _NAMESPACE
        request = requests.patch(EVENTS, told.name, body, Patch.MERGE, manager=self._manager, namespace=namespace)
        try:
            await self._client.request(request)
        except KubernetesNotFoundError:
            return ""
        return told.name


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _cut(note: str) -> str:
    """At most :data:`MAX_NOTE` bytes, without control characters."""
    return printable(note, MAX_NOTE).encode()[:MAX_NOTE].decode(errors="ignore")
