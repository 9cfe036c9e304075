"""Servers that mean harm: what they answer costs little, ends in time, and reads as an error of a registry."""

import asyncio
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from multidict import CIMultiDict
from tests.resolver.raw_servers import answering, listen
from yarl import URL

from nodeworthy.errors import RegistryContentError, RegistryDeniedError, RegistryError, RegistryUnreachableError
from nodeworthy.images import ImageKnowledge, SearchState
from nodeworthy.platforms import Platform
from nodeworthy_resolver.oci import parse_reference, resolve_image
from nodeworthy_resolver.oci.digests import fallback_tag
from nodeworthy_resolver.oci.manifests import IMAGE_CONFIG, IMAGE_INDEX, IMAGE_MANIFEST
from nodeworthy_resolver.oci.reference import Reference
from nodeworthy_resolver.oci.registry import challenges
from nodeworthy_resolver.oci.registry.answers import Answer
from nodeworthy_resolver.oci.registry.challenges import parse_challenges
from nodeworthy_resolver.oci.registry.referrers import next_page

if TYPE_CHECKING:
    from tests.resolver.conftest import Builder, FaultyRegistry, OpenClient, Reply, Responder
    from tests.resolver.oci.registry.conftest import Resolve, Search

    from nodeworthy_resolver.oci.store import Content

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.oci.image.manifest.v1+json\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
NO = b"HTTP/1.1 403 Forbidden\r\n"
MOVED = b"HTTP/1.1 307 Temporary Redirect\r\n"
CHALLENGE = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nWWW-Authenticate: Bearer "
EMPTY = b"Content-Length: 0\r\n\r\n"

ENDLESS = {
    "headers": (OK, b"X-Filler: " + b"a" * 4000 + b"\r\n"),
    "one header": (OK + b"X-Filler: ", b"a" * 65536),
    "status line": (b"HTTP/1.1 200 ", b"a" * 65536),
    "early hints": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n"),
    "chunks": (CHUNKED, b"1000\r\n" + b" " * 4096 + b"\r\n"),
    "small chunks": (CHUNKED, b"1\r\n \r\n" * 1000),
    "a chunk's extension": (CHUNKED + b"1;", b"a" * 65536),
    "trailers": (CHUNKED + b"2\r\n{}\r\n0\r\n", b"X-Filler: " + b"a" * 4000 + b"\r\n"),
    "body": (OK + b"\r\n", b" " * 65536),
    "refusal": (NO + b"\r\n", b" " * 65536),
    "redirect's body": (MOVED + b"Location: /v2/elsewhere\r\n\r\n", b" " * 65536),
}

BROKEN = {
    "nothing": b"",
    "no headers": b"HTTP/1.1 200\r\n\r\n",
    "headers that are cut off": OK,
    "odd status": b"HTTP/1.1 abc OK\r\n" + EMPTY,
    "status 0": b"HTTP/1.1 000 OK\r\n" + EMPTY,
    "status 999": b"HTTP/1.1 999 OK\r\n" + EMPTY,
    "switching protocols": b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nxxxx",
    "part of it": b"HTTP/1.1 206 Partial Content\r\nContent-Length: 2\r\n\r\n{}",
    "not modified": b"HTTP/1.1 304 Not Modified\r\n\r\n",
    "a header of a megabyte": OK + b"X-Filler: " + b"a" * 1_000_000 + b"\r\n\r\n",
    "NUL in a header": OK + b"X-Filler: a\0b\r\nContent-Length: 2\r\n\r\n{}",
    "a type that is no text": b"HTTP/1.1 200 OK\r\nContent-Type: \xff\xfe\r\nContent-Length: 2\r\n\r\n{}",
    "a digest that is no text": OK + b"Docker-Content-Digest: \xff\r\nContent-Length: 2\r\n\r\n{}",
    "negative length": OK + b"Content-Length: -5\r\n\r\n{}",
    "two lengths": OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "length of 5000 digits": OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n{}",
    "length over the limit": OK + b"Content-Length: 99999999999\r\n\r\n{}",
    "length of more than comes": OK + b"Content-Length: 100\r\n\r\n{}",
    "cut without a length": OK + b'\r\n{"config": {"mediaTy',
    "chunk of no number": CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n",
    "chunk of more than comes": CHUNKED + b"ffffffffffffffff\r\n{}",
    "chunk cut off": CHUNKED + b"10\r\n{}",
    "length and chunks": OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "compressed twice": OK + b"Content-Encoding: gzip, gzip\r\nContent-Length: 2\r\n\r\n{}",
    "an unknown digest": OK + b"Docker-Content-Digest: blake3:" + b"0" * 64 + b"\r\nContent-Length: 2\r\n\r\n{}",
    "a date of no calendar": b"HTTP/1.1 503 Busy\r\nRetry-After: Mon, 1 Jan 99999999999999999999 00:00:00 GMT\r\n"
    + EMPTY,
    "a zone of no calendar": b"HTTP/1.1 429 Busy\r\nRetry-After: 1 Jan 2030 00:00:00 +99999999999999999999\r\n" + EMPTY,
    "a year to wait": b"HTTP/1.1 429 Busy\r\nRetry-After: 31536000\r\n" + EMPTY,
    "a realm with an empty label": CHALLENGE + b'realm="http://a..b/"\r\n\r\n',
    "a realm with a port too many": CHALLENGE + b'realm="http://a:99999/"\r\n\r\n',
    "a service that is no text": CHALLENGE + b'realm="http://127.0.0.1:1/t",service="\xff",scope="\xff"\r\n\r\n',
    **{
        f"redirect to {place!r}": MOVED + b"Location: " + place + b"\r\n" + EMPTY
        for place in (
            b"http://a..b/",
            b"http://.../",
            b"http://" + b"a" * 300 + b"/",
            b"http://xn--/",
            b"http://\xff/",
            b"http://[::1",
            b"http://a:99999/",
            b"http://a:b/",
            b"http://2852039166/",
            b"http://169.254.169.254./",
            b"http://[::ffff:169.254.169.254%25eth0]/",
            b"http://127.0.0.1:1/%1b[31m%0aevil%e2%80%ae",
            b"file:///etc/passwd",
            b"//",
            b"?",
        )
    },
}


