"""Connections: what is sent, what is not, and how failures read."""

import asyncio
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from tests.resolver.raw_servers import listen
from yarl import URL

from nodeworthy.errors import (
    ImageNotFoundError,
    RegistryContentError,
    RegistryDeniedError,
    RegistryError,
    RegistryUnreachableError,
    UsageError,
)
from nodeworthy_resolver.oci import RegistryAccess, parse_reference
from nodeworthy_resolver.oci.reference import Reference
from nodeworthy_resolver.oci.registry import RegistryClient
from nodeworthy_resolver.oci.registry.endpoint import base_url
from nodeworthy_resolver.oci.registry.transport import explain_certificate, follow
from nodeworthy_resolver.oci.store import Content

if TYPE_CHECKING:
    from tests.resolver.conftest import Builder, FaultyRegistry, OpenClient, Reply, Waits


def parse(name: str) -> Reference:
    reference = parse_reference(name)
    assert isinstance(reference, Reference)
    return reference


async def resolve(open_client: "OpenClient", name: str, **access: Any) -> Content:
    async with open_client(**access) as client:
        return await client.store(parse(name)).resolve("v1")


@pytest.mark.parametrize(
    ("name", "plain", "url"),
    [
        ("quay.io/a", None, "https://quay.io"),
        ("localhost/a", None, "http://localhost"),
        ("localhost:5000/a", None, "http://localhost:5000"),
        ("localhost:5000/a", False, "https://localhost:5000"),
        ("127.0.0.1:5000/a", None, "https://127.0.0.1:5000"),
        ("127.0.0.1:5000/a", True, "http://127.0.0.1:5000"),
        ("localhost.example/a", None, "https://localhost.example"),
        ("nginx", None, "https://registry-1.docker.io"),
        ("[::1]:5000/a", True, "http://[::1]:5000"),
    ],
)
def test_tls_is_left_out_only_when_asked_or_for_localhost(name: str, plain: bool | None, url: str) -> None:
    assert str(base_url(parse(name), RegistryAccess(plain_http=plain))).rstrip("/") == url


@pytest.mark.parametrize(
    ("name", "plain", "scheme"),
    [
        ("mine.example:5000/a", None, "http"),
        ("mine.example:5000/a", False, "https"),
        ("mine.example/a", None, "https"),
        ("quay.io/a", None, "https"),
    ],
)
def test_tls_is_left_out_for_the_hosts_on_the_list(name: str, plain: bool | None, scheme: str) -> None:
    access = RegistryAccess(plain_http=plain, plain_http_hosts=("mine.example:5000",))
    assert base_url(parse(name), access).scheme == scheme


async def test_what_is_asked_names_us_and_the_types_we_read_and_nothing_else(
    image: Content, faulty: "FaultyRegistry", open_client: "OpenClient"
) -> None:
    await resolve(open_client, faulty.name)
    headers = faulty.seen[0].headers
    assert faulty.seen[0].path == "/v2/team/app/manifests/v1"
    assert headers["User-Agent"] == "nodeworthy"
    assert headers["Accept-Encoding"] == "identity"
    assert image.media_type in headers["Accept"]
    assert set(headers) == {"Host", "User-Agent", "Accept", "Accept-Encoding"}


async def test_cookies_are_not_sent_back(
    image: Content, faulty: "FaultyRegistry", open_client: "OpenClient", reply: "Reply"
) -> None:
    # Libraries keep no cookies of bare addresses, so a name is asked.
    faulty.script("GET", "manifests/v1", reply(503, Set_Cookie="sid=1; Path=/"))
    name = faulty.name.replace("127.0.0.1", "localhost")
    assert (await resolve(open_client, name)).digest == image.digest
    assert [one.headers.get("Cookie") for one in faulty.seen] == [None, None]


