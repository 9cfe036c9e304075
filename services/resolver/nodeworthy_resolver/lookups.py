"""Looking images up: from the cache what it holds, from registries the rest, the same question once at a time."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import msgspec

from nodeworthy import platforms as platform_names
from nodeworthy.bus.images import ImageRecord, TagRecord
from nodeworthy.bus.requests import ResolveReply, ResolveRequest
from nodeworthy.errors import RegistryError, UsageError
from nodeworthy.images import ImageKnowledge
from nodeworthy.platforms import Platform
from nodeworthy_resolver import disclosure, oci
from nodeworthy_resolver.asking import Admission, AskedStore
from nodeworthy_resolver.cache import ImageCache
from nodeworthy_resolver.flights import Flights
from nodeworthy_resolver.metrics import CacheResult, Metrics
from nodeworthy_resolver.oci import Reference
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.registry import RegistryClient
from nodeworthy_resolver.searches import Searches
from nodeworthy_resolver.settings import Settings


class Question(NamedTuple):
    """What is asked, in canonical form: two callers with equal questions share one lookup."""

    reference: Reference
    platforms: tuple[Platform, ...] | None
    """Whose children of an index are read; ``None``: all."""
    is_fresh: bool


@dataclass(frozen=True)
class Resources:
    """What all lookups of a resolver share."""

    client: RegistryClient
    cache: ImageCache
    admission: Admission
    metrics: Metrics
    clock: Callable[[], float]
    """Unix time, for what is kept."""


class Lookups:
    """Answers questions about images."""

    def __init__(self, resources: Resources, flights: Flights[ResolveReply], settings: Settings) -> None:
        self._resources = resources
        self._flights = flights
        self._settings = settings
        self._callers = Admission(settings.bounds.requests_per_registry)

    async def answer(self, question: Question) -> ResolveReply:
        """What is known of an image.

        Raises:
            BusBusyError: as many requests or lookups are in work as are allowed.
            NodeworthyError: what stopped it; the same question gets the same error for a few seconds.
        """
        name = f"resolve {question.reference}"
        with self._callers.enter(question.reference.host):
            return await self._flights.join(question, lambda: self._look_up(question), name=name)

    async def _look_up(self, question: Question) -> ResolveReply:
        resources = self._resources
        with AskedStore(question.reference, resources.client, resources.admission) as store:
            lookup = Lookup(question, store, resources, self._settings)
            try:
                return disclosure.fit(await lookup.run(), self._settings.bounds.reply_bytes)
            except RegistryError as error:
                resources.metrics.registry_errors.labels(type(error).__name__).inc()
                raise


class Lookup:
    """One question on its way."""

    def __init__(self, question: Question, store: AskedStore, resources: Resources, settings: Settings) -> None:
        self._question = question
        self._store = store
        self._resources = resources
        self._tag_seconds = settings.lifetimes.tag
        self._searches = Searches(
            store,
            resources.cache,
            resources.metrics,
            settings.lifetimes,
            clock=resources.clock,
            is_fresh=question.is_fresh,
        )

    async def run(self) -> ResolveReply:
        """The answer."""
        reference = self._question.reference
        looked = int(self._resources.clock())
        if reference.digest is None:
            digest, looked = await self._find_digest(reference)
        else:
            digest = reference.digest
        knowledge = await self._find_knowledge(digest)
        looked = min(looked, self._searches.looked)
        return ResolveReply(knowledge=msgspec.structs.replace(knowledge, reference=str(reference)), looked=looked)

    async def _find_digest(self, reference: Reference) -> tuple[Digest, int]:
        """What the tag names, and when the registry said so."""
        name = str(reference)
        kept = await self._resources.cache.read_tag(name)
        if kept.record is not None and not self._question.is_fresh and kept.age < self._tag_seconds:
            self._resources.metrics.count_cache(TagRecord.__name__, CacheResult.HIT)
            return Digest(kept.record.digest), kept.record.looked
        self._resources.metrics.count_cache(
            TagRecord.__name__, CacheResult.EXPIRED if kept.record else CacheResult.MISS
        )
        looked = int(self._resources.clock())
        digest = await self._store.read_digest(reference.tag)
        record = TagRecord(reference=name, digest=digest, looked=looked)
        await self._resources.cache.write(kept, record, seconds=self._tag_seconds)
        return digest, looked

    async def _find_knowledge(self, digest: Digest) -> ImageKnowledge:
        kept = await self._resources.cache.read_image(digest)
        known = kept.record.knowledge if kept.record else None
        wanted, search = self._question.platforms, self._searches.search
        if known is None:
            self._resources.metrics.count_cache(ImageRecord.__name__, CacheResult.MISS)
            pinned = replace(self._question.reference, digest=digest)
            knowledge = await oci.resolve_image(self._store, pinned, wanted, search=search)
        else:
            self._resources.metrics.count_cache(ImageRecord.__name__, CacheResult.HIT)
            await self._check_presence(digest)
            knowledge = await oci.complete_image(self._store, known, wanted, search=search)
        knowledge = disclosure.publish(knowledge)
        lasting = oci.lasting(knowledge)
        if lasting != known:
            record = ImageRecord(knowledge=lasting, looked=int(self._resources.clock()))
            await self._resources.cache.write(kept, record, seconds=None)
        return knowledge

    async def _check_presence(self, digest: Digest) -> None:
        """See that the repository has the digest: the bytes are known, perhaps from another one."""
        if self._question.reference.digest is not None and not await self._searches.is_known(digest):
            await self._store.read_digest(digest)


def parse_question(request: ResolveRequest) -> Question:
    """The question that a request asks.

    Raises:
        InvalidReferenceError: it names no image.
        UsageError: it names a folder, or a platform that is none.
    """
    wanted = tuple(sorted({platform_names.parse(name) for name in request.platforms}, key=str))
    return Question(parse_registry_reference(request.reference), wanted or None, request.fresh)


def parse_registry_reference(text: str) -> Reference:
    """The image in a registry that a text names; folders of this machine are not shown to the bus.

    Raises:
        InvalidReferenceError: it names none.
        UsageError: it names a folder.
    """
    reference = oci.parse_reference(text)
    if not isinstance(reference, Reference):
        raise UsageError(f"{text} is not asked", why="the resolver reads registries, no folders", todo="HOST/NAME:TAG")
    return reference
