"""Which labelers there are, and which node belongs to which of them.

Nobody is elected: each labeler says every few seconds that it is there, and everyone computes the same owner of each node
from what it hears. Two that hear different things may both serve a node for a while. That harms nothing: they compute the
same labels from the same facts, and every write names the revision that it replaces, so of two writes one is refused.

A labeler counts itself only by its own beats that came back to it over the bus: as long as it cannot hear itself it hears
nobody, and so it writes nothing.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

import msgspec

from nodeworthy.bus.records import Message
from nodeworthy.processes import EventLog
from nodeworthy_labeler.settings import Membership

_LOG = EventLog("labeler")

ENGINE = 1
"""Grows when the same facts and rules may give other labels than before: the nodes then belong to the newer labelers, and
an upgrade does not swing them to and fro."""

MAX_MEMBERS = 64
"""Labelers of one cluster; two are enough for 100,000 nodes."""

_MAX_SENT = 100
"""Own beats that are waited for; they come back at once or never."""


class Beat(Message, frozen=True, kw_only=True):
    """A labeler says that it is there."""

    sender: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    """The labeler's own, made anew at each start."""
    number: int
    engine: int
    is_ready: bool
    """Whether it has read all of its inputs, so that nodes may belong to it."""
    joins: bool = False
    """It has just started, and wants to hear from everybody."""
    leaves: bool = False
    """It will not be there from now on."""


@dataclass(slots=True)
class _Member:
    engine: int
    is_ready: bool
    until: float


class Sharing(ABC):
    """How the nodes are shared; who else is there, each way of membership finds out in its own way."""

    def __init__(self, me: str) -> None:
        self.me = me
        self.is_ready = False
        """Whether this labeler has read its inputs; told with the next sign of life, and counting when that is back."""
        self.owners: tuple[str, ...] = ()
        """Those among whom the nodes are shared now."""

    @abstractmethod
    def __len__(self) -> int:
        """How many labelers there are, this one included."""

    @abstractmethod
    def has_lease(self, seconds: float) -> bool:
        """Whether this labeler may do something that takes so long, before others may take its nodes for their own."""

    def is_mine(self, name: str) -> bool:
        """Whether a node, or any other name that one of all serves, belongs to this labeler."""
        return owner_of(name, self.owners) == self.me

    def gained(self, names: Iterable[str], before: tuple[str, ...]) -> list[str]:
        """Which of these belong to this labeler now and did not belong to it among the owners before."""
        return [name for name in names if self.is_mine(name) and owner_of(name, before) != self.me]

    def share_among(self, ready: Mapping[str, int]) -> bool:
        """Share the nodes among those that are ready, given with their engines; whether nodes have other owners now."""
        newest = max(ready.values(), default=0)
        owners = tuple(sorted(name for name, engine in ready.items() if engine == newest))
        is_new = owners != self.owners
        self.owners = owners
        return is_new


class Members(Sharing):
    """What one labeler knows of all by their beats; ``clock`` is monotonic."""

    def __init__(self, me: str, clock: Callable[[], float], settings: Membership) -> None:
        super().__init__(me)
        self._clock = clock
        self._settings = settings
        self._members: dict[str, _Member] = {}
        self._number = 0
        self._sent: dict[int, float] = {}
        self._lease_end = float("-inf")

    def __len__(self) -> int:
        return len(self._members)

    def make_beat(self, *, leaves: bool = False) -> Beat:
        """The next beat, to be sent at once."""
        self._number += 1
        self._sent[self._number] = self._clock()
        if len(self._sent) > _MAX_SENT:
            del self._sent[next(iter(self._sent))]
        joins = self.me not in self._members
        return Beat(
            sender=self.me, number=self._number, engine=ENGINE, is_ready=self.is_ready, joins=joins, leaves=leaves
        )

    def hear(self, beat: Beat) -> bool:
        """Learn from a beat, also from an own one; whether nodes have other owners now."""
        now = self._clock()
        if beat.leaves:
            self._members.pop(beat.sender, None)
            return self._settle()
        if beat.sender not in self._members and len(self._members) >= MAX_MEMBERS:
            _LOG.error("labeler.too_many_members", about="members", sender=beat.sender, limit=MAX_MEMBERS)
            return False
        if beat.sender == self.me:
            self._hear_myself(beat, now)
        self._members[beat.sender] = _Member(beat.engine, beat.is_ready, now + self._settings.lease)
        return self._settle()

    def expire(self) -> bool:
        """Forget who was not heard of for too long; whether nodes have other owners now."""
        now = self._clock()
        if self.has_lease(0):
            # Who does not hear itself cannot know whether others are silent.
            self._members = {name: one for name, one in self._members.items() if one.until > now}
        return self._settle()

    def has_lease(self, seconds: float) -> bool:
        """Whether this labeler may do something that takes so long, before others may take its nodes for their own."""
        return self._clock() + seconds <= self._lease_end

    def _hear_myself(self, beat: Beat, now: float) -> None:
        sent = self._sent.get(beat.number)
        if sent is None:
            return
        self._sent = {number: time for number, time in self._sent.items() if number > beat.number}
        if not self.has_lease(0):
            # As long as this labeler did not hear itself, it could not hear the others either.
            for member in self._members.values():
                member.until = max(member.until, now + 2 * self._settings.beat)
        self._lease_end = max(self._lease_end, sent + self._settings.lease)

    def _settle(self) -> bool:
        return self.share_among({name: one.engine for name, one in self._members.items() if one.is_ready})


def owner_of(name: str, members: tuple[str, ...]) -> str:
    """To whom a name belongs; empty: to nobody, since there is nobody.

    Rendezvous hashing (Thaler and Ravishankar, 1996): each member has a weight for each name, and the greatest wins. When
    one goes, its names spread over the others, and no other name moves.
    """
    return max(members, key=lambda member: (_weight(member, name), member), default="")


def _weight(member: str, name: str) -> bytes:
    return hashlib.blake2b(f"{member}\0{name}".encode(errors="surrogatepass"), digest_size=8).digest()