async def fail(resolve: "Resolve", port: int) -> RegistryError:
    """The error of a look-up, which takes little memory and whose words a terminal may be shown."""
    tracemalloc.start()
    try:
        with pytest.raises(RegistryError) as caught:
            await resolve(f"127.0.0.1:{port}/team/app:v1", request_timeout=0.3, attempts=2)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 30_000_000
    said = "".join(caught.value.diagnostics())
    assert said.isprintable(), ascii(said)
    assert len(said) < 1000
    said.encode()
    return caught.value


@pytest.mark.parametrize("case", ENDLESS)
async def test_what_never_ends_ends_with_our_limits(case: str, resolve: "Resolve") -> None:
    async with listen(answering(*ENDLESS[case])) as port:
        await fail(resolve, port)


@pytest.mark.parametrize("case", BROKEN)
async def test_what_is_no_answer_is_told_as_such(case: str, resolve: "Resolve") -> None:
    async with listen(answering(BROKEN[case])) as port:
        await fail(resolve, port)


async def test_bytes_that_drip_into_the_headers_end_with_the_time(resolve: "Resolve") -> None:
    async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for byte in OK * 100:
            writer.write(bytes([byte]))
            await asyncio.sleep(0.01)

    async with listen(drip) as port:
        assert isinstance(await fail(resolve, port), RegistryUnreachableError)


PLACES = ("manifest", "config", "fallback tag", "token")


@pytest.fixture
def answer_at(
    image: "Content", faulty: "FaultyRegistry", other_host: "FaultyRegistry"
) -> Callable[[str, "Responder"], None]:
    """Has one part of what a look-up needs answered so; the token is another host's."""

    def script(place: str, responder: "Responder") -> None:
        if place == "token":
            faulty.token_guard(other_host.token_server())
            other_host.script("GET", "/token", responder, always=True)
            return
        config = json.loads(image.data)["config"]["digest"]
        tag = fallback_tag(image.digest)
        paths = {"manifest": "manifests/v1", "config": f"blobs/{config}", "fallback tag": f"manifests/{tag}"}
        faulty.script("GET", paths.get(place, f"referrers/{image.digest}"), responder, always=True)

    return script


@pytest.mark.parametrize("place", [*PLACES, "referrers"])
async def test_wherever_an_answer_drips_it_is_not_known_what_it_would_have_said(
    place: str, answer_at: Callable[[str, "Responder"], None], faulty: "FaultyRegistry", resolve: "Resolve"
) -> None:
    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100000", "Content-Type": IMAGE_INDEX})
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.01)

    answer_at(place, drip)
    assert await is_unknown(resolve, faulty.name)


@pytest.mark.parametrize("place", PLACES)
async def test_wherever_a_web_page_is_served_it_is_no_answer(
    place: str,
    answer_at: Callable[[str, "Responder"], None],
    faulty: "FaultyRegistry",
    resolve: "Resolve",
    reply: "Reply",
) -> None:
    answer_at(place, reply(200, b"<html>Log in</html>", Content_Type="text/html; charset=utf-8"))
    assert await is_unknown(resolve, faulty.name)