async def test_a_connection_that_breaks_is_made_again(
    image: Content, faulty: "FaultyRegistry", open_client: "OpenClient"
) -> None:
    async def abort(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async def cut(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b"half")
        assert request.transport is not None
        request.transport.abort()
        return response

    faulty.script("GET", "manifests/v1", abort, cut)
    assert (await resolve(open_client, faulty.name)).digest == image.digest
    assert len(faulty.seen) == 3


async def test_a_server_that_always_hangs_up_is_told(open_client: "OpenClient", waits: "Waits") -> None:
    async def hang_up(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.readline()

    async with listen(hang_up) as port:
        with pytest.raises(RegistryUnreachableError, match="broke the connection off"):
            await resolve(open_client, f"127.0.0.1:{port}/a:v1")
    assert len(waits.seconds) == 3


async def test_nobody_listening_is_told_at_once(open_client: "OpenClient", waits: "Waits") -> None:
    async with listen(lambda _, __: asyncio.sleep(0)) as port:
        pass
    with pytest.raises(RegistryUnreachableError, match=rf"127\.0\.0\.1:{port} cannot be reached") as caught:
        await resolve(open_client, f"127.0.0.1:{port}/a:v1")
    assert caught.value.why == "Connection refused"
    assert caught.value.todo
    assert waits.seconds == []


async def test_a_host_that_is_not_known_is_told(open_client: "OpenClient") -> None:
    with pytest.raises(RegistryUnreachableError, match=r"nowhere\.invalid is not known"):
        await resolve(open_client, "nowhere.invalid/a:v1")


async def test_a_server_that_speaks_another_protocol_is_told(open_client: "OpenClient") -> None:
    async def speak(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
        await writer.drain()

    async with listen(speak) as port:
        with pytest.raises(RegistryError, match=f"127.0.0.1:{port}"):
            await resolve(open_client, f"127.0.0.1:{port}/a:v1")


async def test_plain_http_behind_a_tls_name_gets_the_hint(
    image: Content, faulty: "FaultyRegistry", open_client: "OpenClient"
) -> None:
    assert image
    with pytest.raises(RegistryUnreachableError, match="does not speak TLS") as caught:
        await resolve(open_client, faulty.name, plain_http=False)
    assert "--plain-http" in caught.value.todo


async def test_a_certificate_nobody_vouches_for_is_told_and_one_that_is_named_is_trusted(
    secure: "FaultyRegistry", build: "Builder", open_client: "OpenClient", certificate: Path
) -> None:
    image = secure.tags["v1"] = build.image()
    with pytest.raises(RegistryUnreachableError, match=r"its certificate: self.signed") as caught:
        await resolve(open_client, secure.name, plain_http=False)
    assert "--ca-file" in caught.value.todo
    assert (await resolve(open_client, secure.name, plain_http=False, certificates=certificate)).digest == image.digest


async def test_a_certificate_for_another_name_is_told_as_such(
    secure: "FaultyRegistry", open_client: "OpenClient", certificate: Path
) -> None:
    name = secure.name.replace("localhost", "127.0.0.1")
    with pytest.raises(
        RegistryUnreachableError, match=r"for other names: .* is not valid for '127\.0\.0\.1'$"
    ) as caught:
        await resolve(open_client, name, plain_http=False, certificates=certificate)
    assert "--ca-file" not in caught.value.todo
    assert "by a name that is in its certificate" in caught.value.todo


@pytest.mark.parametrize(("code", "says"), [(10, "clock"), (9, "clock"), (19, "--ca-file"), (62, "by a name")])
def test_what_is_wrong_with_a_certificate_decides_what_to_do(code: int, says: str) -> None:
    reason = ssl.SSLCertVerificationError(1, "certificate verify failed")
    reason.verify_code, reason.verify_message = code, "the reason"
    told = explain_certificate(reason, "host.example:5000")
    assert told.what == "host.example:5000 cannot be trusted"
    assert "the reason" in told.why
    assert says in told.todo


async def test_a_redirect_from_tls_to_plain_http_is_not_followed(
    secure: "FaultyRegistry", faulty: "FaultyRegistry", open_client: "OpenClient", certificate: Path, reply: "Reply"
) -> None:
    secure.script("GET", "manifests/v1", reply(302, Location=f"http://{faulty.host}/v2/team/app/manifests/v1"))
    with pytest.raises(RegistryContentError, match="from TLS to plain HTTP"):
        await resolve(open_client, secure.name, plain_http=False, certificates=certificate)
    assert faulty.seen == []


async def test_a_file_without_certificates_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    path.write_text("none")
    with pytest.raises(UsageError, match="holds no certificates: it is no PEM file, or a damaged one"):
        async with RegistryClient(RegistryAccess(certificates=path)):
            pass


async def test_a_file_of_certificates_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        async with RegistryClient(RegistryAccess(certificates=tmp_path / "ca.pem")):
            pass
    assert str(caught.value) == f"{tmp_path / 'ca.pem'} cannot be read: No such file or directory"
    assert "--ca-file" in caught.value.todo


async def test_plain_http_to_a_server_of_tls_gets_the_hint(
    faulty: "FaultyRegistry", open_client: "OpenClient", reply: "Reply"
) -> None:
    faulty.script("GET", "manifests/v1", reply(400, b"Client sent an HTTP request to an HTTPS server.\n"))
    with pytest.raises(RegistryContentError) as caught:
        await resolve(open_client, faulty.name)
    assert "--plain-http" in caught.value.todo


async def test_a_web_page_is_no_manifest(faulty: "FaultyRegistry", open_client: "OpenClient", reply: "Reply") -> None:
    faulty.script("GET", "manifests/v1", reply(200, b"<!doctype html>", Content_Type="text/html"))
    with pytest.raises(RegistryContentError, match="web page") as caught:
        await resolve(open_client, faulty.name)
    assert faulty.host in caught.value.why


async def test_what_is_not_found_may_be_denied(faulty: "FaultyRegistry", open_client: "OpenClient") -> None:
    with pytest.raises(ImageNotFoundError, match="no permission") as caught:
        await resolve(open_client, faulty.name)
    assert faulty.name in caught.value.what
    assert "MANIFEST_UNKNOWN" in caught.value.why


@pytest.mark.parametrize("status", [401, 403])
async def test_a_denial_says_how_to_log_in(
    status: int, faulty: "FaultyRegistry", open_client: "OpenClient", reply: "Reply"
) -> None:
    faulty.script("GET", "manifests/v1", reply(status))
    with pytest.raises(RegistryDeniedError) as caught:
        await resolve(open_client, faulty.name)
    assert str(status) in caught.value.why
    assert "--registry-config" in caught.value.todo


async def test_a_refusal_may_be_long_and_is_told_in_one_line(
    faulty: "FaultyRegistry", open_client: "OpenClient", reply: "Reply"
) -> None:
    body = b'{"errors":[{"code":"DENIED","message":"' + b"x" * 1000 + b'"}]}'
    faulty.script("GET", "manifests/v1", reply(403, body), reply(404, b" " * 6_000_000))
    with pytest.raises(RegistryDeniedError) as caught:
        await resolve(open_client, faulty.name)
    assert len(caught.value.why) < 400
    with pytest.raises(ImageNotFoundError):
        await resolve(open_client, faulty.name)


async def test_redirects_end(faulty: "FaultyRegistry", open_client: "OpenClient", reply: "Reply") -> None:
    faulty.script("GET", "manifests/v1", reply(302, Location="/v2/team/app/manifests/v1"), always=True)
    with pytest.raises(RegistryContentError, match="more than 5 redirects"):
        await resolve(open_client, faulty.name)


@pytest.mark.parametrize("location", ["ftp://example.org/x", "http://[::1/x", "javascript:alert(1)"])
async def test_a_redirect_that_is_no_web_address_is_refused(
    location: str, faulty: "FaultyRegistry", open_client: "OpenClient", reply: "Reply"
) -> None:
    faulty.script("GET", "manifests/v1", reply(302, Location=location))
    with pytest.raises(RegistryContentError, match="not HTTP"):
        await resolve(open_client, faulty.name)


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/b?x=1", "https://h/b?x=1"),
        ("c", "https://h/a/c"),
        ("https://s/x?sig=a%2Fb%2B&y=%20", "https://s/x?sig=a%2Fb%2B&y=%20"),
        ("/with space", "https://h/with%20space"),
        ("", None),
        ("mailto:a@b", None),
    ],
)
def test_an_address_is_taken_as_it_is_written(location: str, target: str | None) -> None:
    found = follow(URL("https://h/a/b"), location)
    assert (found and str(found)) == target


async def test_the_time_of_one_operation_covers_all_its_requests(
    image: Content, faulty: "FaultyRegistry", open_client: "OpenClient"
) -> None:
    async def wait(_: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        return web.Response()

    faulty.script("GET", f"manifests/{image.digest}", wait)
    async with open_client(operation_timeout=0.3) as client:
        store = client.store(parse(faulty.name))
        await store.resolve("v1")
        with pytest.raises(RegistryUnreachableError, match=f"{faulty.host} did not answer in time"):
            await store.read_manifest(image.digest)
        with pytest.raises(RegistryUnreachableError, match=f"{faulty.host} did not answer in time"):
            await store.resolve("v1")


async def test_a_wait_that_would_outlast_the_operation_is_not_begun(
    faulty: "FaultyRegistry", open_client: "OpenClient", reply: "Reply", waits: "Waits"
) -> None:
    faulty.script("GET", "manifests/v1", reply(503, Retry_After="15"))
    with pytest.raises(RegistryError, match="503"):
        await resolve(open_client, faulty.name, operation_timeout=10)
    assert waits.seconds == []


async def test_a_proxy_is_used_for_what_is_not_to_be_reached_directly(
    image: Content, faulty: "FaultyRegistry", other_host: "FaultyRegistry", open_client: "OpenClient", reply: "Reply"
) -> None:
    proxies = {"http": f"http://{other_host.host}", "no": "localhost, .example.org"}
    other_host.script("GET", "/v2/a/manifests/v1", reply(200, image.data, Content_Type=image.media_type))
    assert (await resolve(open_client, "registry.example.com/a:v1", proxies=proxies)).digest == image.digest
    assert other_host.seen[0].headers["Host"] == "registry.example.com"
    port = faulty.host.partition(":")[2]
    assert (await resolve(open_client, f"localhost:{port}/team/app:v1", proxies=proxies)).digest == image.digest
    assert len(other_host.seen) == 1
