"""Questions about images: what is asked of the registry, and what of the cache."""

import asyncio
import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from nodeworthy.bus import keys, payloads
from nodeworthy.bus.client import Msg
from nodeworthy.bus.images import TagLostPlatforms, TagRecord
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.requests import ResolveRequest
from nodeworthy.bus.store import Store
from nodeworthy.errors import BusBusyError, ImageNotFoundError, InvalidReferenceError, RegistryBusyError, UsageError
from nodeworthy.platforms import Platform
from nodeworthy_resolver import lookups
from nodeworthy_resolver.cache import search_key
from nodeworthy_resolver.lookups import parse_question
from nodeworthy_resolver.oci.digests import fallback_tag
from nodeworthy_resolver.oci.store import Content
from nodeworthy_resolver.settings import Bounds, Settings

if TYPE_CHECKING:
    from tests.resolver.conftest import Builder, Clock, FaultyRegistry, Reply
    from tests.resolver.lookups.conftest import OpenReplica, Replica


async def test_the_second_question_is_answered_without_the_registry(
    replica: "Replica", faulty: "FaultyRegistry", declared: Content
) -> None:
    first = await replica(faulty.name)
    asked = len(faulty.seen)
    assert asked > 0
    assert await replica(faulty.name) == first
    assert await replica(f"{faulty.name}@{declared.digest}")
    assert len(faulty.seen) == asked


async def test_replicas_share_what_they_know(
    open_replica: "OpenReplica", faulty: "FaultyRegistry", declared: Content
) -> None:
    first = await open_replica()(faulty.name)
    asked = len(faulty.seen)
    assert await open_replica()(faulty.name) == first
    assert len(faulty.seen) == asked
    assert first.knowledge.digest == declared.digest


@pytest.mark.usefixtures("declared")
async def test_many_who_ask_at_once_are_one_question_to_the_registry(
    replica: "Replica", faulty: "FaultyRegistry"
) -> None:
    async with asyncio.TaskGroup() as group:
        callers = [group.create_task(replica(faulty.name)) for _ in range(50)]
    assert len({id(caller.result()) for caller in callers}) == 1
    assert len(faulty.asked("GET", "manifests/v1")) == 1


@pytest.mark.usefixtures("declared")
async def test_a_moved_tag_gives_a_new_answer_when_its_time_is_over(
    replica: "Replica", faulty: "FaultyRegistry", build: "Builder", clock: "Clock"
) -> None:
    before = await replica(faulty.name)
    faulty.tags["v1"] = moved = build.image("linux/arm64")
    clock.now += 59
    assert (await replica(faulty.name)).knowledge.digest == before.knowledge.digest
    clock.now += 2
    assert (await replica(faulty.name)).knowledge.digest == moved.digest


async def test_of_the_tags_that_were_asked_so_many_are_remembered_and_all_are_answered(
    replica: "Replica", faulty: "FaultyRegistry", build: "Builder", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookups, "MAX_REMEMBERED", 2)
    for platform in ("linux/amd64", "linux/arm64", "linux/s390x"):
        faulty.tags[platform[6:]] = build.image(platform)
    for _ in range(2):
        for tag, image in faulty.tags.items():
            assert (await replica(f"{faulty.host}/team/app:{tag}")).knowledge.digest == image.digest
    assert len(replica.lookups.remembered) == 2


@pytest.mark.usefixtures("declared")
async def test_a_tag_that_did_not_move_costs_one_question_that_registries_do_not_count(
    replica: "Replica", faulty: "FaultyRegistry", clock: "Clock"
) -> None:
    await replica(faulty.name)
    faulty.seen.clear()
    clock.now += 61
    await replica(faulty.name)
    assert [(one.method, one.path) for one in faulty.seen] == [("HEAD", "/v2/team/app/manifests/v1")]


async def test_a_tag_of_a_registry_that_is_down_is_what_it_was_and_how_old_that_is_is_told(
    replica: "Replica", faulty: "FaultyRegistry", declared: Content, clock: "Clock"
) -> None:
    before = await replica(faulty.name)
    faulty.take_down()
    clock.now += 61
    reply = await replica(faulty.name)
    assert reply.knowledge.digest == declared.digest
    assert reply.looked == before.looked
    assert any("it named this 61 s ago" in notice for notice in reply.knowledge.notices)


@pytest.mark.usefixtures("declared")
@pytest.mark.parametrize(("later", "is_fresh"), [(61, True), (24 * 3600 + 1, False)])
async def test_an_old_answer_does_not_stand_in_for_one_that_must_be_fresh_or_is_a_day_younger(
    replica: "Replica", faulty: "FaultyRegistry", clock: "Clock", later: int, is_fresh: bool
) -> None:
    await replica(faulty.name)
    faulty.take_down()
    clock.now += later
    with pytest.raises(RegistryBusyError):
        await replica(faulty.name, fresh=is_fresh)


