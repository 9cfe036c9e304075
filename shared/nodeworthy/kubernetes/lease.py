"""Membership: one Lease for each replica (``coordination.k8s.io/v1``), renewed every few seconds, and who else renews one.

Who is there is judged by :mod:`nodeworthy.kubernetes.roll`. What a frozen replica still does after its time the
resourceVersion of each write refuses.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import msgspec

from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.client import Client, decode
from nodeworthy.kubernetes.refusals import KubernetesConflictError, KubernetesError, KubernetesNotFoundError
from nodeworthy.kubernetes.requests import Patch, Request
from nodeworthy.kubernetes.resources import LEASES
from nodeworthy.kubernetes.roll import DEFAULT_SETTINGS, Lease, LeaseSettings, Roll
from nodeworthy.processes import EventLog

_LOG = EventLog("kubernetes")

_MANAGER = "nodeworthy"
_LOOKS = 4
"""How often in one :attr:`LeaseSettings.renew` it is looked whether somebody's time is over."""


def boot_time() -> float:
    """Seconds on a clock that never goes back and counts the time in which the machine was suspended, as others do."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(frozen=True)
class LeaseGroup:
    """The replicas that share something."""

    namespace: str
    """Where their Leases are."""
    labels: Mapping[str, str]
    """Which their Leases have and no others."""


class _LeaseList(msgspec.Struct, frozen=True):
    items: list[Lease] | None = None


class Membership:
    """Keeps this replica's Lease and reads those of all.

    Args:
        client: Its requests for Leases wait behind no others.
        group: Whose Lease it is one of.
        name: Of our Lease; the replica's own, made anew at each start.
        annotations: What this replica says of itself, asked at each renewal.
        on_change: Told when others are there than before, or say something else of themselves.
        clock: Seconds, monotonic.
    """

    def __init__(
        self,
        client: Client,
        group: LeaseGroup,
        name: str,
        *,
        annotations: Callable[[], Mapping[str, str]],
        on_change: Callable[[], None],
        settings: LeaseSettings = DEFAULT_SETTINGS,
        clock: Callable[[], float] = boot_time,
    ) -> None:
        self.name = name
        self.problem = ""
        """Why the Lease cannot be kept now; empty when it can."""
        self._client = client
        self._namespace = group.namespace
        self._labels = dict(group.labels)
        self._annotations = annotations
        self._on_change = on_change
        self._settings = settings
        self._clock = clock
        self._roll = Roll(name, clock, settings)
        self._wake = asyncio.Event()

    @property
    def present(self) -> Mapping[str, Lease]:
        """The Leases of those who are there, by name; our own is among them once it was read back."""
        return self._roll.present

    def has_lease(self, seconds: float) -> bool:
        """Whether this replica may do something that takes so long, before others may take its nodes for their own."""
        return self._roll.has_lease(seconds)

    def announce(self) -> None:
        """Renew now: the annotations have changed."""
        self._wake.set()

    async def run(self) -> None:
        """Keep the Lease until cancelled, then remove it, so that the others need not wait."""
        try:
            while True:
                is_good = await self._beat()
                await self._wait(self._settings.renew if is_good else self._settings.retry)
        finally:
            await self._leave()

    async def _beat(self) -> bool:
        try:
            await self._renew()
            page = await self._client.request(self._urgent(self._list_request()))
            leases = decode(page.body, _LeaseList, "the Leases cannot be read").items or []
            self._note(changed=self._roll.observe(leases))
            await self._sweep()
        except KubernetesError as error:
            self._note_problem(str(error))
            return False
        self._note_problem("")
        return True

    async def _renew(self) -> None:
        sent = self._clock()
        body = self._describe()
        patch = requests.patch(LEASES, self.name, body, Patch.MERGE, manager=_MANAGER, namespace=self._namespace)
        try:
            await self._client.request(self._urgent(patch))
        except KubernetesNotFoundError:
            self._roll.note_lost()
            sent = self._clock()
            make = requests.create(LEASES, self.name, body, manager=_MANAGER, namespace=self._namespace)
            await self._client.request(self._urgent(make))
        self._roll.note_renewed(sent)

    def _describe(self) -> bytes:
        metadata = {"name": self.name, "labels": self._labels, "annotations": dict(self._annotations())}
        spec = {
            "holderIdentity": self.name,
            "leaseDurationSeconds": self._settings.duration,
            "renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),  # for people; nobody judges by it
        }
        lease = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata, "spec": spec}
        return msgspec.json.encode(lease)

    def _list_request(self) -> Request:
        selector = ",".join(f"{name}={value}" for name, value in sorted(self._labels.items()))
        request = requests.list_all(LEASES, namespace=self._namespace, label_selector=selector)
        return replace(request, query={**request.query, "limit": str(self._settings.most)})

    def _urgent(self, request: Request) -> Request:
        return replace(request, is_urgent=True, timeout=self._settings.timeout)

    async def _sweep(self) -> None:
        """Remove Leases that crashed replicas left."""
        for lease in self._roll.forgotten():
            name, uid, version = lease.metadata.name, lease.metadata.uid, lease.metadata.resource_version
            remove = requests.delete(LEASES, name, namespace=self._namespace, uid=uid, resource_version=version)
            with contextlib.suppress(KubernetesNotFoundError, KubernetesConflictError):  # another replica was first
                await self._client.request(self._urgent(remove))
                _LOG.info("kubernetes.lease_removed", name=name)

    async def _wait(self, seconds: float) -> None:
        """Wait until the next renewal; others are looked after more often, since their time ends at any moment."""
        loop = asyncio.get_running_loop()
        due = loop.time() + seconds
        while (left := due - loop.time()) > 0 and not self._wake.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left, self._settings.renew / _LOOKS)):
                    await self._wake.wait()
            self._note(changed=self._roll.expire())
        self._wake.clear()

    async def _leave(self) -> None:
        remove = requests.delete(LEASES, self.name, namespace=self._namespace)
        try:
            await self._client.request(self._urgent(remove))
        except KubernetesError as error:  # the others notice it by the time
            _LOG.debug("kubernetes.lease_left", name=self.name, error=str(error))

    def _note(self, *, changed: bool) -> None:
        if changed:
            self._on_change()

    def _note_problem(self, problem: str) -> None:
        if problem != self.problem:  # said once, not at every try
            if problem:
                _LOG.warning("kubernetes.lease_failed", name=self.name, error=problem)
            else:
                _LOG.info("kubernetes.lease_works", name=self.name)
        self.problem = problem
