"""What of bucket ``images`` is believed, on a real bus."""

from typing import TYPE_CHECKING

import pytest

from nodeworthy.bus import keys, payloads
from nodeworthy.bus.images import ImageRecord, TagRecord
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.store import Store
from nodeworthy.errors import BusUnreachableError
from nodeworthy.images import Artifact, ArtifactSearch, ImageKnowledge, PlatformImage, SearchState
from nodeworthy_resolver.cache import ImageCache, search_key
from nodeworthy_resolver.metrics import Metrics
from nodeworthy_resolver.records import SearchRecord

if TYPE_CHECKING:
    from tests.resolver.conftest import Clock

REPOSITORY = "registry.example/team/app"
TAG = f"{REPOSITORY}:v1"
DIGEST, OTHER = "sha256:" + "1" * 64, "sha256:" + "2" * 64
NOW = 1000
"""What the test's clock shows at first."""


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def cache(bus: Store, metrics: Metrics, clock: "Clock") -> ImageCache:
    return ImageCache(bus, metrics, value_bytes=4000, clock=clock)


def count(metrics: Metrics, kind: str, result: str) -> float | None:
    return metrics.registry.get_sample_value("nodeworthy_resolver_cache_total", {"kind": kind, "result": result})


def image(digest: str = DIGEST, *images: PlatformImage, search: ArtifactSearch | None = None) -> ImageRecord:
    return ImageRecord(knowledge=ImageKnowledge(TAG, digest, "", images, search), looked=NOW)


def search(
    state: SearchState = SearchState.FOUND,
    *,
    reference: str = f"{REPOSITORY}@{DIGEST}",
    subject: str = DIGEST,
    digest: str = OTHER,
    looked: int = NOW,
    has_artifact: bool = True,
) -> SearchRecord:
    artifact = Artifact(digest, subject, "", b"version: v1alpha1") if has_artifact else None
    return SearchRecord(reference=reference, search=ArtifactSearch(state, artifact), looked=looked)


async def test_what_one_resolver_writes_another_reads(cache: ImageCache, bus: Store, clock: "Clock") -> None:
    tag = TagRecord(reference=TAG, digest=DIGEST, looked=NOW)
    await cache.write(await cache.read_tag(TAG), tag, seconds=60)
    await cache.write(await cache.read_image(DIGEST), image(), seconds=None)
    await cache.write(await cache.read_search(REPOSITORY, DIGEST), search(), seconds=60)
    clock.now += 10
    other = ImageCache(bus, Metrics(), value_bytes=4000, clock=clock)
    kept = await other.read_tag(TAG)
    assert (kept.record, kept.age) == (tag, 10)
    assert (await other.read_image(DIGEST)).record == image()
    assert (await other.read_search(REPOSITORY, DIGEST)).record == search()


@pytest.mark.parametrize(
    "record",
    [
        TagRecord(reference=f"{REPOSITORY}:v2", digest=DIGEST, looked=NOW),
        TagRecord(reference=TAG, digest="latest", looked=NOW),
        TagRecord(reference=TAG, digest=DIGEST, looked=NOW + 3600),
    ],
    ids=["another tag", "no digest", "from the future"],
)
async def test_a_tag_is_believed_only_under_its_own_name(
    record: TagRecord, cache: ImageCache, bus: Store, metrics: Metrics
) -> None:
    await bus.put(Bucket.IMAGES, keys.tag_key(TAG), payloads.encode(record))
    assert (await cache.read_tag(TAG)).record is None
    assert count(metrics, "tag", "rejected") == 1


@pytest.mark.parametrize(
    "record",
    [
        image(OTHER),
        image(DIGEST, PlatformImage("no digest")),
        image(DIGEST, search=ArtifactSearch(SearchState.NONE)),
        image(DIGEST, PlatformImage(DIGEST, search=ArtifactSearch(SearchState.NONE))),
    ],
    ids=["another image", "a child without a digest", "an artifact of the index", "an artifact of the image"],
)
async def test_an_image_is_believed_only_without_artifacts_and_under_its_own_digest(
    record: ImageRecord, cache: ImageCache, bus: Store, metrics: Metrics
) -> None:
    await bus.put(Bucket.IMAGES, keys.image_key(DIGEST), payloads.encode(record))
    assert (await cache.read_image(DIGEST)).record is None
    assert count(metrics, "image", "rejected") == 1


