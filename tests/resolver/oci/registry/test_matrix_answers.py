"""What registries were seen to do, by number, on a server that does it: content, tokens, retries, redirects."""

import asyncio
import gzip
import importlib.util
import json
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from nodeworthy.errors import RegistryBusyError, RegistryContentError, RegistryUnreachableError
from nodeworthy.images import SearchState
from nodeworthy_resolver.oci import parse_reference
from nodeworthy_resolver.oci.digests import compute
from nodeworthy_resolver.oci.reference import Reference
from nodeworthy_resolver.oci.store import Content

if TYPE_CHECKING:
    from tests.resolver.conftest import Builder, Clock, FaultyRegistry, OpenClient, Reply, Waits
    from tests.resolver.oci.registry.conftest import Resolve, Search


@pytest.fixture
def guarded(faulty: "FaultyRegistry", other_host: "FaultyRegistry", build: "Builder") -> "FaultyRegistry":
    """A registry that wants a token for each repository from a token server on another host."""
    faulty.tags["v1"] = build.image()
    faulty.token_guard(other_host.token_server())
    return faulty


async def test_11_a_manifest_with_other_content_than_its_digest_is_refused(
    image: Content, faulty: "FaultyRegistry", resolve: "Resolve", reply: "Reply"
) -> None:
    body = image.data + b" "
    faulty.script("GET", f"manifests/{image.digest}", reply(200, body, Content_Type=image.media_type))
    with pytest.raises(RegistryContentError, match="is not what was asked for"):
        await resolve(f"{faulty.host}/team/app@{image.digest}")


async def test_11_a_tag_whose_content_is_not_what_the_registry_says_is_refused(
    image: Content, faulty: "FaultyRegistry", resolve: "Resolve", reply: "Reply"
) -> None:
    said = {"Content_Type": image.media_type, "Docker_Content_Digest": compute(b"other")}
    faulty.script("GET", "manifests/v1", reply(200, image.data, **said))
    with pytest.raises(RegistryContentError, match="is not what was asked for"):
        await resolve(faulty.name)


async def test_11_by_digest_too_the_registry_must_mean_the_same_content(
    image: Content, faulty: "FaultyRegistry", resolve: "Resolve", reply: "Reply"
) -> None:
    said = {"Content_Type": image.media_type, "Docker_Content_Digest": compute(b"other")}
    faulty.script("GET", f"manifests/{image.digest}", reply(200, image.data, **said))
    with pytest.raises(RegistryContentError, match="is not what was asked for"):
        await resolve(f"{faulty.host}/team/app@{image.digest}")


async def test_11_a_digest_header_that_is_none_is_refused(
    image: Content, faulty: "FaultyRegistry", resolve: "Resolve", reply: "Reply"
) -> None:
    said = {"Content_Type": image.media_type, "Docker_Content_Digest": "md5:0"}
    faulty.script("GET", "manifests/v1", reply(200, image.data, **said))
    with pytest.raises(RegistryContentError, match="cannot be verified"):
        await resolve(faulty.name)


async def test_11_a_layer_with_other_content_than_its_digest_is_a_failure(
    image: Content, build: "Builder", faulty: "FaultyRegistry", search: "Search"
) -> None:
    faulty.listings[image.digest] = build.listing(build.artifact(image))
    build.blobs[compute(build.spec)] = build.spec.replace(b"any", b"all")
    found = await search(faulty.name)
    assert found.state is SearchState.FAILED
    assert found.artifact is None
    assert "is not what was asked for" in found.reason


async def test_13_a_second_repository_gets_a_token_of_its_own(
    guarded: "FaultyRegistry", other_host: "FaultyRegistry", open_client: "OpenClient"
) -> None:
    async with open_client() as client:
        for name in ("app", "tool", "app"):
            reference = parse_reference(f"{guarded.host}/team/{name}:v1")
            assert isinstance(reference, Reference)
            await client.store(reference).resolve("v1")
    assert [one.query["scope"] for one in other_host.seen] == ["repository:team/app:pull", "repository:team/tool:pull"]
    assert [one.headers.get("Authorization", "none")[:15] for one in guarded.seen] == [
        "none",
        "Bearer token-re",
        "none",
        "Bearer token-re",
        "Bearer token-re",
    ]


