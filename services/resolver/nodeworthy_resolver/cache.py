"""What bucket ``images`` holds, for all resolvers of a cluster: reading it with distrust, writing it without overwriting.

Only the resolvers' user may write the bucket; the bus enforces that. Whoever could write it decides what images declare,
since nothing proves that an artifact is the newest one attached: registries do not sign their lists. What can be checked is
checked on every read, against corruption and against a key whose content belongs under another one: an entry decodes, is of
a format that is known, speaks of the very digest, reference or repository of its key, names artifacts of that subject only,
and is not from the future. An entry that fails counts as absent, is told, and is overwritten by what the registry says.

The cache is a convenience: where the bus does not answer, registries are asked. The kinds of entries:

``sha256-<hex>``
    what the bytes of a digest say, the same in every repository; for ever.
``scan-<hex>``
    what the files of a manifest's image say; for ever, for one edition of the inspection.
``tag-<hex of host/repository:tag>``
    the digest that the tag had; believed for a minute, and kept for a day, for the case that the registry is down, and to
    tell what a tag lost that moved.
``tag-<hex of host/repository@digest>``
    the artifact attached to the digest in that repository; an hour, or five minutes where there was none.
``tag-<hex of turn QUESTION>``
    somebody asks a registry that question just now, or was told a moment ago that there is no such image
    (:mod:`nodeworthy_resolver.turns`); some seconds.

A writer names the revision that it saw before it asked the registry. So an answer that was under way while an artifact was
attached (which removes the entry) never covers what came after it.
"""

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from nodeworthy.bus import keys, payloads
from nodeworthy.bus.images import ImageRecord, InspectionRecord, TagRecord
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.store import Store
from nodeworthy.errors import BusConflictError, BusError, PayloadError
from nodeworthy.images import ImageKnowledge
from nodeworthy.processes import EventLog
from nodeworthy_resolver.metrics import CacheResult, Metrics
from nodeworthy_resolver.oci import digests
from nodeworthy_resolver.records import SearchRecord

_LOG = EventLog("resolver")

MAX_SKEW_SECONDS = 60
"""By how much another resolver's clock may be ahead of ours; what is from later than that was not written by one."""

Record = TagRecord | ImageRecord | SearchRecord | InspectionRecord
_Record = TypeVar("_Record", bound=Record)


class Kept(NamedTuple, Generic[_Record]):
    """An entry as it was found."""

    key: str
    record: _Record | None
    """``None``: there is none that can be used."""
    revision: int | None
    """What a writer expects the key to have; ``None``: not known, so nothing is written."""
    age: float = 0.0
    """Seconds since the registry was asked."""


