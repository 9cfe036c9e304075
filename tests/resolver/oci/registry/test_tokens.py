"""Tokens and logins: what is shown to whom, and when a new one is asked for."""

import asyncio
import base64
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from nodeworthy.errors import RegistryContentError, RegistryDeniedError, UsageError
from nodeworthy_resolver.oci import parse_reference
from nodeworthy_resolver.oci.reference import Reference
from nodeworthy_resolver.oci.registry import tokens
from nodeworthy_resolver.oci.registry.tokens import choose_challenge, parse_token
from nodeworthy_resolver.oci.store import Content

if TYPE_CHECKING:
    from tests.resolver.conftest import FaultyRegistry, OpenClient, Reply

Config = Callable[..., Path]


async def resolve(open_client: "OpenClient", faulty: "FaultyRegistry", config: Path | None = None) -> Content:
    reference = parse_reference(faulty.name)
    assert isinstance(reference, Reference)
    async with open_client(config=config) as client:
        return await client.store(reference).resolve("v1")


def test_a_token_may_have_either_name_and_lives_for_a_minute_unless_it_says_more() -> None:
    assert parse_token(b'{"access_token": "abc"}', 100.0, "here").good_until == 100.0 + 54.0
    assert parse_token(b'{"token": "abc", "expires_in": 600}', 100.0, "here").good_until == 100.0 + 540.0
    assert parse_token(b'{"token": "abc", "expires_in": -1}', 100.0, "here").good_until == 100.0 + 54.0
    assert parse_token(b'{"token": "abc", "expires_in": 1e12}', 0.0, "here").good_until == 24 * 3600 * 0.9


def test_a_token_shows_itself_nowhere() -> None:
    assert "abc" not in repr(parse_token(b'{"token": "abc"}', 0.0, "here"))


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"{}", b'{"token": ""}', b'{"token": 1}', b'{"token": "a\\r\\nX: y"}']
)
def test_an_answer_without_a_token_that_can_be_sent_is_refused(body: bytes) -> None:
    with pytest.raises(RegistryContentError, match="gave no token"):
        parse_token(body, 0.0, "auth.example")


@pytest.mark.parametrize(
    ("headers", "scheme"),
    [
        (('Basic realm="x"', 'Bearer realm="https://a/t"'), "bearer"),
        (('Bearer realm="https://a/t", Basic realm="x"',), "bearer"),
        (('Bearer error="no realm"', 'Basic realm="x"'), "basic"),
        (("Negotiate",), None),
        ((), None),
    ],
)
def test_a_token_is_preferred_to_a_password(headers: tuple[str, ...], scheme: str | None) -> None:
    chosen = choose_challenge(headers)
    assert (chosen and chosen.scheme) == scheme


async def test_requests_that_start_together_ask_for_one_token(
    image: Content, faulty: "FaultyRegistry", other_host: "FaultyRegistry", open_client: "OpenClient"
) -> None:
    faulty.token_guard(other_host.token_server())
    reference = parse_reference(faulty.name)
    assert isinstance(reference, Reference)
    async with open_client() as client:
        store = client.store(reference)
        found = await asyncio.gather(*(store.resolve("v1") for _ in range(8)))
    assert {one.digest for one in found} == {image.digest}
    assert len(other_host.seen) == 1


async def test_what_is_remembered_of_repositories_is_bounded(
    image: Content,
    faulty: "FaultyRegistry",
    other_host: "FaultyRegistry",
    open_client: "OpenClient",
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tokens, "MAX_REPOSITORIES", 2)
    faulty.token_guard(other_host.token_server())
    async with open_client() as client:
        for name in ("app", "tool", "more", "app"):
            reference = parse_reference(f"{faulty.host}/team/{name}:v1")
            assert isinstance(reference, Reference)
            assert (await client.store(reference).resolve("v1")).digest == image.digest
    assert len(other_host.seen) == 4


async def test_the_token_server_is_shown_the_password_and_the_registry_is_not(
    image: Content,
    faulty: "FaultyRegistry",
    other_host: "FaultyRegistry",
    open_client: "OpenClient",
    docker_config: Config,
) -> None:
    faulty.token_guard(other_host.token_server(), service="a service")
    login = base64.b64encode(b"me:pass:word").decode()
    config = docker_config(auths={faulty.host: {"auth": login}})
    assert (await resolve(open_client, faulty, config)).digest == image.digest
    assert other_host.seen[0].headers["Authorization"] == f"Basic {login}"
    assert other_host.seen[0].query == {"service": "a service", "scope": "repository:team/app:pull"}
    assert all("Basic" not in one.headers.get("Authorization", "") for one in faulty.seen)