@pytest.mark.usefixtures("declared")
async def test_what_a_cache_stands_in_for_is_not_kept_as_a_property_of_the_image(
    replica: "Replica", faulty: "FaultyRegistry", clock: "Clock"
) -> None:
    await replica(faulty.name)
    faulty.take_down()
    clock.now += 61
    await replica(faulty.name)
    faulty.guard = None
    assert (await replica(faulty.name)).knowledge.notices == ()


@pytest.mark.usefixtures("declared")
async def test_a_tag_that_is_gone_is_gone_although_the_cache_knows_it(
    replica: "Replica", faulty: "FaultyRegistry", clock: "Clock"
) -> None:
    await replica(faulty.name)
    del faulty.tags["v1"]
    clock.now += 61
    with pytest.raises(ImageNotFoundError):
        await replica(faulty.name)


async def test_a_tag_that_moved_and_lost_a_platform_is_told_once(
    open_replica: "OpenReplica", faulty: "FaultyRegistry", build: "Builder", clock: "Clock", bus: Store
) -> None:
    heard: asyncio.Queue[TagLostPlatforms] = asyncio.Queue()

    async def hear(message: Msg) -> None:
        heard.put_nowait(payloads.decode(message.data, TagLostPlatforms))

    amd, arm = build.image(), build.image("linux/arm64")
    faulty.tags["v1"] = before = build.index((amd, "linux/amd64"), (arm, "linux/arm64"))
    replicas = [open_replica(), open_replica()]
    async with bus.connection.subscribed(bus.names.image_changes, hear):
        await replicas[0](faulty.name)
        for moved in (build.index((amd, "linux/amd64")), build.index((amd, "linux/amd64"), (arm, "linux/arm64"))):
            faulty.tags["v1"] = moved
            clock.now += 61
            async with asyncio.TaskGroup() as group:
                for replica in replicas:
                    group.create_task(replica(faulty.name))
            if moved.digest == before.digest:
                continue
            told = await asyncio.wait_for(heard.get(), 10)
            assert (told.reference, told.before, told.after) == (faulty.name, before.digest, moved.digest)
            assert (told.lost, told.left) == (("linux/arm64",), ("linux/amd64",))
    assert heard.empty()


async def test_children_are_read_when_somebody_wants_them(
    replica: "Replica", faulty: "FaultyRegistry", build: "Builder"
) -> None:
    amd, arm = build.image(), build.image("linux/arm64")
    faulty.tags["v1"] = build.index((amd, "linux/amd64"), (arm, "linux/arm64"))
    faulty.attach(arm)
    one = await replica(faulty.name, "linux/amd64")
    assert not faulty.asked("GET", arm.digest)
    assert [image.search is not None for image in one.knowledge.images] == [True, False]
    two = await replica(faulty.name, "linux/arm64")
    assert two.knowledge.images[1].configured == Platform("linux", "arm64")
    asked = len(faulty.seen)
    everything = await replica(faulty.name)
    assert [image.search.state for image in everything.knowledge.images if image.search] == ["none", "found"]
    assert len(faulty.seen) == asked


async def test_the_same_bytes_in_another_repository_declare_nothing_for_this_one(
    replica: "Replica", faulty: "FaultyRegistry", declared: Content
) -> None:
    made = await replica.artifact(faulty.name)
    elsewhere = f"{faulty.host}/team/other@{declared.digest}"
    listing = fallback_tag(declared.digest)
    tag = faulty.tags.pop(listing)
    faulty.seen.clear()
    assert await replica.artifact(elsewhere) is None
    # The bytes are known, and not that they are there.
    assert faulty.asked("HEAD", f"team/other/manifests/{declared.digest}")
    assert not faulty.asked("GET", f"manifests/{declared.digest}")
    faulty.tags[listing] = tag
    assert await replica.artifact(f"{faulty.name}@{declared.digest}") == made


async def test_known_bytes_do_not_show_an_image_in_a_repository_that_does_not_have_it(
    replica: "Replica", faulty: "FaultyRegistry", declared: Content, reply: "Reply"
) -> None:
    await replica(faulty.name)
    for method in ("HEAD", "GET"):
        faulty.script(method, f"/v2/team/other/manifests/{declared.digest}", reply(404), always=True)
    with pytest.raises(ImageNotFoundError):
        await replica(f"{faulty.host}/team/other@{declared.digest}")


async def test_a_poisoned_entry_is_not_believed_and_is_overwritten(
    replica: "Replica", bus: Store, faulty: "FaultyRegistry", declared: Content
) -> None:
    poison = TagRecord(reference="registry.example/other:v1", digest="sha256:" + "5" * 64, looked=1000)
    search = search_key(f"{faulty.host}/team/app", declared.digest)
    for key in (keys.tag_key(faulty.name), keys.image_key(declared.digest), search):
        await bus.put(Bucket.IMAGES, key, payloads.encode(poison))
    assert (await replica(faulty.name)).knowledge.digest == declared.digest
    assert await replica.artifact(faulty.name)
    assert [replica.count(kind, "rejected") for kind in ("tag", "image", "search")] == [1, 1, 1]


