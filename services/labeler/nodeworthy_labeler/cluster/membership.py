"""Who shares the nodes of a cluster: the labelers whose Leases are renewed, and that have read their inputs."""

from collections.abc import Callable, Mapping

from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.lease import LeaseGroup, Membership
from nodeworthy.kubernetes.roll import Lease, LeaseSettings
from nodeworthy.processes import EventLog
from nodeworthy_labeler.members import ENGINE, Sharing

_LOG = EventLog("labeler")

LABELS = {"app.kubernetes.io/name": "nodeworthy", "app.kubernetes.io/component": "labeler"}
"""Which Leases are labelers' (Kubernetes documentation, "Recommended Labels")."""

_ENGINE = "nodeworthy.io/engine"
_READY = "nodeworthy.io/ready"


class LeaseMembers(Sharing):
    """What one labeler knows of all by their Leases; ``on_change`` is told of other owners, with those before."""

    def __init__(
        self,
        me: str,
        client: Client,
        namespace: str,
        settings: LeaseSettings,
        on_change: Callable[[tuple[str, ...]], None],
        on_joined: Callable[[], None],
    ) -> None:
        """``on_joined`` is told when the others are known, and again whenever somebody comes or goes."""
        super().__init__(f"nodeworthy-labeler-{me}")
        self._on_change = on_change
        self._on_joined = on_joined
        group = LeaseGroup(namespace, LABELS)
        self._membership = Membership(
            client, group, self.me, annotations=self._describe, on_change=self._settle, settings=settings
        )

    def __len__(self) -> int:
        return len(self._membership.present)

    @property
    def problem(self) -> str:
        """Why the Lease cannot be kept now; empty when it can."""
        return self._membership.problem

    def has_lease(self, seconds: float) -> bool:
        """Whether this labeler may do something that takes so long, before others may take its nodes for their own."""
        return self._membership.has_lease(seconds)

    def announce(self) -> None:
        """Tell now that this labeler is ready."""
        self._membership.announce()

    async def run(self) -> None:
        """Keep the Lease until cancelled."""
        await self._membership.run()

    def _describe(self) -> Mapping[str, str]:
        return {_ENGINE: str(ENGINE), _READY: str(self.is_ready).lower()}

    def _settle(self) -> None:
        present = self._membership.present
        before = self.owners
        ready = {name: engine for name, lease in present.items() if (engine := _engine_of(lease)) is not None}
        if self.share_among(ready):
            _LOG.info("labeler.members", me=self.me, owners=self.owners)
            self._on_change(before)
        if self.me in present:
            self._on_joined()


def _engine_of(lease: Lease) -> int | None:
    """The engine of a labeler that is ready; ``None`` for others."""
    said = lease.metadata.annotations or {}
    engine = said.get(_ENGINE, "")
    return int(engine) if said.get(_READY) == "true" and engine.isascii() and engine.isdigit() else None