class ImageCache:
    """The bucket as lookups see it."""

    def __init__(self, store: Store, metrics: Metrics, *, value_bytes: int, clock: Callable[[], float]) -> None:
        self._store = store
        self._metrics = metrics
        self._value_bytes = value_bytes
        self._clock = clock
        self._is_failing = False

    async def read_tag(self, reference: str) -> Kept[TagRecord]:
        """What a tag pointed at."""
        kept = await self._read(keys.tag_key(reference), TagRecord)
        return self._checked(kept, lambda record: is_tag_of(record, reference))

    async def read_image(self, digest: str) -> Kept[ImageRecord]:
        """What the bytes of a digest say."""
        if not digest.startswith("sha256:"):
            return Kept("", None, None)  # sha512 is rare, and has no key
        kept = await self._read(keys.image_key(digest), ImageRecord)
        return self._checked(kept, lambda record: is_image_of(record.knowledge, digest))

    async def read_search(self, repository: str, digest: str) -> Kept[SearchRecord]:
        """What was attached to a digest in a repository."""
        kept = await self._read(search_key(repository, digest), SearchRecord)
        return self._checked(kept, lambda record: is_search_of(record, repository, digest))

    async def read_inspection(self, digest: str, claimed: str = "") -> Kept[InspectionRecord]:
        """What the files of a manifest's image say; ``claimed`` as :func:`keys.inspection_key` has it."""
        if not digest.startswith("sha256:"):
            return Kept("", None, None)  # as above
        kept = await self._read(keys.inspection_key(digest, claimed), InspectionRecord)
        return self._checked(kept, lambda record: (record.digest, record.claimed) == (digest, claimed))

    async def write(self, kept: Kept[_Record], record: _Record, *, seconds: float | None) -> bool:
        """Put a record in the place of what was found there, unless somebody else did; ``seconds`` until the bus drops it.

        Whether it is there now. Neither a conflict nor a bus that does not answer is an error: the answer was given, and
        will be asked for again.
        """
        if kept.revision is None or seconds == 0:
            return False
        data = payloads.encode(record)
        if len(data) > self._value_bytes:
            self._metrics.count_cache(type(record).__name__, CacheResult.TOO_LARGE)
            return False
        lifetime = None if seconds is None else max(1, round(seconds))
        try:
            await self._store.put(Bucket.IMAGES, kept.key, data, expected=kept.revision, seconds_to_live=lifetime)
        except BusConflictError:
            self._metrics.count_cache(type(record).__name__, CacheResult.CONFLICT)
        except BusError as error:
            self._note_failure(type(record).__name__, error)
        else:
            return True
        return False

    async def forget_search(self, repository: str, digest: str) -> None:
        """Remove what is known to be attached to a digest, also from under lookups that are under way.

        Raises:
            BusError: it is not known whether it was removed.
        """
        await self._store.remove(Bucket.IMAGES, search_key(repository, digest))

    async def _read(self, key: str, kind: type[_Record]) -> Kept[_Record]:
        try:
            stored = await self._store.get(Bucket.IMAGES, key)
        except BusError as error:
            self._note_failure(kind.__name__, error)
            return Kept(key, None, None)
        self._is_failing = False
        if stored is None or stored.is_removal:
            return Kept(key, None, stored.revision if stored else 0)
        try:
            record = payloads.decode(stored.data, kind)
        except PayloadError as error:
            return self._reject(Kept(key, None, stored.revision), kind, str(error))
        return Kept(key, record, stored.revision)

    def _checked(self, kept: Kept[_Record], is_right: Callable[[_Record], bool]) -> Kept[_Record]:
        record = kept.record
        if record is None:
            return kept
        age = self._clock() - record.looked
        if age < -MAX_SKEW_SECONDS:
            return self._reject(kept, type(record), "it is from the future")
        if not is_right(record):
            return self._reject(kept, type(record), "it belongs under another key")
        return kept._replace(age=max(age, 0.0))

    def _reject(self, kept: Kept[_Record], kind: type[_Record], reason: str) -> Kept[_Record]:
        self._metrics.count_cache(kind.__name__, CacheResult.REJECTED)
        _LOG.warning("resolver.cache_entry_rejected", about=kept.key, key=kept.key, kind=kind.__name__, reason=reason)
        return kept._replace(record=None)

    def _note_failure(self, kind: str, error: BusError) -> None:
        self._metrics.count_cache(kind, CacheResult.FAILED)
        if not self._is_failing:  # once per outage, not once per request
            _LOG.warning("resolver.cache_failed", error=error)
        self._is_failing = True


def search_key(repository: str, digest: str) -> str:
    """The key of what is attached to a digest in a repository."""
    return keys.tag_key(f"{repository}@{digest}")


def is_tag_of(record: TagRecord, reference: str) -> bool:
    """Whether a record speaks of this reference, and of something that can be a digest."""
    return record.reference == reference and digests.parse_digest(record.digest) is not None


def is_image_of(knowledge: ImageKnowledge, digest: str) -> bool:
    """Whether this is knowledge of a digest, made of images with digests, and without artifacts, which lie elsewhere."""
    images = knowledge.images
    is_plain = knowledge.search is None and all(image.search is None for image in images)
    return knowledge.digest == digest and is_plain and all(digests.parse_digest(image.digest) for image in images)


def is_search_of(record: SearchRecord, repository: str, digest: str) -> bool:
    """Whether a record speaks of this digest in this repository, and of an artifact that is attached to it."""
    artifact = record.search.artifact
    is_whole = (artifact is not None) == (record.search.state == "found") and record.search.state != "failed"
    is_attached = artifact is None or (artifact.subject == digest and digests.parse_digest(artifact.digest) is not None)
    return record.reference == f"{repository}@{digest}" and is_whole and is_attached
