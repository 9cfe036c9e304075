"""What is attached: how long it is believed, and what counts while the registry cannot be asked."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from nodeworthy.bus.names import Bucket
from nodeworthy.bus.store import Store
from nodeworthy.images import SearchState
from nodeworthy_resolver.cache import search_key
from nodeworthy_resolver.oci.digests import fallback_tag
from nodeworthy_resolver.oci.store import Content
from nodeworthy_resolver.settings import Bounds, Settings

if TYPE_CHECKING:
    from tests.resolver.conftest import Builder, Clock, FaultyRegistry, Reply
    from tests.resolver.lookups.conftest import OpenReplica, Replica

LATER = "2027-01-01T00:00:00Z"
"""After the date of the artifacts that the builder makes."""
DAY = 24 * 3600


@pytest.fixture
def bare(faulty: "FaultyRegistry", build: "Builder") -> Content:
    """The image ``v1``, to which nothing is attached."""
    faulty.tags["v1"] = build.image()
    return faulty.tags["v1"]


async def test_whoever_wants_it_fresh_gets_it_fresh(
    replica: "Replica", faulty: "FaultyRegistry", declared: Content
) -> None:
    older = await replica.artifact(faulty.name)
    newer = faulty.attach(declared, created=LATER).digest
    assert await replica.artifact(faulty.name) == older
    assert await replica.artifact(faulty.name, fresh=True) == newer
    assert await replica.artifact(faulty.name) == newer  # and everybody else has it too


async def test_a_newer_artifact_is_found_within_the_hour(
    replica: "Replica", faulty: "FaultyRegistry", declared: Content, clock: "Clock"
) -> None:
    name = f"{faulty.name}@{declared.digest}"
    older = await replica.artifact(name)
    newer = faulty.attach(declared, created=LATER).digest
    faulty.seen.clear()
    clock.now += 3599
    assert await replica.artifact(name) == older
    clock.now += 2
    assert await replica.artifact(name) == newer
    assert not faulty.asked("GET", f"manifests/{declared.digest}")  # what a digest names never changes


async def test_that_nothing_is_attached_is_believed_for_minutes_only(
    replica: "Replica", faulty: "FaultyRegistry", bare: Content, clock: "Clock"
) -> None:
    name = f"{faulty.name}@{bare.digest}"
    assert await replica.artifact(name) is None
    made = faulty.attach(bare).digest
    clock.now += 299
    assert await replica.artifact(name) is None
    clock.now += 2
    assert await replica.artifact(name) == made


async def test_a_search_that_failed_is_not_kept(
    replica: "Replica", faulty: "FaultyRegistry", declared: Content, reply: "Reply"
) -> None:
    faulty.script("GET", f"manifests/{fallback_tag(declared.digest)}", reply(500))
    assert (await replica.search(faulty.name)).state is SearchState.FAILED
    assert await replica.artifact(faulty.name)


async def test_a_registry_that_is_down_does_not_stop_a_cached_digest(
    replica: "Replica", faulty: "FaultyRegistry", declared: Content
) -> None:
    before = await replica.artifact(faulty.name)
    faulty.take_down()
    faulty.seen.clear()
    assert await replica.artifact(f"{faulty.name}@{declared.digest}") == before
    assert faulty.seen == []


async def test_while_the_registry_is_down_the_last_artifact_stands_in_and_says_so(
    replica: "Replica", faulty: "FaultyRegistry", declared: Content, clock: "Clock"
) -> None:
    name = f"{faulty.name}@{declared.digest}"
    before = await replica(name)
    faulty.take_down()
    clock.now += 7200
    assert (await replica(name)).looked == before.looked
    search = await replica.search(name)
    assert search.state is SearchState.FOUND
    assert any("7200 s ago" in notice for notice in search.notices)
    assert (await replica.search(name, fresh=True)).state is SearchState.FAILED
    clock.now += DAY
    assert (await replica.search(name)).state is SearchState.FAILED


async def test_that_nothing_was_attached_is_no_answer_while_the_registry_is_down(
    replica: "Replica", faulty: "FaultyRegistry", bare: Content, clock: "Clock"
) -> None:
    name = f"{faulty.name}@{bare.digest}"
    await replica(name)
    faulty.take_down()
    clock.now += 301
    assert (await replica.search(name)).state is SearchState.FAILED


async def test_an_artifact_that_cannot_be_used_is_not_covered_by_an_older_one(
    replica: "Replica", faulty: "FaultyRegistry", declared: Content, clock: "Clock"
) -> None:
    await replica(faulty.name)
    faulty.attach(declared, created=LATER, layers=[])
    clock.now += 3601
    search = await replica.search(faulty.name)
    assert search.state is SearchState.FAILED
    assert "it has no layer" in search.reason


async def test_what_was_looked_up_before_an_artifact_came_does_not_cover_it(
    replica: "Replica", bus: Store, faulty: "FaultyRegistry", bare: Content, reply: "Reply"
) -> None:
    async def attach_meanwhile(request: Any) -> Any:
        answer = await reply(404)(request)
        faulty.attach(bare)
        await bus.remove(Bucket.IMAGES, search_key(f"{faulty.host}/team/app", bare.digest))
        return answer

    faulty.script("GET", f"manifests/{fallback_tag(bare.digest)}", attach_meanwhile)
    assert await replica.artifact(faulty.name) is None
    assert await replica.artifact(faulty.name)
    assert replica.count("search", "conflict") == 1


async def test_a_document_that_is_too_large_to_keep_is_answered_all_the_same(
    open_replica: "OpenReplica", faulty: "FaultyRegistry", bare: Content
) -> None:
    faulty.attach(bare, spec=b"#" * 5000)
    replica = open_replica(replace(Settings(), bounds=Bounds(value_bytes=4000)))
    search = await replica.search(faulty.name)
    assert search.artifact
    assert len(search.artifact.data) == 5000
    assert replica.count("search", "too-large") == 1