async def test_an_identity_token_is_exchanged_for_an_access_token(
    image: Content,
    faulty: "FaultyRegistry",
    other_host: "FaultyRegistry",
    open_client: "OpenClient",
    docker_config: Config,
) -> None:
    faulty.token_guard(other_host.token_server(), service="registry")
    config = docker_config(auths={faulty.host: {"identitytoken": "refresh me"}})
    assert (await resolve(open_client, faulty, config)).digest == image.digest
    assert other_host.seen[0].method == "POST"
    form = other_host.seen[0].body.decode().split("&")
    assert {"grant_type=refresh_token", "refresh_token=refresh+me", "service=registry"} <= set(form)


async def test_a_registry_token_is_shown_as_it_is(
    image: Content,
    faulty: "FaultyRegistry",
    other_host: "FaultyRegistry",
    open_client: "OpenClient",
    docker_config: Config,
) -> None:
    faulty.token_guard(other_host.token_server())
    config = docker_config(auths={faulty.host: {"registrytoken": "token-repository:team/app:pull-0"}})
    assert (await resolve(open_client, faulty, config)).digest == image.digest
    assert other_host.seen == []


async def test_public_images_need_no_credentials_file(
    image: Content, faulty: "FaultyRegistry", open_client: "OpenClient", tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text("this is not even JSON")
    assert (await resolve(open_client, faulty, tmp_path / "config.json")).digest == image.digest


async def test_a_credentials_file_that_is_named_and_missing_is_an_error_also_where_none_is_needed(
    image: Content, faulty: "FaultyRegistry", open_client: "OpenClient", tmp_path: Path
) -> None:
    assert image
    with pytest.raises(UsageError, match=r"missing\.json cannot be read: No such file or directory") as caught:
        await resolve(open_client, faulty, tmp_path / "missing.json")
    assert "--registry-config" in caught.value.todo
    assert faulty.seen == []


async def test_a_password_that_is_not_accepted_is_told_apart_from_none(
    image: Content,
    faulty: "FaultyRegistry",
    other_host: "FaultyRegistry",
    open_client: "OpenClient",
    docker_config: Config,
    reply: "Reply",
) -> None:
    assert image
    faulty.token_guard(f"http://{other_host.host}/token")
    other_host.script("GET", "/token", reply(401), reply(401))
    with pytest.raises(RegistryDeniedError, match=f"{faulty.host} lets nobody in without a login"):
        await resolve(open_client, faulty)
    config = docker_config(auths={faulty.host: {"username": "me", "password": "wrong"}})
    with pytest.raises(RegistryDeniedError, match=f"{faulty.host} does not accept the stored login") as caught:
        await resolve(open_client, faulty, config)
    said = f"the stored credentials for {faulty.host} (from {config}) were sent, and {other_host.host} answered 401"
    assert caught.value.why == said
    assert f"docker login {faulty.host}" in caught.value.todo
    assert "wrong" not in str(caught.value.diagnostics())


async def test_a_token_that_is_not_enough_is_a_denial_after_one_more_try(
    image: Content, faulty: "FaultyRegistry", other_host: "FaultyRegistry", open_client: "OpenClient", reply: "Reply"
) -> None:
    assert image
    challenge = f'Bearer realm="{other_host.token_server()}",scope="repository:team/app:pull"'
    body = b'{"errors":[{"code":"DENIED","message":"ask\\u001b[31m the owner"}]}'
    faulty.script("GET", "manifests/v1", reply(401, body, WWW_Authenticate=challenge), always=True)
    with pytest.raises(RegistryDeniedError) as caught:
        await resolve(open_client, faulty)
    assert len(faulty.seen) == 3
    assert "answered 401 (DENIED: ask [31m the owner)" in caught.value.why


@pytest.mark.parametrize("realm", ["ftp://x/token", "not a url", "file:///etc/passwd", "http://"])
async def test_a_realm_that_is_no_web_address_is_refused(
    realm: str, image: Content, faulty: "FaultyRegistry", open_client: "OpenClient"
) -> None:
    assert image
    faulty.token_guard(realm)
    with pytest.raises(RegistryContentError, match="no web address"):
        await resolve(open_client, faulty)


async def test_a_registry_behind_tls_may_not_send_the_password_to_plain_http(
    secure: "FaultyRegistry",
    other_host: "FaultyRegistry",
    open_client: "OpenClient",
    docker_config: Config,
    certificate: Path,
) -> None:
    secure.token_guard(other_host.token_server())
    config = docker_config(auths={secure.host: {"username": "me", "password": "secret"}})
    reference = parse_reference(secure.name)
    assert isinstance(reference, Reference)
    async with open_client(config=config, plain_http=False, certificates=certificate) as client:
        with pytest.raises(RegistryContentError, match="without TLS"):
            await client.store(reference).resolve("v1")
    assert other_host.seen == []


async def test_a_token_server_that_sends_on_does_not_send_the_password_on(
    image: Content,
    faulty: "FaultyRegistry",
    other_host: "FaultyRegistry",
    open_client: "OpenClient",
    docker_config: Config,
    reply: "Reply",
) -> None:
    faulty.token_guard(f"http://{faulty.host}/v2/team/app/login")
    guard = faulty.guard
    assert guard is not None
    faulty.guard = lambda request: None if request.path.endswith("/login") else guard(request)
    target = f"{other_host.token_server()}?scope=repository:team/app:pull"
    faulty.script("GET", "login", reply(307, Location=target))
    config = docker_config(auths={faulty.host: {"username": "me", "password": "secret"}})
    assert (await resolve(open_client, faulty, config)).digest == image.digest
    assert "Authorization" in faulty.asked("GET", "/login")[0].headers
    assert "Authorization" not in other_host.seen[0].headers


async def test_another_host_to_which_a_request_was_sent_on_cannot_ask_for_the_registrys_password(
    faulty: "FaultyRegistry",
    other_host: "FaultyRegistry",
    open_client: "OpenClient",
    docker_config: Config,
    reply: "Reply",
) -> None:
    challenge = f'Bearer realm="http://{other_host.host}/token"'
    faulty.script("GET", "manifests/v1", reply(302, Location=f"http://{other_host.host}/stolen"))
    other_host.script("GET", "/stolen", reply(401, WWW_Authenticate=challenge))
    config = docker_config(auths={faulty.host: {"username": "me", "password": "secret"}})
    with pytest.raises(RegistryDeniedError):
        await resolve(open_client, faulty, config)
    assert [one.path for one in other_host.seen] == ["/stolen"]


async def test_basic_is_shown_the_password_after_it_was_asked_for_and_from_then_on(
    image: Content, faulty: "FaultyRegistry", open_client: "OpenClient", docker_config: Config
) -> None:
    login = "Basic " + base64.b64encode("mé:pass:word".encode()).decode()

    def guard(request: web.Request) -> web.Response | None:
        is_known = request.headers.get("Authorization") == login
        return None if is_known else web.Response(status=401, headers={"WWW-Authenticate": "Basic realm=x"})

    faulty.guard = guard
    config = docker_config(auths={f"http://{faulty.host}/v1/": {"auth": login.split()[1]}})
    reference = parse_reference(faulty.name)
    assert isinstance(reference, Reference)
    async with open_client(config=config) as client:
        store = client.store(reference)
        assert (await store.resolve("v1")).digest == image.digest
        await store.resolve("v1")
    assert ["Authorization" in one.headers for one in faulty.seen] == [False, True, True]


async def test_a_password_that_basic_refuses_is_shown_once(
    faulty: "FaultyRegistry", open_client: "OpenClient", docker_config: Config, reply: "Reply"
) -> None:
    faulty.script("GET", "manifests/v1", reply(401, WWW_Authenticate="Basic realm=x"), always=True)
    config = docker_config(auths={faulty.host: {"username": "me", "password": "wrong"}})
    with pytest.raises(RegistryDeniedError) as caught:
        await resolve(open_client, faulty, config)
    assert ["Authorization" in one.headers for one in faulty.seen] == [False, True]
    said = f"{faulty.host} answered 401; the stored credentials for {faulty.host} (from {config}) were sent and refused"
    assert caught.value.why == said
    assert caught.value.todo.startswith("log in again")
    assert "wrong" not in str(caught.value.diagnostics())


@pytest.mark.parametrize("status", [401, 403])
async def test_a_password_that_is_good_and_not_enough_is_told_apart_from_a_wrong_one(
    status: int,
    image: Content,
    faulty: "FaultyRegistry",
    other_host: "FaultyRegistry",
    open_client: "OpenClient",
    docker_config: Config,
    reply: "Reply",
) -> None:
    assert image
    faulty.token_guard(other_host.token_server())
    challenge = f'Bearer realm="{other_host.token_server()}"'
    faulty.script("GET", "manifests/v1", reply(status, WWW_Authenticate=challenge), always=True)
    config = docker_config(auths={faulty.host: {"username": "me", "password": "secret"}})
    with pytest.raises(RegistryDeniedError, match=rf"\(from {config}\) were sent, and do not allow it$"):
        await resolve(open_client, faulty, config)


async def test_who_has_no_stored_credentials_is_told_nothing_of_them(
    faulty: "FaultyRegistry", other_host: "FaultyRegistry", open_client: "OpenClient", reply: "Reply"
) -> None:
    challenge = f'Bearer realm="{other_host.token_server()}"'
    faulty.script("GET", "manifests/v1", reply(401, WWW_Authenticate=challenge), always=True)
    with pytest.raises(RegistryDeniedError, match=r"answered 401$") as caught:
        await resolve(open_client, faulty)
    assert caught.value.todo.startswith("log in (docker login)")
