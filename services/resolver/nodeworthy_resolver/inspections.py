"""What the files of images say, for whoever asks on the bus: from bucket ``images``, or from a process that looks."""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import msgspec

from nodeworthy import platforms
from nodeworthy.bus.images import InspectionRecord
from nodeworthy.bus.requests import Inspect, ResolveReply
from nodeworthy.errors import BusBusyError, InspectionError, NodeworthyError, RegistryError
from nodeworthy.images import ImageKnowledge, PlatformImage, with_inspections
from nodeworthy.platforms import Platform
from nodeworthy.processes import EventLog
from nodeworthy.requirements import Inspection, uninspected
from nodeworthy_resolver import disclosure
from nodeworthy_resolver.cache import ImageCache
from nodeworthy_resolver.flights import Flights
from nodeworthy_resolver.metrics import Metrics
from nodeworthy_resolver.oci import Reference, parse_reference
from nodeworthy_resolver.oci.digests import parse_digest
from nodeworthy_resolver.settings import InspectionSettings, InspectWhen

_LOG = EventLog("resolver")

Look = Callable[[Reference, Platform | None], Awaitable[Inspection]]
"""Looks at the files of an image that is named by the digest of its manifest; the platform is what only an index says."""

_REMEMBERED = 1024
"""Images whose result, or that there is none, is remembered: some ten kilobytes each."""
_NONE_SECONDS = 10.0
"""For so long nobody asks the bus again whether somebody else has looked at an image meanwhile."""


class _Subject(NamedTuple):
    """What is looked at. What its bytes say does not change, for one platform."""

    digest: str
    claimed: Platform | None
    """Where only the index says it; else the config decides, whatever an index says."""

    @classmethod
    def of(cls, image: PlatformImage) -> Self:
        # Without a notice nobody has read the config, which then may say something.
        is_silent = image.configured is None and bool(image.notices)
        return cls(image.digest, image.claimed if is_silent else None)

    @property
    def claim(self) -> str:
        """For the cache; empty if there is none."""
        return str(self.claimed) if self.claimed else ""


@dataclass(frozen=True)
class _Known:
    inspection: Inspection | None
    until: float


class Inspections:
    """Completes answers with what files say."""

    def __init__(
        self,
        look: Look,
        cache: ImageCache,
        flights: Flights[Inspection],
        settings: InspectionSettings,
        metrics: Metrics,
        *,
        engine: int,
        reply_bytes: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``engine`` is the edition that counts, ``reply_bytes`` the most of one answer; ``clock`` gives Unix time."""
        self._look = look
        self._cache = cache
        self._flights = flights
        self._settings = settings
        self._metrics = metrics
        self._engine = engine
        self._reply_bytes = reply_bytes
        self._clock = clock
        self._known: OrderedDict[_Subject, _Known] = OrderedDict()

    async def complete(self, reply: ResolveReply, wanted: Sequence[Platform], inspect: Inspect) -> ResolveReply:
        """The answer with what is known of the files of images for these platforms, or of all, as ``inspect`` wishes."""
        wish = self._wish(inspect)
        knowledge = reply.knowledge
        found = {
            image.digest: inspection
            for image in knowledge.images
            if image.kind is None and image.digest and _is_wanted(image, wanted)
            if (inspection := await self._learn(image, knowledge, wish)) is not None
        }
        if not found:
            return reply
        completed = with_inspections(knowledge, found)
        return disclosure.fit(msgspec.structs.replace(reply, knowledge=completed), self._reply_bytes)

    def _wish(self, asked: Inspect) -> Inspect:
        if self._settings.when is InspectWhen.NEVER:
            return Inspect.KNOWN
        if self._settings.when is InspectWhen.ALWAYS and asked is Inspect.KNOWN:
            return Inspect.START
        return asked

    async def _learn(self, image: PlatformImage, knowledge: ImageKnowledge, wish: Inspect) -> Inspection | None:
        subject = _Subject.of(image)
        found = await self._find(subject)
        if found is None and wish is not Inspect.KNOWN:
            found = await self._begin(subject, knowledge, wish)
        return found

    async def _find(self, subject: _Subject) -> Inspection | None:
        known = self._known.get(subject)
        if known is not None and known.until > self._clock():
            return known.inspection
        kept = await self._cache.read_inspection(subject.digest, subject.claim)
        found = kept.record.inspection if kept.record and kept.record.inspection.engine == self._engine else None
        self._remember(subject, found)
        return found

    async def _begin(self, subject: _Subject, knowledge: ImageKnowledge, wish: Inspect) -> Inspection | None:
        """Begin to look, or join who does; what is found where somebody waits for it."""
        name = f"inspect {subject.digest}"
        reference = parse_reference(knowledge.reference)
        assert isinstance(reference, Reference)
        pinned = replace(reference, digest=parse_digest(subject.digest))
        try:
            if wish is Inspect.START:
                self._flights.begin(subject, lambda: self._inspect(pinned, subject), name=name)
                return None
            return await self._flights.join(subject, lambda: self._inspect(pinned, subject), name=name)
        except (InspectionError, RegistryError) as error:
            return uninspected(error, self._engine)
        except BusBusyError as error:
            if wish is Inspect.WAIT:
                raise BusBusyError(error.what, why=error.why, todo="ask again in a minute") from error
            return None

    async def _inspect(self, reference: Reference, subject: _Subject) -> Inspection:
        _LOG.info("resolver.inspecting", image=str(reference))
        began = time.monotonic()
        try:
            found = await self._look(reference, subject.claimed)
        except NodeworthyError as error:
            self._metrics.inspections.labels("failed").inc()
            _LOG.warning("resolver.inspection_failed", image=str(reference), error=error)
            raise
        self._metrics.inspections.labels("done").inc()
        self._metrics.inspection_seconds.observe(time.monotonic() - began)
        self._remember(subject, found)
        kept = await self._cache.read_inspection(subject.digest, subject.claim)
        record = InspectionRecord(
            digest=subject.digest, inspection=found, looked=int(self._clock()), claimed=subject.claim
        )
        await self._cache.write(kept, record, seconds=None)
        return found

    def _remember(self, subject: _Subject, found: Inspection | None) -> None:
        until = float("inf") if found else self._clock() + _NONE_SECONDS
        self._known[subject] = _Known(found, until)
        self._known.move_to_end(subject)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)


def _is_wanted(image: PlatformImage, wanted: Sequence[Platform]) -> bool:
    """Whether a node of one of these platforms would take it; of none named, every one is."""
    if not wanted or image.platform is None:
        return True
    return any(platforms.preference(one, image.platform) is not None for one in wanted)
