"""Requests to a server that misbehaves in ways in which a real one does not when asked to."""

import asyncio
import gzip
import json
import socket
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from tests.shared.kubernetes.fake_api import FakeApi, break_off, refuse, remove, reply, write
from yarl import URL

from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.access import Access, Trust
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.credentials import FileCredentials, FixedCredentials, Shown, bearer
from nodeworthy.kubernetes.refusals import (
    KubernetesBusyError,
    KubernetesContentError,
    KubernetesHeldBackError,
    KubernetesServerError,
    KubernetesUnauthorizedError,
    KubernetesUnreachableError,
)
from nodeworthy.kubernetes.requests import Patch, RequestLimits
from nodeworthy.kubernetes.resources import LEASES, NODES
from nodeworthy.kubernetes.transport import Transport

if TYPE_CHECKING:
    from tests.shared.kubernetes.conftest import ServeApi

READ = requests.read(NODES, "n1")
APPLY = requests.apply(NODES, "n1", b"{}", manager="us")


@asynccontextmanager
async def client_of(api: FakeApi, **limits: Any) -> AsyncIterator[Client]:
    async with Client(api.access, replace(RequestLimits(timeout=5), **limits)) as client:
        yield client


async def test_an_answer_is_its_status_and_bytes(api: FakeApi) -> None:
    api.replies = [reply(201, b"{} ")]
    async with client_of(api) as client:
        assert await client.request(READ) == (201, b"{} ")
    (seen,) = api.seen
    assert (seen.method, seen.path, seen.headers["User-Agent"]) == ("GET", "/api/v1/nodes/n1", "nodeworthy")


async def test_an_apply_is_never_forced_unless_it_says_so(api: FakeApi) -> None:
    api.replies = [reply()]
    forced = requests.apply(NODES, "n1", b"{}", manager="us", is_forced=True, is_dry=True, subresource="status")
    async with client_of(api) as client:
        await client.request(APPLY)
        await client.request(forced.without_field_validation())
    one, other = api.seen
    assert (one.query, one.headers["Content-Type"]) == ({"fieldManager": "us", "force": "false"}, Patch.APPLY)
    assert other.query == {"fieldManager": "us", "force": "true", "dryRun": "All", "fieldValidation": "Ignore"}
    assert other.path == "/api/v1/nodes/n1/status"


async def test_a_removal_may_be_of_one_state_only(api: FakeApi) -> None:
    api.replies = [reply()]
    async with client_of(api) as client:
        await client.request(requests.delete(LEASES, "l", namespace="ns", uid="u", resource_version="7"))
    assert api.seen[0].json["preconditions"] == {"uid": "u", "resourceVersion": "7"}


async def test_the_path_of_a_gateway_stays_in_front_and_names_stay_one_part(api: FakeApi) -> None:
    api.replies = [reply()]
    async with Client(Access(api.url / "k8s/clusters/c-1/")) as client:
        await client.request(requests.read(NODES, "a/b?c"))
    assert api.seen[0].path == "/k8s/clusters/c-1/api/v1/nodes/a%2Fb%3Fc"


async def test_a_busy_server_is_asked_again_when_it_said_to(api: FakeApi) -> None:
    api.replies = [refuse(429, headers={"Retry-After": "0"}), refuse(429, retryAfterSeconds=1), reply()]
    async with client_of(api) as client:
        begun = time.monotonic()
        assert (await client.request(APPLY)).status == 200
    assert time.monotonic() - begun >= 1
    assert len(api.seen) == 3


async def test_a_server_that_stays_busy_is_an_error_that_says_how_long(api: FakeApi) -> None:
    api.replies = [refuse(429, headers={"Retry-After": "0"})]
    async with client_of(api, busy_tries=3) as client:
        with pytest.raises(KubernetesBusyError) as raised:
            await client.request(APPLY)
    assert (raised.value.retry_after, len(api.seen)) == (0, 3)


