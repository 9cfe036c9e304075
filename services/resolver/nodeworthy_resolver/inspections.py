"""What the files of images say, for whoever asks on the bus: from bucket ``images``, or from a process that looks."""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

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

Look = Callable[[Reference], Awaitable[Inspection]]
"""Looks at the files of an image that is named by the digest of its manifest."""

_REMEMBERED = 1024
"""Images whose result, or that there is none, is remembered: some ten kilobytes each."""
_NONE_SECONDS = 10.0
"""For so long nobody asks the bus again whether somebody else has looked at an image meanwhile."""


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
        self._known: OrderedDict[str, _Known] = OrderedDict()

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
        found = await self._find(image.digest)
        if found is None and wish is not Inspect.KNOWN:
            found = await self._begin(image, knowledge, wish)
        return found

    async def _find(self, digest: str) -> Inspection | None:
        known = self._known.get(digest)
        if known is not None and known.until > self._clock():
            return known.inspection
        kept = await self._cache.read_inspection(digest)
        found = kept.record.inspection if kept.record and kept.record.inspection.engine == self._engine else None
        self._remember(digest, found)
        return found

    async def _begin(self, image: PlatformImage, knowledge: ImageKnowledge, wish: Inspect) -> Inspection | None:
        """Begin to look, or join who does; what is found where somebody waits for it."""
        name = f"inspect {image.digest}"
        reference = parse_reference(knowledge.reference)
        assert isinstance(reference, Reference)
        pinned = replace(reference, digest=parse_digest(image.digest))
        try:
            if wish is Inspect.START:
                self._flights.begin(image.digest, lambda: self._inspect(pinned, image.digest), name=name)
                return None
            return await self._flights.join(image.digest, lambda: self._inspect(pinned, image.digest), name=name)
        except (InspectionError, RegistryError) as error:
            return uninspected(error, self._engine)
        except BusBusyError as error:
            if wish is Inspect.WAIT:
                raise BusBusyError(error.what, why=error.why, todo="ask again in a minute") from error
            return None

    async def _inspect(self, reference: Reference, digest: str) -> Inspection:
        _LOG.info("resolver.inspecting", image=str(reference))
        began = time.monotonic()
        try:
            found = await self._look(reference)
        except NodeworthyError as error:
            self._metrics.inspections.labels("failed").inc()
            _LOG.warning("resolver.inspection_failed", image=str(reference), error=error)
            raise
        self._metrics.inspections.labels("done").inc()
        self._metrics.inspection_seconds.observe(time.monotonic() - began)
        self._remember(digest, found)
        kept = await self._cache.read_inspection(digest)
        record = InspectionRecord(digest=digest, inspection=found, looked=int(self._clock()))
        await self._cache.write(kept, record, seconds=None)
        return found

    def _remember(self, digest: str, found: Inspection | None) -> None:
        # What the bytes of a digest say does not change.
        until = float("inf") if found else self._clock() + _NONE_SECONDS
        self._known[digest] = _Known(found, until)
        self._known.move_to_end(digest)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)


def _is_wanted(image: PlatformImage, wanted: Sequence[Platform]) -> bool:
    """Whether a node of one of these platforms would take it; of none named, every one is."""
    if not wanted or image.platform is None:
        return True
    return any(platforms.preference(one, image.platform) is not None for one in wanted)
