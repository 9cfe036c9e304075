"""The search for attached artifacts, in one repository, with a memory."""

from collections.abc import Callable

import msgspec

from nodeworthy.images import ArtifactSearch, SearchState
from nodeworthy_resolver import oci
from nodeworthy_resolver.asking import AskedStore
from nodeworthy_resolver.cache import ImageCache, Kept
from nodeworthy_resolver.metrics import CacheResult, Metrics
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.records import SearchRecord
from nodeworthy_resolver.settings import Lifetimes


class Searches:
    """The searches of one lookup."""

    def __init__(
        self,
        store: AskedStore,
        cache: ImageCache,
        metrics: Metrics,
        lifetimes: Lifetimes,
        *,
        clock: Callable[[], float],
        is_fresh: bool,
    ) -> None:
        self._store = store
        self._cache = cache
        self._metrics = metrics
        self._lifetimes = lifetimes
        self._clock = clock
        self._is_fresh = is_fresh
        self._read: dict[Digest, Kept[SearchRecord]] = {}
        self.looked = int(clock())
        """When the oldest of the answers was given."""

    async def prepare(self, digest: Digest) -> None:
        """Read what the cache says of a digest that will be searched, while something else is read."""
        self._read[digest] = await self._cache.read_search(self._store.name, digest)

    async def _kept(self, digest: Digest) -> Kept[SearchRecord]:
        return self._read.get(digest) or await self._cache.read_search(self._store.name, digest)

    async def is_known(self, digest: Digest) -> bool:
        """Whether the digest was found in this repository before; the same bytes elsewhere prove nothing for it."""
        return (await self._kept(digest)).record is not None

    async def search(self, digest: Digest) -> ArtifactSearch:
        """The artifact attached to a digest: what the cache says while that is believed, else what the registry says."""
        kept = await self._kept(digest)
        if kept.record is not None and not self._is_fresh and kept.age < self._lifetime(kept.record.search):
            return self._use(kept.record, CacheResult.HIT)
        looked = int(self._clock())
        found = await oci.search_artifact(self._store, digest)
        if found.state is SearchState.FAILED:
            return self._stand_in(kept, found)
        self._metrics.count_cache(SearchRecord.__name__, CacheResult.EXPIRED if kept.record else CacheResult.MISS)
        record = SearchRecord(reference=f"{self._store.name}@{digest}", search=found, looked=looked)
        await self._cache.write(kept, record, seconds=max(self._lifetime(found), self._lifetimes.stale))
        return found

    def _lifetime(self, search: ArtifactSearch) -> float:
        return self._lifetimes.found if search.state is SearchState.FOUND else self._lifetimes.none

    def _use(self, record: SearchRecord, result: CacheResult) -> ArtifactSearch:
        self._metrics.count_cache(SearchRecord.__name__, result)
        self.looked = min(self.looked, record.looked)
        return record.search

    def _stand_in(self, kept: Kept[SearchRecord], failed: ArtifactSearch) -> ArtifactSearch:
        """An artifact that was found before, while the registry is down; that there was none before is no answer now.

        Where the registry answers and the artifact cannot be used, that is the newest truth, and nothing stands in for it.
        """
        record = kept.record
        is_usable = record is not None and record.search.artifact is not None and kept.age < self._lifetimes.stale
        if record is None or not is_usable or self._is_fresh or not self._store.is_down:
            return failed
        notice = f"the registry cannot be asked for a newer artifact; this one was found {kept.age:.0f} s ago"
        search = self._use(record, CacheResult.STALE)
        return msgspec.structs.replace(search, notices=(*search.notices, notice, failed.reason))