async def test_a_wait_that_is_too_long_is_the_caller_s_matter(api: FakeApi) -> None:
    api.replies = [refuse(429, headers={"Retry-After": "3600"})]
    async with client_of(api) as client:
        with pytest.raises(KubernetesBusyError) as raised:
            await client.request(APPLY)
    assert (raised.value.retry_after, len(api.seen)) == (3600, 1)


async def test_a_read_is_repeated_where_the_server_says_when(api: FakeApi) -> None:
    api.replies = [refuse(500, headers={"Retry-After": "0"}), reply()]
    async with client_of(api) as client:
        await client.request(READ)
    assert len(api.seen) == 2


async def test_a_write_that_failed_in_the_server_is_not_repeated(api: FakeApi) -> None:
    api.replies = [refuse(500, headers={"Retry-After": "0"})]
    async with client_of(api) as client:
        with pytest.raises(KubernetesServerError):
            await client.request(APPLY)
    assert len(api.seen) == 1


async def test_a_write_without_an_answer_may_have_been_done_and_is_not_repeated(api: FakeApi) -> None:
    api.replies = [break_off]
    async with client_of(api) as client:
        with pytest.raises(KubernetesUnreachableError, match="broke the connection off") as raised:
            await client.request(APPLY)
    assert (raised.value.was_sent, len(api.seen)) == (True, 1)


async def test_a_server_that_is_not_there_was_asked_nothing() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    async with Client(Access(URL(f"http://127.0.0.1:{port}"))) as client:
        with pytest.raises(KubernetesUnreachableError, match="cannot be reached: Connection refused") as raised:
            await client.request(APPLY)
    assert not raised.value.was_sent
    assert raised.value.what == "Node n1 cannot be written"