async def is_unknown(resolve: "Resolve", name: str) -> bool:
    """Whether a look-up finds out nothing of the image, or nothing of what is attached."""
    try:
        knowledge = await resolve(name, request_timeout=0.3, attempts=1)
    except RegistryError:
        return True
    return is_failed(knowledge)


def is_failed(knowledge: ImageKnowledge) -> bool:
    (image,) = knowledge.images
    return image.search is not None and image.search.state is SearchState.FAILED


async def test_a_redirect_chooses_no_user_and_no_password(
    image: "Content",
    faulty: "FaultyRegistry",
    resolve: "Resolve",
    reply: "Reply",
    docker_config: Callable[..., Path],
) -> None:
    def guard(request: web.Request) -> web.Response | None:
        is_known = request.headers.get("Authorization", "").startswith("Basic ")
        return None if is_known else web.Response(status=401, headers={"WWW-Authenticate": "Basic"})

    faulty.guard = guard
    there = f"http://chosen:password@{faulty.host}/v2/team/app/manifests/{image.digest}"
    faulty.script("GET", "manifests/v1", reply(307, Location=there))
    config = docker_config(auths={faulty.host: {"username": "me", "password": "mine"}})
    assert (await resolve(faulty.name, config=config)).digest == image.digest
    shown = {one.headers["Authorization"] for one in faulty.seen if "Authorization" in one.headers}
    assert len(shown) == 1


async def test_a_realm_chooses_no_user_and_no_password(
    image: "Content", faulty: "FaultyRegistry", other_host: "FaultyRegistry", resolve: "Resolve"
) -> None:
    faulty.token_guard(other_host.token_server().replace("http://", "http://chosen:password@"))
    assert (await resolve(faulty.name)).digest == image.digest
    assert "Authorization" not in other_host.seen[0].headers


async def test_a_realm_at_a_private_address_is_not_shown_the_password_of_a_registry_that_is_allowed(
    faulty: "FaultyRegistry", other_host: "FaultyRegistry", resolve: "Resolve", docker_config: Callable[..., Path]
) -> None:
    faulty.token_guard(other_host.token_server())
    config = docker_config(auths={faulty.host: {"username": "me", "password": "mine"}})
    with pytest.raises(RegistryDeniedError, match="private"):
        await resolve(faulty.name, config=config, allow_private=False, private_hosts=(faulty.host,))
    assert not other_host.seen


@pytest.mark.parametrize("link", ["<" * 200_000, "<a>" + ";rel=" * 40_000, '<a>;rel="' + " next" * 40_000])
def test_a_link_header_of_any_length_is_read_at_once(link: str) -> None:
    here = URL("http://registry.test/v2/a/referrers/x")
    assert next_page(Answer(200, CIMultiDict(Link=link), b"", here)) is None


def test_of_many_and_long_challenges_so_much_is_read() -> None:
    assert len(parse_challenges(["Basic"] * 1000)) == challenges.MAX_HEADERS
    assert len(parse_challenges(["a " * 100_000])) < challenges.MAX_CHARACTERS


async def test_an_index_that_lists_another_a_thousand_times_has_it_read_once(
    build: "Builder", faulty: "FaultyRegistry", resolve: "Resolve"
) -> None:
    inner = build.index((build.image(), "linux/amd64"))
    faulty.tags["v1"] = build.index(more=(build.entry(inner),) * 1000)
    assert len((await resolve(faulty.name)).images) == 1
    assert len(faulty.asked("GET", inner.digest)) == 1


async def test_an_index_of_many_indexes_is_refused_before_they_are_read(
    build: "Builder", faulty: "FaultyRegistry", resolve: "Resolve"
) -> None:
    inner = [build.index((build.image(f"linux/a{number}"), f"linux/a{number}")) for number in range(100)]
    faulty.tags["v1"] = build.index(more=tuple(map(build.entry, inner)))
    with pytest.raises(RegistryContentError, match="more than 64 indexes"):
        await resolve(faulty.name)
    assert len(faulty.seen) < 70


async def test_indexes_that_list_many_images_together_are_refused_at_the_limit(
    build: "Builder", faulty: "FaultyRegistry", resolve: "Resolve"
) -> None:
    entry = build.entry(build.image(), platform={"os": "linux", "architecture": "amd64"})
    inner = [build.index(more=(entry | {"size": number},) * 4000) for number in range(5)]
    faulty.tags["v1"] = build.index(more=tuple(map(build.entry, inner)))
    with pytest.raises(RegistryContentError, match="more than 10000 manifests"):
        await resolve(faulty.name)
    assert len(faulty.seen) == 4