async def test_14_a_token_is_renewed_before_it_expires(
    guarded: "FaultyRegistry", other_host: "FaultyRegistry", open_client: "OpenClient", clock: "Clock"
) -> None:
    reference = parse_reference(guarded.name)
    assert isinstance(reference, Reference)
    async with open_client() as client:
        store = client.store(reference)
        for now in (0.0, 269.0, 271.0):
            clock.now = now
            await store.resolve("v1")
    assert len(other_host.seen) == 2
    assert len(guarded.seen) == 4


async def test_14_a_token_that_became_stale_is_replaced_and_not_shown_again(
    guarded: "FaultyRegistry", other_host: "FaultyRegistry", open_client: "OpenClient", reply: "Reply"
) -> None:
    reference = parse_reference(guarded.name)
    assert isinstance(reference, Reference)
    challenge = f'Bearer realm="http://{other_host.host}/token",scope="repository:team/app:pull"'
    async with open_client() as client:
        store = client.store(reference)
        await store.resolve("v1")
        guarded.script("GET", "manifests/v1", reply(401, WWW_Authenticate=challenge))
        await store.resolve("v1")
    shown = [one.headers.get("Authorization") for one in guarded.seen]
    assert shown == [None, *(f"Bearer token-repository:team/app:pull-{number}" for number in (1, 1, 2))]


async def test_15_too_many_requests_are_waited_out_as_the_registry_asks(
    image: Content, faulty: "FaultyRegistry", resolve: "Resolve", reply: "Reply", waits: "Waits"
) -> None:
    faulty.script("GET", "manifests/v1", reply(429, Retry_After="7"), reply(429), reply(503))
    assert (await resolve(faulty.name)).digest == image.digest
    assert waits.seconds == [7.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("statuses", "waited"),
    [([502], [0.25]), ([503], [0.25]), ([504], [0.25]), ([500], [0.25]), ([503, 503, 503], [0.25, 0.5, 1.0])],
)
async def test_15_a_passing_error_is_tried_again(
    statuses: list[int],
    waited: list[float],
    image: Content,
    faulty: "FaultyRegistry",
    resolve: "Resolve",
    reply: "Reply",
    waits: "Waits",
) -> None:
    faulty.script("GET", "manifests/v1", *(reply(status) for status in statuses))
    assert (await resolve(faulty.name)).digest == image.digest
    assert waits.seconds == waited


@pytest.mark.parametrize(("status", "tries"), [(429, 4), (503, 4), (500, 2), (501, 1)])
async def test_15_an_error_that_stays_is_told_with_its_number(
    status: int,
    tries: int,
    image: Content,
    faulty: "FaultyRegistry",
    resolve: "Resolve",
    reply: "Reply",
) -> None:
    assert image
    faulty.script("GET", "manifests/v1", reply(status), always=True)
    with pytest.raises(RegistryBusyError, match=f"answered {status}"):
        await resolve(faulty.name)
    assert len(faulty.seen) == tries


async def test_15_a_wait_that_is_too_long_is_an_answer_for_the_user(
    image: Content, faulty: "FaultyRegistry", resolve: "Resolve", reply: "Reply", waits: "Waits"
) -> None:
    assert image
    faulty.script("GET", "manifests/v1", reply(429, Retry_After="21"))
    with pytest.raises(RegistryBusyError, match="Retry-After: 21"):
        await resolve(faulty.name, operation_timeout=600)
    assert waits.seconds == []


