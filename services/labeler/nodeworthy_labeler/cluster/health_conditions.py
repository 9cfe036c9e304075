"""Keeps the condition ``HardwareFactsHealthy`` of Nodes: whether what is known of their hardware can be relied on.

It is applied under a field manager of its own: an apply removes what its manager owned and does not name, and capacities are
applied on ``/status`` too. Conditions are a map by type there, so those of others are never touched. What it says stands
in an annotation that is written by the same request, so that a restart reads no status and writes nothing.
"""

import asyncio
import dataclasses
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.refusals import (
    KubernetesConflictError,
    KubernetesError,
    KubernetesForbiddenError,
    KubernetesInvalidError,
    KubernetesNotFoundError,
)
from nodeworthy.kubernetes.requests import Request
from nodeworthy.kubernetes.resources import NODES
from nodeworthy.processes import EventLog
from nodeworthy_labeler.cluster.detector_reports import DetectorReports, Health, Report, Verdict
from nodeworthy_labeler.cluster.node_objects import HEALTH_NOTE, NodeObject, write_note
from nodeworthy_labeler.cluster.nodes import ClusterNodes
from nodeworthy_labeler.members import Sharing
from nodeworthy_labeler.settings import ClusterSettings

_LOG = EventLog("labeler")

CONDITION = "HardwareFactsHealthy"
HEALTH_MANAGER = "nodeworthy-health"
"""The field manager of the condition."""

_NO_FACTS = Verdict(Health.UNKNOWN, "NoFacts", "no detector has said anything of this node")
_STALE = Verdict(Health.UNKNOWN, "Stale", "the node's detector has not said again in time what it sees")

_Note = Mapping[str, str]


REFUSED_SECONDS = 600.0
"""After this a refused condition is written again: its owner, or an admission policy, may have changed its mind."""


class _Refused(NamedTuple):
    uid: str
    verdict: Verdict
    until: float


class HealthConditions:
    """Writes the conditions; :meth:`run` does the work.

    Args:
        client: Writes them.
        nodes: All Nodes.
        members: Who writes which.
        reports: What detectors say.
        is_reading: Whether everything was read once, and the bus can be read now.
        settings: How often it is looked, and how old a detector's last word may be.
        clock: Unix time, as the bus stores snapshots.
    """

    def __init__(
        self,
        client: Client,
        nodes: ClusterNodes,
        members: Sharing,
        reports: DetectorReports,
        is_reading: Callable[[], bool],
        settings: ClusterSettings,
        clock: Callable[[], float],
    ) -> None:
        self._client = client
        self._nodes = nodes
        self._members = members
        self._reports = reports
        self._is_reading = is_reading
        self._settings = settings
        self._clock = clock
        self._since: float | None = None
        """Since when the bus has been read without a break."""
        self._refused: dict[str, _Refused] = {}
        """By Node: what the API server did not take."""
        self.written = 0
        """Conditions that were written."""

    async def run(self) -> None:
        """Look at all Nodes now and then, until cancelled."""
        while True:
            await asyncio.sleep(self._settings.health_seconds)
            if not self._is_reading():
                self._since = None
                continue
            self._since = self._clock() if self._since is None else self._since
            try:
                for name in list(self._nodes):
                    node = self._nodes.get(name)
                    if node is not None and self._members.is_mine(name):
                        await self._settle(node, self._since)
            except KubernetesError as error:  # about the server, and not one Node: the next look is soon
                _LOG.warning("labeler.conditions_not_written", about="conditions", error=str(error))
            self._refused = {name: refused for name, refused in self._refused.items() if name in self._nodes}

    async def _settle(self, node: NodeObject, since: float) -> None:
        report = self._reports.get(node.name)
        stale_seconds = self._settings.stale_seconds
        verdict = judge(report, node.health_note, since=since, now=self._clock(), stale_seconds=stale_seconds)
        refused = self._refused.get(node.name)
        is_refused = refused is not None and refused[:2] == (node.uid, verdict) and self._clock() < refused.until
        if verdict is None or is_refused:
            return
        try:
            await self._client.request(self._guarded(make_condition(node, verdict, datetime.now(UTC))))
        except KubernetesNotFoundError:
            return  # the watch will tell
        except (KubernetesForbiddenError, KubernetesInvalidError) as error:
            self._refuse(node, verdict, error)
            return
        except KubernetesConflictError as error:
            if error.conflicts:  # somebody else has this condition; an old resourceVersion only means another look
                self._refuse(node, verdict, error)
            return
        self.written += 1  # until the watch tells, another look writes to an old resourceVersion, which is refused

    def _guarded(self, request: Request) -> Request:
        return dataclasses.replace(request, may_send=self._members.has_lease)

    def _refuse(self, node: NodeObject, verdict: Verdict, error: KubernetesError) -> None:
        _LOG.warning("labeler.condition_refused", about=node.name, node=node.name, error=str(error))
        self._refused[node.name] = _Refused(node.uid, verdict, self._clock() + REFUSED_SECONDS)


def judge(report: Report | None, note: _Note, *, since: float, now: float, stale_seconds: float) -> Verdict | None:
    """What the condition should say; ``None``: what it says.

    ``note`` is what it says; ``since`` is when reading began. While a labeler or the bus was away nobody could be heard: a
    detector counts as silent only after a labeler has listened for as long as it may be silent.
    """
    is_fresh = report is not None and now - report.time <= stale_seconds
    if report is not None and is_fresh:
        verdict = report.verdict
    elif note and now - since <= stale_seconds:
        return None
    else:
        verdict = _NO_FACTS if report is None else _STALE
    is_said = (note.get("status"), note.get("reason")) == (verdict.health, verdict.reason)
    return None if is_said else verdict


def make_condition(node: NodeObject, verdict: Verdict, now: datetime) -> Request:
    """The request that makes the condition say this, if the Node is as it was read."""
    time = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    is_same = node.health_note.get("status") == verdict.health
    since = node.health_note.get("since", time) if is_same else time
    note = {"status": str(verdict.health), "reason": verdict.reason, "since": since}
    condition = {
        "type": CONDITION,
        "status": str(verdict.health),
        "reason": verdict.reason,
        "message": verdict.message,
        "lastHeartbeatTime": time,
        "lastTransitionTime": since,
    }
    return _apply(node, {HEALTH_NOTE: write_note(note)}, {"status": {"conditions": [condition]}})


def make_condition_removal(node: NodeObject) -> Request:
    """The request that removes the condition and its annotation, if the Node is as it was read."""
    return _apply(node, {}, {})


def _apply(node: NodeObject, annotations: _Note, rest: Mapping[str, Any]) -> Request:
    metadata: dict[str, Any] = {"name": node.name, "uid": node.uid, "resourceVersion": node.resource_version}
    if annotations:
        metadata["annotations"] = annotations
    body = {"apiVersion": NODES.api_version, "kind": NODES.kind, "metadata": metadata, **rest}
    return requests.apply(NODES, node.name, msgspec.json.encode(body), manager=HEALTH_MANAGER, subresource="status")