async def test_a_bus_that_loses_the_bucket_costs_questions_only(
    replica: "Replica", bus: Store, faulty: "FaultyRegistry", declared: Content, caplog: pytest.LogCaptureFixture
) -> None:
    await bus.connection.request(f"$JS.API.STREAM.DELETE.{bus.names.stream(Bucket.IMAGES)}")
    for _ in range(2):
        assert (await replica(faulty.name)).knowledge.digest == declared.digest
    assert caplog.text.count("resolver.cache_failed") == 1  # once per outage


async def test_a_frozen_registry_takes_a_bounded_number_of_places_and_no_others(
    open_replica: "OpenReplica", faulty: "FaultyRegistry", other_host: "FaultyRegistry", build: "Builder"
) -> None:
    replica = open_replica(replace(Settings(), bounds=Bounds(lookups_per_registry=2)))
    both, release = asyncio.Barrier(3), asyncio.Event()

    async def freeze(_: Any) -> Any:
        await both.wait()
        await release.wait()
        return web.Response(status=404)

    other_host.tags["v1"] = build.image()
    for tag in ("v1", "v2"):
        faulty.script("GET", f"manifests/{tag}", freeze)
    async with asyncio.TaskGroup() as group:
        frozen = [group.create_task(not_found(replica, f"{faulty.host}/team/app:{tag}")) for tag in ("v1", "v2")]
        await both.wait()
        with pytest.raises(BusBusyError, match="2 requests wait"):
            await replica(f"{faulty.host}/team/app:v3")
        assert await replica(other_host.name)
        release.set()
    assert [one.result() for one in frozen] == [True, True]
    with pytest.raises(ImageNotFoundError):  # the places are free again
        await replica(f"{faulty.host}/team/app:v3")


async def test_many_who_ask_a_frozen_registry_the_same_leave_places_for_others(
    open_replica: "OpenReplica", faulty: "FaultyRegistry", other_host: "FaultyRegistry", build: "Builder"
) -> None:
    replica = open_replica(replace(Settings(), bounds=Bounds(requests_per_registry=2)))
    asked, release = asyncio.Event(), asyncio.Event()

    async def freeze(_: Any) -> Any:
        asked.set()
        await release.wait()
        return web.Response(status=404)

    other_host.tags["v1"] = build.image()
    faulty.script("GET", "manifests/v1", freeze)
    async with asyncio.TaskGroup() as group:
        frozen = [group.create_task(not_found(replica, faulty.name)) for _ in range(2)]
        await asked.wait()
        with pytest.raises(BusBusyError, match="2 requests wait"):
            await replica(faulty.name)
        assert await replica(other_host.name)
        release.set()
    assert [one.result() for one in frozen] == [True, True]


async def not_found(replica: "Replica", name: str) -> bool:
    try:
        await replica(name)
    except ImageNotFoundError:
        return True
    return False


async def test_variables_with_secrets_stay_here(
    replica: "Replica", bus: Store, faulty: "FaultyRegistry", build: "Builder"
) -> None:
    environment = ("TOKEN=hunter2", "NVIDIA_REQUIRE_CUDA=cuda>=12.4")
    faulty.tags["v1"] = secret = build.image(environment=environment)
    reply = await replica(faulty.name)
    assert reply.knowledge.images[0].environment == ("NVIDIA_REQUIRE_CUDA=cuda>=12.4",)
    stored = await bus.get(Bucket.IMAGES, keys.image_key(secret.digest))
    assert stored
    assert b"hunter2" not in stored.data


async def test_sha512_is_answered_without_the_cache(
    replica: "Replica", faulty: "FaultyRegistry", build: "Builder"
) -> None:
    image = build.image()
    digest = "sha512:" + hashlib.sha512(image.data).hexdigest()
    build.manifests[digest] = Content(image.data, image.media_type, digest)  # type: ignore[arg-type] # well-formed by construction
    assert (await replica(f"{faulty.host}/team/app@{digest}")).knowledge.digest == digest


def test_folders_of_the_resolver_are_not_shown() -> None:
    with pytest.raises(UsageError, match="no folders"):
        parse_question(ResolveRequest(reference="oci:/etc"))


def test_a_reference_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidReferenceError):
        parse_question(ResolveRequest(reference="a b"))


def test_questions_that_mean_the_same_are_equal() -> None:
    one = parse_question(ResolveRequest(reference="nginx", platforms=("linux/x86_64", "linux/arm64")))
    other = parse_question(
        ResolveRequest(reference="docker.io/library/nginx:latest", platforms=("linux/arm64/v8", "linux/amd64"))
    )
    assert one == other
    assert hash(one) == hash(other)
