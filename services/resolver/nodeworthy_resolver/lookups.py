"""Looking images up: from the cache what it holds, from registries the rest, the same question once at a time."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import msgspec

from nodeworthy import platforms as platform_names
from nodeworthy.bus.images import ImageRecord, TagRecord
from nodeworthy.bus.requests import ResolveReply, ResolveRequest
from nodeworthy.bus.store import Store
from nodeworthy.errors import RegistryBusyError, RegistryError, RegistryUnreachableError, UsageError
from nodeworthy.images import ImageKnowledge
from nodeworthy.platforms import Platform
from nodeworthy_resolver import disclosure, moves, oci
from nodeworthy_resolver.asking import Admission, AskedStore
from nodeworthy_resolver.cache import ImageCache, Kept
from nodeworthy_resolver.flights import Flights
from nodeworthy_resolver.metrics import CacheResult, Metrics
from nodeworthy_resolver.oci import Reference
from nodeworthy_resolver.oci.concurrency import run_pair, run_three
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.registry import RegistryClient
from nodeworthy_resolver.searches import Searches
from nodeworthy_resolver.settings import Settings
from nodeworthy_resolver.turns import TurnOverError, turn

MAX_REMEMBERED = 4096
"""Tags whose last digest is remembered, to read all that is kept of an image at once: a megabyte."""


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
    store: Store
    """The bus, for turns and for what others want to hear."""
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
        self.remembered: dict[str, Digest] = {}
        """What tags named last: a guess at what they name now."""

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
        if question.is_fresh:
            return await self._look(question)
        asked = f"{question.reference} for {', '.join(map(str, question.platforms or ())) or 'all'}"
        seconds, clock = self._settings.lifetimes.failure, self._resources.clock
        async with turn(self._resources.store, asked, failure_seconds=seconds, clock=clock) as mine:
            try:
                return await self._look(question, mine.begin)
            except TurnOverError as over:
                if over.failure is not None:
                    raise over.failure from None
                return await self._look(question)

    async def _look(self, question: Question, before: Callable[[], Awaitable[None]] | None = None) -> ResolveReply:
        resources = self._resources
        with AskedStore(question.reference, resources.client, resources.admission, before) as store:
            name = str(question.reference)
            lookup = Lookup(question, store, resources, self._settings, self.remembered.get(name))
            try:
                reply = disclosure.fit(await lookup.run(), self._settings.bounds.reply_bytes)
            except RegistryError as error:
                resources.metrics.registry_errors.labels(type(error).__name__).inc()
                raise
            self._remember(name, Digest(reply.knowledge.digest))
            return reply

    def _remember(self, name: str, digest: Digest) -> None:
        if name not in self.remembered and len(self.remembered) >= MAX_REMEMBERED:
            self.remembered.pop(next(iter(self.remembered)))
        self.remembered[name] = digest


class Lookup:
    """One question on its way."""

    def __init__(
        self,
        question: Question,
        store: AskedStore,
        resources: Resources,
        settings: Settings,
        expected: Digest | None = None,
    ) -> None:
        """``expected`` is the digest that the tag will probably have: what is kept of it is read beside the tag."""
        self._question = question
        self._expected = expected
        self._images: dict[Digest, Kept[ImageRecord]] = {}
        self._store = store
        self._resources = resources
        self._lifetimes = settings.lifetimes
        self._moved_from: Digest | None = None
        self._notices: tuple[str, ...] = ()
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
        reference, cache = self._question.reference, self._resources.cache
        looked = int(self._resources.clock())
        if reference.digest is not None:
            digest = reference.digest
        elif self._expected is not None:
            (digest, looked), self._images[self._expected], _ = await run_three(
                self._find_digest(reference), cache.read_image(self._expected), self._searches.prepare(self._expected)
            )
        else:
            digest, looked = await self._find_digest(reference)
        knowledge = await self._find_knowledge(digest)
        if self._moved_from is not None:
            await self._tell_move(self._moved_from, knowledge, looked)
        notices = (*knowledge.notices, *self._notices)
        knowledge = msgspec.structs.replace(knowledge, reference=str(reference), notices=notices)
        return ResolveReply(knowledge=knowledge, looked=min(looked, self._searches.looked))

    async def _tell_move(self, before: Digest, knowledge: ImageKnowledge, looked: int) -> None:
        kept = await self._resources.cache.read_image(before)
        if kept.record is not None:
            reference = str(self._question.reference)
            await moves.tell(self._resources.store, reference, kept.record.knowledge, knowledge, looked)

    async def _find_digest(self, reference: Reference) -> tuple[Digest, int]:
        """What the tag names, and when the registry said so."""
        name = str(reference)
        kept = await self._resources.cache.read_tag(name)
        if kept.record is not None and not self._question.is_fresh and kept.age < self._lifetimes.tag:
            self._resources.metrics.count_cache(TagRecord.__name__, CacheResult.HIT)
            return Digest(kept.record.digest), kept.record.looked
        self._resources.metrics.count_cache(
            TagRecord.__name__, CacheResult.EXPIRED if kept.record else CacheResult.MISS
        )
        looked = int(self._resources.clock())
        try:
            digest = await self._ask_tag(reference.tag, is_new=kept.record is None)
        except (RegistryUnreachableError, RegistryBusyError) as error:
            return self._stand_in(kept, error)
        record = TagRecord(reference=name, digest=digest, looked=looked)
        seconds = max(self._lifetimes.tag, self._lifetimes.stale)
        is_written = await self._resources.cache.write(kept, record, seconds=seconds)
        if is_written and kept.record is not None and kept.record.digest != digest:
            self._moved_from = Digest(kept.record.digest)  # whoever wrote it tells, so that one resolver does
        return digest, looked

    async def _ask_tag(self, tag: str, *, is_new: bool) -> Digest:
        """What a tag names now.

        One that was asked before mostly names the same, and the HEAD that finds out counts against no limit. A new one's
        manifest has to be read in any case: one request in place of two.
        """
        return (await self._store.resolve(tag)).digest if is_new else await self._store.read_digest(tag)

    def _stand_in(self, kept: Kept[TagRecord], error: RegistryError) -> tuple[Digest, int]:
        """What the tag named before, while its registry is down; that it may have moved is told."""
        record = kept.record
        if record is None or self._question.is_fresh or kept.age >= self._lifetimes.stale:
            raise error
        self._resources.metrics.count_cache(TagRecord.__name__, CacheResult.STALE)
        self._notices = (
            f"the registry cannot be asked what the tag names now; it named this {kept.age:.0f} s ago",
            str(error),
        )
        return Digest(record.digest), record.looked

    async def _find_knowledge(self, digest: Digest) -> ImageKnowledge:
        kept = self._images.get(digest) or await self._read(digest)
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

    async def _read(self, digest: Digest) -> Kept[ImageRecord]:
        """What the cache holds of a digest, and of what is attached to it."""
        kept, _ = await run_pair(self._resources.cache.read_image(digest), self._searches.prepare(digest))
        return kept

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
        raise UsageError(
            f"{text} is not asked",
            why="the resolver reads registries, no folders and no archives",
            todo="put it into a registry, and name it as HOST/NAME:TAG; or ask without the bus",
        )
    return reference