async def test_a_server_that_is_silent_is_given_up_in_time(api: FakeApi) -> None:
    async def hang(_: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    api.replies = [hang]
    async with client_of(api) as client:
        with pytest.raises(KubernetesUnreachableError, match="did not answer in time") as raised:
            await client.request(replace(APPLY, timeout=0.1))
    assert raised.value.was_sent


async def test_a_refused_token_is_read_again_once(api: FakeApi, tmp_path: Path) -> None:
    token = tmp_path / "token"
    write(token, b"old")
    access = Access(api.url, FileCredentials(Shown(), token=token, clock=time.monotonic))
    api.replies = [reply(), refuse(401), reply(), refuse(401)]
    async with Client(access) as client:
        await client.request(READ)
        write(token, b"new")
        await client.request(READ)
        with pytest.raises(KubernetesUnauthorizedError):
            await client.request(READ)
    shown = [seen.headers["Authorization"] for seen in api.seen]
    assert shown == ["Bearer old", "Bearer old", "Bearer new", "Bearer new"]


async def test_credentials_that_cannot_be_found_out_send_nothing(api: FakeApi, tmp_path: Path) -> None:
    access = Access(api.url, FileCredentials(Shown(), token=tmp_path / "none", clock=time.monotonic))
    async with Client(access) as client:
        with pytest.raises(KubernetesUnauthorizedError, match="Node n1 cannot be read: the token for the API server"):
            await client.request(READ)
    assert not api.seen


async def test_a_request_that_may_no_longer_be_sent_is_held_back(api: FakeApi) -> None:
    asked: list[float] = []
    api.replies = [refuse(429, headers={"Retry-After": "0"}), reply()]

    def may_send(seconds: float) -> bool:
        asked.append(seconds)
        return len(asked) == 1

    async with client_of(api) as client:
        with pytest.raises(KubernetesHeldBackError):
            await client.request(replace(APPLY, may_send=may_send, timeout=2.5))
    assert (asked, len(api.seen)) == ([2.5, 2.5], 1)


async def test_an_urgent_request_waits_for_no_other(api: FakeApi) -> None:
    arrived, release = asyncio.Event(), asyncio.Event()

    async def hang(_: web.Request) -> web.StreamResponse:
        arrived.set()
        await release.wait()
        return web.json_response({})

    api.replies = [hang, reply()]
    async with client_of(api, parallel=1) as client, asyncio.TaskGroup() as group:
        group.create_task(client.request(APPLY))
        await arrived.wait()
        waiting = group.create_task(client.request(APPLY))
        await client.request(replace(READ, is_urgent=True))
        assert not waiting.done()
        release.set()
    assert [seen.method for seen in api.seen] == ["PATCH", "GET", "PATCH"]


async def test_pages_are_followed_to_the_last_one(api: FakeApi) -> None:
    item = {"metadata": {"name": "n"}}
    first = {"metadata": {"resourceVersion": "5", "continue": "a+b/c="}, "items": [item, item]}
    api.replies = [reply(body=first), reply(body={"metadata": {"resourceVersion": "5"}, "items": None})]
    listing = requests.list_all(NODES, label_selector="a=b,c in (d)", is_metadata=True)
    async with client_of(api) as client:
        pages = [page async for page in client.pages(listing, size=2)]
    assert [len(page.items or ()) for page in pages] == [2, 0]
    one, other = api.seen
    assert one.query == {"labelSelector": "a=b,c in (d)", "limit": "2"}
    assert other.query == {**one.query, "continue": "a+b/c="}
    assert one.headers["Accept"] == requests.METADATA_LIST


async def test_large_answers_come_compressed_and_are_read(api: FakeApi) -> None:
    body = json.dumps({"metadata": {"resourceVersion": "1"}, "items": ["x" * 200_000]}).encode()
    api.replies = [reply(body=gzip.compress(body), headers={"Content-Encoding": "gzip"})]
    async with client_of(api) as client:
        assert (await client.request(READ)).body == body
    assert "gzip" in api.seen[0].headers["Accept-Encoding"]


@pytest.mark.parametrize("is_compressed", [True, False])
async def test_an_answer_beyond_the_limit_is_not_read(api: FakeApi, *, is_compressed: bool) -> None:
    body = gzip.compress(b"x" * 2_000_000) if is_compressed else b"x" * 2_000_000
    api.replies = [reply(body=body, headers={"Content-Encoding": "gzip"} if is_compressed else None)]
    async with client_of(api, max_bytes=100_000) as client:
        with pytest.raises(KubernetesContentError, match="more than 100000 bytes"):
            await client.request(READ)


@pytest.mark.parametrize(
    ("status", "body"), [(200, b"<html>log in</html>"), (200, b"[]"), (302, b""), (200, b'{"metadata": 1}')]
)
async def test_a_login_page_in_between_is_told(api: FakeApi, status: int, body: bytes) -> None:
    api.replies = [reply(status, body, {"Location": "/login"} if status == 302 else None)]
    async with client_of(api) as client:
        with pytest.raises(KubernetesContentError, match="the list of nodes cannot be read"):
            [page async for page in client.pages(requests.list_all(NODES))]


async def test_something_that_is_no_web_server_is_told() -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, Client(Access(URL(f"http://127.0.0.1:{port}"))) as client:
        with pytest.raises(KubernetesContentError, match="does not answer as a web server does"):
            await client.request(APPLY)


async def test_warnings_of_the_server_are_told_once(api: FakeApi, caplog: pytest.LogCaptureFixture) -> None:
    api.replies = [reply(headers={"Warning": '299 - "v1alpha1 is deprecated"'})]
    async with client_of(api) as client:
        await client.request(READ)
        await client.request(READ)
    assert [record.message for record in caplog.records] == ["kubernetes.warning"]


async def test_a_proxy_is_asked_for_the_server(api: FakeApi) -> None:
    api.replies = [reply()]
    async with Client(Access(URL("http://api.example:8080"), proxy=api.url)) as client:
        await client.request(READ)
    assert api.seen[0].headers["Host"] == "api.example:8080"


# TLS


@pytest.fixture
def server_context(certificate: Path) -> ssl.SSLContext:
    """A server that wants to see the client's certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.load_verify_locations(certificate)
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


@pytest.mark.parametrize("is_file", [True, False])
async def test_the_server_is_trusted_by_the_cluster_s_authority(
    serve_api: "ServeApi", server_context: ssl.SSLContext, certificate: Path, pem: bytes, *, is_file: bool
) -> None:
    trust = Trust(authority_file=certificate) if is_file else Trust(pem)
    async with serve_api(server_context) as api, Client(Access(api.url, trust=trust)) as client:
        api.replies = [reply()]
        assert (await client.request(READ)).status == 200


@pytest.mark.parametrize("trust", [Trust(), Trust(server_name="other")])
async def test_a_server_that_is_not_trusted_is_sent_nothing(
    serve_api: "ServeApi", server_context: ssl.SSLContext, certificate: Path, trust: Trust
) -> None:
    if trust.server_name:
        trust = replace(trust, authority_file=certificate)
    async with serve_api(server_context) as api, Client(Access(api.url, trust=trust)) as client:
        with pytest.raises(KubernetesUnreachableError, match="certificate that is not trusted") as raised:
            await client.request(READ)
        assert not api.seen
    assert not raised.value.was_sent


@pytest.mark.parametrize("is_insecure", [True, False])
async def test_a_server_by_another_name_is_reached_by_its_own_or_by_any(
    serve_api: "ServeApi", server_context: ssl.SSLContext, certificate: Path, *, is_insecure: bool
) -> None:
    own = Trust(authority_file=certificate, server_name="localhost")
    trust = Trust(is_insecure=True) if is_insecure else own
    async with serve_api(server_context) as api:
        api.replies = [reply()]
        async with Client(Access(api.url.with_host("127.0.0.1"), trust=trust)) as client:
            assert (await client.request(READ)).status == 200


async def test_a_client_shows_its_certificate(
    serve_api: "ServeApi", server_context: ssl.SSLContext, pem: bytes
) -> None:
    shown: list[object] = []

    async def look(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        shown.append(request.transport.get_extra_info("peercert"))
        return web.json_response({})

    credentials = FixedCredentials(Shown("", pem, pem))
    async with serve_api(server_context) as api:
        api.replies = [look]
        async with Client(Access(api.url, credentials, Trust(pem))) as client:
            await client.request(READ)
    assert shown[0]


@pytest.mark.parametrize(
    ("shown", "trust", "message"),
    [
        (Shown("", b"no", b"no"), Trust(is_insecure=True), "the client certificate for the API server cannot be used"),
        (Shown(), Trust(b"no"), "certificate authority in certificate-authority-data cannot be used"),
        (Shown(), Trust(authority_file=Path("/none")), "certificate authority cannot be read from /none"),
    ],
)
async def test_certificates_that_cannot_be_used_are_told(shown: Shown, trust: Trust, message: str) -> None:
    access = Access(URL("https://127.0.0.1:1"), FixedCredentials(shown), trust)
    async with Client(access) as client:
        with pytest.raises(KubernetesUnauthorizedError, match=message):
            await client.request(READ)


async def test_a_replaced_authority_is_taken_up(pem: bytes, tmp_path: Path) -> None:
    now = 0.0
    authority = tmp_path / "ca.crt"
    write(authority, pem)
    access = Access(URL("https://api"), trust=Trust(authority_file=authority))
    transport = Transport(access, lambda: now, "tests", is_compressed=False)
    contexts = transport._contexts
    first = contexts.get(Shown(bearer("a")))
    now = 61.0
    assert contexts.get(Shown(bearer("b"))) is first
    write(authority, b"# new\n" + pem)
    assert contexts.get(Shown()) is first
    now = 122.0
    second = contexts.get(Shown())
    assert second is not first
    remove(authority)
    now = 183.0
    assert contexts.get(Shown()) is second
    await transport.close()