async def test_16_a_blob_on_another_host_is_fetched_without_the_registrys_login(
    image: Content,
    build: "Builder",
    faulty: "FaultyRegistry",
    other_host: "FaultyRegistry",
    resolve: "Resolve",
    reply: "Reply",
    docker_config: Any,
) -> None:
    config = json.loads(image.data)["config"]["digest"]
    signed = f"http://{other_host.host}/storage/x?signature=a%2Fb%2Bc=="

    async def locked(request: web.Request) -> web.StreamResponse:
        if "Authorization" not in request.headers:
            return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="x"'})
        return web.Response(status=307, headers={"Location": signed})

    faulty.script("GET", f"blobs/{config}", locked, always=True)
    other_host.script("GET", "/storage/x", reply(200, build.blobs[config]))
    login = docker_config(auths={faulty.host: {"username": "me", "password": "secret"}})
    knowledge = await resolve(faulty.name, config=login)
    assert knowledge.images[0].configured is not None
    assert "Authorization" in faulty.asked("GET", config)[-1].headers
    assert "Authorization" not in other_host.seen[0].headers
    assert other_host.seen[0].query == {"signature": "a/b+c=="}


async def test_17_a_body_that_drips_ends_with_the_time_and_not_with_the_patience_of_the_server(
    image: Content, faulty: "FaultyRegistry", resolve: "Resolve"
) -> None:
    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": image.media_type, "Content-Length": "100000"})
        await response.prepare(request)
        for _ in range(100000):
            await response.write(b" ")
            await asyncio.sleep(0.01)
        return response

    faulty.script("GET", "manifests/v1", drip)
    with pytest.raises(RegistryUnreachableError) as caught:
        await resolve(faulty.name, request_timeout=0.2)
    assert "within 0.2 s" in caught.value.why


async def test_20_json_that_a_proxy_compressed_is_read(
    image: Content, faulty: "FaultyRegistry", resolve: "Resolve", reply: "Reply"
) -> None:
    said = {"Content_Type": image.media_type, "Docker_Content_Digest": image.digest, "Content_Encoding": "gzip"}
    faulty.script("GET", "manifests/v1", reply(200, gzip.compress(image.data), **said))
    assert (await resolve(faulty.name)).digest == image.digest


async def test_20_compressed_json_is_bounded_after_decompression(
    image: Content, faulty: "FaultyRegistry", resolve: "Resolve", reply: "Reply"
) -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    faulty.script("GET", "manifests/v1", reply(200, bomb, Content_Type=image.media_type, Content_Encoding="gzip"))
    tracemalloc.start()
    with pytest.raises(RegistryContentError, match="more than 4194304 bytes"):
        await resolve(faulty.name)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("br", b"x"),
        ("gzip", b"no gzip"),
        ("gzip", gzip.compress(b"{}")[:-4]),
        ("gzip", gzip.compress(b"{}") + b"x"),
        ("gzip", gzip.compress(b"{}") + b" " * 200_000),
    ],
)
async def test_20_a_body_that_does_not_decompress_is_refused(
    encoding: str,
    body: bytes,
    image: Content,
    faulty: "FaultyRegistry",
    resolve: "Resolve",
    reply: "Reply",
) -> None:
    faulty.script("GET", "manifests/v1", reply(200, body, Content_Type=image.media_type, Content_Encoding=encoding))
    with pytest.raises(RegistryContentError, match="cannot be read"):
        await resolve(faulty.name)


async def test_20_zstd_is_read_where_python_has_it_and_refused_by_name_elsewhere(
    image: Content, faulty: "FaultyRegistry", resolve: "Resolve", reply: "Reply"
) -> None:
    # A frame of one raw block (RFC 8878): magic, single segment with a two-byte size less 256, block header, content.
    size = len(image.data)
    frame = (
        b"\x28\xb5\x2f\xfd\x60"
        + (size - 256).to_bytes(2, "little")
        + (size << 3 | 1).to_bytes(3, "little")
        + image.data
    )
    faulty.script("GET", "manifests/v1", reply(200, frame, Content_Type=image.media_type, Content_Encoding="zstd"))
    if importlib.util.find_spec("compression") is None:
        with pytest.raises(RegistryContentError, match="'zstd'"):
            await resolve(faulty.name)
    else:
        assert (await resolve(faulty.name)).digest == image.digest
