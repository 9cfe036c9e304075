"""Who of several replicas is there, told from their Leases; no input or output.

A Lease holds the wall clock of whoever wrote it, and clocks differ; nobody judges by it here. A replica is there for as long
after its Lease was last *seen to change* as the Lease says, on the clock of whoever looks; and it counts itself as there for
as long after it *sent* the renewal that succeeded. The second time ends before the first, whatever the clocks say.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import msgspec

from nodeworthy.kubernetes.metadata import ObjectMeta

_SHORTEST, _LONGEST = 1, 60
"""Seconds that another Lease may say it lasts; whoever writes an hour must not be waited for so long."""


@dataclass(frozen=True)
class LeaseSettings:
    """The times of membership, in seconds, and its bounds."""

    renew: float = 3.0
    duration: int = 10
    """Whole seconds, as the API has it; two renewals may fail before a replica counts as gone."""
    retry: float = 1.0
    """After a renewal that failed."""
    timeout: float = 2.5
    """For one request."""
    forget: float = 600.0
    """How long a Lease that nobody renews is left; then whoever sees it removes it. Crashed replicas leave theirs."""
    most: int = 500
    """Leases that are read, of crashed replicas too; two replicas are enough for 100,000 nodes."""


DEFAULT_SETTINGS = LeaseSettings()


class LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The part of a Lease that is read."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None


class Lease(msgspec.Struct, frozen=True):
    """A Lease as the API gives it."""

    metadata: ObjectMeta
    spec: LeaseSpec | None = None


@dataclass(slots=True)
class _Member:
    lease: Lease
    until: float
    seen: float


class Roll:
    """Who is there, from the Leases that were seen; no input or output. ``clock`` is monotonic, in seconds."""

    def __init__(self, me: str, clock: Callable[[], float], settings: LeaseSettings) -> None:
        self._me = me
        self._clock = clock
        self._settings = settings
        self._members: dict[str, _Member] = {}
        self._lease_end = float("-inf")
        self._observed = float("-inf")
        self.present: Mapping[str, Lease] = {}
        """The Leases of those who are there, our own among them, by name."""

    def has_lease(self, seconds: float) -> bool:
        """Whether this replica may do something that takes so long, before others may count it as gone."""
        return self._clock() + seconds <= self._lease_end

    def note_renewed(self, sent: float) -> None:
        """Our Lease was renewed by a request that was sent then."""
        self._lease_end = max(self._lease_end, sent + self._settings.duration)

    def note_lost(self) -> None:
        """Our Lease is not there: others count this replica as gone, or never knew it."""
        self._lease_end = float("-inf")

    def observe(self, leases: Iterable[Lease]) -> bool:
        """Learn from a list of all Leases; whether others are there now than before."""
        now = self._clock()
        before, self._members = self._members, {}
        for lease in leases:
            name = lease.metadata.name
            known = before.get(name)
            if known is not None and _state_of(known.lease) == _state_of(lease):
                self._members[name] = known
            else:
                self._members[name] = _Member(lease, now + _duration_of(lease, self._settings), now)
        if before and now - self._observed > 2 * self._settings.renew:
            # Who could not read for so long cannot know whether others could write.
            for member in self._members.values():
                member.until = max(member.until, now + 2 * self._settings.renew)
        self._observed = now
        return self._settle()

    def expire(self) -> bool:
        """Count as gone whose time is over; whether others are there now than before.

        Nobody is, as long as our own Lease has ended: we do not hear the others then.
        """
        return self.has_lease(0) and self._settle()

    def forgotten(self) -> list[Lease]:
        """Leases of others that have not changed for so long that they are to be removed."""
        latest = self._clock() - self._settings.forget
        return [one.lease for name, one in self._members.items() if name != self._me and one.seen < latest]

    def _settle(self) -> bool:
        now = self._clock()
        present = {name: one.lease for name, one in sorted(self._members.items()) if one.until > now}
        is_new = _signs_of(present) != _signs_of(self.present)
        self.present = present
        return is_new


def _state_of(lease: Lease) -> tuple[str, str]:
    return lease.metadata.uid, lease.metadata.resource_version


def _duration_of(lease: Lease, settings: LeaseSettings) -> float:
    seconds = (lease.spec.lease_duration_seconds if lease.spec else None) or settings.duration
    return float(min(max(seconds, _SHORTEST), _LONGEST))


def _signs_of(present: Mapping[str, Lease]) -> dict[str, Mapping[str, str]]:
    return {name: lease.metadata.annotations or {} for name, lease in present.items()}