@pytest.mark.parametrize(
    "record",
    [
        search(subject=OTHER),
        search(digest="no digest"),
        search(reference=f"registry.example/evil/app@{DIGEST}"),
        search(reference=f"{REPOSITORY}@{OTHER}"),
        search(looked=NOW + 3600),
        search(has_artifact=False),
        search(SearchState.NONE),
        search(SearchState.FAILED, has_artifact=False),
    ],
    ids=[
        "attached to another image",
        "an artifact without a digest",
        "of another repository",
        "of another image",
        "from the future",
        "found and not there",
        "none and there",
        "a failure",
    ],
)
async def test_an_artifact_is_believed_only_on_its_own_image_in_its_own_repository(
    record: SearchRecord, cache: ImageCache, bus: Store, metrics: Metrics
) -> None:
    await bus.put(Bucket.IMAGES, search_key(REPOSITORY, DIGEST), payloads.encode(record))
    assert (await cache.read_search(REPOSITORY, DIGEST)).record is None
    assert count(metrics, "search", "rejected") == 1


@pytest.mark.parametrize("garbage", [b"", b"\xc1", b"{}", b"[1]", b'{"version": 99}', b"\x93\x01\x02\x03" * 1000])
async def test_what_does_not_decode_is_absent_told_and_overwritten(
    garbage: bytes, cache: ImageCache, bus: Store, metrics: Metrics, caplog: pytest.LogCaptureFixture
) -> None:
    await bus.put(Bucket.IMAGES, keys.image_key(DIGEST), garbage)
    kept = await cache.read_image(DIGEST)
    assert kept.record is None
    assert count(metrics, "image", "rejected") == 1
    assert "resolver.cache_entry_rejected" in caplog.text
    await cache.write(kept, image(), seconds=None)
    assert (await cache.read_image(DIGEST)).record == image()


async def test_a_clock_that_is_a_little_ahead_is_forgiven(cache: ImageCache, bus: Store) -> None:
    await bus.put(Bucket.IMAGES, search_key(REPOSITORY, DIGEST), payloads.encode(search(looked=NOW + 30)))
    kept = await cache.read_search(REPOSITORY, DIGEST)
    assert kept.record
    assert kept.age == 0


async def test_a_write_does_not_cover_what_came_in_between(cache: ImageCache, metrics: Metrics) -> None:
    mine = await cache.read_search(REPOSITORY, DIGEST)
    theirs = search(digest="sha256:" + "3" * 64)
    await cache.write(await cache.read_search(REPOSITORY, DIGEST), theirs, seconds=60)
    await cache.write(mine, search(), seconds=60)
    assert (await cache.read_search(REPOSITORY, DIGEST)).record == theirs
    assert count(metrics, "search", "conflict") == 1


async def test_forgetting_what_nobody_knew_stops_writes_that_are_under_way(cache: ImageCache) -> None:
    mine = await cache.read_search(REPOSITORY, DIGEST)
    await cache.forget_search(REPOSITORY, DIGEST)
    await cache.write(mine, search(SearchState.NONE, has_artifact=False), seconds=60)
    kept = await cache.read_search(REPOSITORY, DIGEST)
    assert kept.record is None
    await cache.write(kept, search(), seconds=60)
    assert (await cache.read_search(REPOSITORY, DIGEST)).record == search()


async def test_an_entry_that_is_too_large_is_not_written(cache: ImageCache, bus: Store, metrics: Metrics) -> None:
    large = image(DIGEST, *(PlatformImage(DIGEST) for _ in range(100)))
    await cache.write(await cache.read_image(DIGEST), large, seconds=None)
    assert await bus.get(Bucket.IMAGES, keys.image_key(DIGEST)) is None
    assert count(metrics, "image", "too-large") == 1


async def test_a_bus_that_does_not_answer_is_an_empty_cache(
    cache: ImageCache, bus: Store, metrics: Metrics, caplog: pytest.LogCaptureFixture
) -> None:
    before = await cache.read_tag(TAG)
    await bus.connection.close()
    for _ in range(3):
        kept = await cache.read_tag(TAG)
        assert kept.record is None
        assert kept.revision is None
        await cache.write(kept, TagRecord(reference=TAG, digest=DIGEST, looked=NOW), seconds=60)
    await cache.write(before, TagRecord(reference=TAG, digest=DIGEST, looked=NOW), seconds=60)
    assert count(metrics, "tag", "failed") == 4
    assert caplog.text.count("resolver.cache_failed") == 1
    with pytest.raises(BusUnreachableError):
        await cache.forget_search(REPOSITORY, DIGEST)