async def test_an_index_that_is_served_in_the_place_of_what_it_lists_is_refused(
    build: "Builder", faulty: "FaultyRegistry", resolve: "Resolve", reply: "Reply"
) -> None:
    inner = build.index((build.image(), "linux/amd64"))
    faulty.tags["v1"] = outer = build.index(more=(build.entry(inner),))
    faulty.script("GET", f"manifests/{inner.digest}", reply(200, outer.data, Content_Type=IMAGE_INDEX))
    with pytest.raises(RegistryContentError, match="not what was asked for"):
        await resolve(faulty.name)


async def test_an_image_that_is_listed_as_its_own_referrer_declares_nothing(
    build: "Builder", faulty: "FaultyRegistry", image: "Content", search: "Search"
) -> None:
    faulty.listings[image.digest] = build.listing(image)
    found = await search(faulty.name)
    assert found.state is SearchState.NONE
    assert "is passed over" in found.notices[0]


@pytest.mark.parametrize(
    ("served", "document"),
    [
        (IMAGE_INDEX, {"config": {}, "layers": []}),
        (IMAGE_MANIFEST, {"manifests": []}),
        (IMAGE_INDEX, {}),
        (IMAGE_CONFIG, {"config": {}}),
        ("image/png", {"config": {}}),
        ("", {}),
    ],
)
async def test_a_type_that_the_document_does_not_have_is_refused(
    served: str, document: Any, faulty: "FaultyRegistry", resolve: "Resolve"
) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        response = web.json_response(document)
        response.headers["Content-Type"] = served
        return response

    faulty.script("GET", "manifests/v1", answer)
    with pytest.raises(RegistryContentError):
        await resolve(faulty.name)


@pytest.mark.parametrize(
    "digest", ["blake3:" + "0" * 64, "sha384:" + "0" * 96, "sha256:" + "0" * 63, "../../x", "x" * 5000]
)
async def test_a_list_with_a_digest_that_cannot_be_verified_is_not_known_and_never_empty(
    digest: str, build: "Builder", faulty: "FaultyRegistry", image: "Content", search: "Search", resolve: "Resolve"
) -> None:
    entry = {"mediaType": IMAGE_MANIFEST, "digest": digest, "size": 2}
    faulty.listings[image.digest] = build.document({"manifests": [entry]}, IMAGE_INDEX)
    found = await search(faulty.name)
    assert found.state is SearchState.FAILED
    assert "is not a digest" in found.reason
    assert len(found.reason) < 1000
    faulty.tags["v1"] = build.document({"manifests": [entry]}, IMAGE_INDEX)
    with pytest.raises(RegistryContentError, match="is not a digest"):
        await resolve(faulty.name)


async def test_pages_of_a_list_that_are_too_large_together_are_asked_for_with_the_filter(
    image: "Content", build: "Builder", faulty: "FaultyRegistry", search: "Search"
) -> None:
    artifact = build.artifact(image)
    path = f"/v2/team/app/referrers/{image.digest}"
    foreign = build.document({"manifests": [], "annotations": {"filler": "a" * 3_000_000}}, IMAGE_INDEX)

    async def page(request: web.Request) -> web.StreamResponse:
        if "artifactType" in request.query:
            return web.Response(body=build.listing(artifact).data, content_type=IMAGE_INDEX)
        return web.Response(body=foreign.data, content_type=IMAGE_INDEX, headers={"Link": f'<{path}?n=1>; rel="next"'})

    faulty.script("GET", path, page, always=True)
    assert (await search(faulty.name)).state is SearchState.FOUND
    assert len(faulty.asked("GET", path)) == 4


async def test_children_without_a_claim_are_asked_for_their_platforms_up_to_a_limit(
    build: "Builder", faulty: "FaultyRegistry", open_client: "OpenClient"
) -> None:
    images = [build.image(f"linux/a{number}") for number in range(300)]
    faulty.tags["v1"] = build.index(*((image, "") for image in images))
    reference = parse_reference(faulty.name)
    assert isinstance(reference, Reference)
    async with open_client() as client:
        knowledge = await resolve_image(client.store(reference), reference, [Platform("linux", "amd64")])
    assert all(image.configured is None for image in knowledge.images)
    assert sum(image.digest in one.path for image in images for one in faulty.seen) == 256


async def test_many_large_children_are_not_held_at_once(
    build: "Builder", faulty: "FaultyRegistry", resolve: "Resolve"
) -> None:
    children = []
    for number in range(100):
        small = json.loads(build.image(f"linux/a{number}").data)
        children.append((build.document(small | {"annotations": {"filler": "a" * 1_000_000}}), f"linux/a{number}"))
    faulty.tags["v1"] = build.index(*children)
    tracemalloc.start()
    knowledge = await resolve(faulty.name)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert all(image.configured for image in knowledge.images)
    assert peak < 30_000_000
