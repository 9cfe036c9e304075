"""containerd's hosts.toml: how it is read, and who is asked then."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import RegistryError, RegistryUnreachableError, UsageError
from nodeworthy.images import SearchState
from nodeworthy_resolver.oci import parse_reference, resolve_image
from nodeworthy_resolver.oci.reference import Reference
from nodeworthy_resolver.oci.registry.mirrors import Capability, MirrorHost, parse_hosts, read_hosts
from nodeworthy_resolver.oci.store import Content

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.resolver.conftest import Builder, FaultyRegistry, OpenClient, Serve
    from tests.resolver.oci.registry.conftest import Resolve

HOME = Path("/certs.d/registry.example")
FULL = b"""
server = "https://registry.example"
capabilities = ["pull"]
ca = "/etc/ca.pem"

[host."http://mirror.example:5000/cache"]
  capabilities = ["Pull", "resolve"]
  ca = ["one.pem", "two.pem"]
  client = [["client.cert", "client.key"], "both.pem"]
  skip_verify = true
  dial_timeout = "1m1.5s"
  [host."http://mirror.example:5000/cache".header]
    x-one = "1"
    x-many = ["a", "b"]

[host."https://other.example/v2/registry.example"]
  override_path = true

[host."plain.example"]
"""


def test_every_field_is_read_and_the_server_comes_last() -> None:
    first, second, third, server = parse_hosts(FULL, HOME, "hosts.toml")
    assert first == MirrorHost(
        url="http://mirror.example:5000",
        path="/cache/v2",
        capabilities=frozenset({Capability.PULL, Capability.RESOLVE, Capability.REFERRERS}),
        authorities=(HOME / "one.pem", HOME / "two.pem"),
        pairs=((HOME / "client.cert", HOME / "client.key"), (HOME / "both.pem", None)),
        skip_verify=True,
        headers=(("x-one", "1"), ("x-many", "a, b")),
        dial_seconds=61.5,
    )
    assert (second.url, second.path) == ("https://other.example", "/v2/registry.example")
    assert third == MirrorHost(url="https://plain.example")
    assert server.url == "https://registry.example"
    assert server.capabilities == frozenset({Capability.PULL})
    assert server.authorities == (Path("/etc/ca.pem"),)


@pytest.mark.parametrize("server", ["https://docker.io", "docker.io", "https://index.docker.io/v2/"])
def test_docker_hub_is_asked_where_its_api_is(server: str) -> None:
    (only,) = parse_hosts(f'server = "{server}"'.encode(), HOME, "hosts.toml")
    assert (only.url, only.path) == ("https://registry-1.docker.io", "/v2")


def test_a_host_may_be_trusted_with_what_is_attached_alone() -> None:
    one, _ = parse_hosts(b'[host."https://a.example"]\ncapabilities = ["pull", "referrers"]', HOME, "hosts.toml")
    assert one.capabilities == frozenset({Capability.PULL, Capability.REFERRERS})


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://a.example", "/v2"),
        ("https://a.example/", "/v2"),
        ("https://a.example/v2", "/v2"),
        ("https://a.example/v2/", "/v2"),
        ("https://a.example/x/../y", "/y/v2"),
    ],
)
def test_the_api_is_below_v2_unless_the_path_is_said_to_be_the_whole_one(url: str, path: str) -> None:
    assert parse_hosts(f'[host."{url}"]'.encode(), HOME, "hosts.toml")[0].path == path


def test_without_a_server_the_registry_itself_comes_last() -> None:
    assert parse_hosts(b'[host."https://m.example"]', HOME, "hosts.toml")[-1] == MirrorHost()


@pytest.mark.parametrize(
    "text",
    [
        "server = 1",
        "server =",
        "\x00",
        'server = "ftp://a"',
        'server = "https://me:secret@a"',
        'capabilities = ["secret"]',
        'dial_timeout = "secret"',
        'client = [["secret"]]',
        '[host."https://a".header]\nx-a = "secret\\nx-b: 1"',
        '[host."https://a".header]\n"x a" = "secret"',
        "\n".join(f'[host."https://m{number}"]' for number in range(17)),
        "#" * 300_000,
    ],
)
def test_a_file_that_cannot_be_used_is_an_error_that_shows_nothing_of_it(text: str) -> None:
    with pytest.raises(UsageError, match=r"hosts\.toml of here cannot be used") as caught:
        parse_hosts(text.encode(), HOME, "hosts.toml of here")
    assert "secret" not in f"{caught.value} {caught.value.todo}"


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_hosts_or_an_error(data: bytes) -> None:
    with contextlib.suppress(UsageError):
        assert parse_hosts(data, HOME, "hosts.toml")


@pytest.mark.parametrize("folder", ["registry.example_5000_", "registry.example:5000", "_default"])
def test_the_folder_is_named_after_the_host_or_is_the_default(folder: str, tmp_path: Path) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "hosts.toml").write_text('[host."https://m.example"]')
    assert read_hosts(tmp_path, "registry.example:5000", "it")[0].url == "https://m.example"
    assert read_hosts(tmp_path, "other.example", "it") == (
        () if folder != "_default" else (MirrorHost(url="https://m.example"), MirrorHost())
    )


def test_a_folder_without_the_file_holds_certificates_as_docker_keeps_them(tmp_path: Path) -> None:
    folder = tmp_path / "registry.example"
    folder.mkdir()
    for name in ("ca.crt", "client.cert", "client.key", "readme.txt"):
        (folder / name).touch()
    (only,) = read_hosts(tmp_path, "registry.example", "it")
    assert only.authorities == (folder / "ca.crt",)
    assert only.pairs == ((folder / "client.cert", folder / "client.key"),)
    (folder / "client.key").unlink()
    with pytest.raises(UsageError, match=r"client\.cert has no client\.key beside it"):
        read_hosts(tmp_path, "registry.example", "it")


IMAGE = "registry.test/team/app:v1"


async def test_a_mirror_is_asked_in_the_registrys_place_and_told_whose_content_is_meant(
    mirrored: "Callable[[str], Path]", faulty: "FaultyRegistry", image: Content, resolve: "Resolve"
) -> None:
    faulty.attach(image)
    folder = mirrored(f'server = "http://{faulty.host}"')
    found = await resolve(IMAGE, hosts_folder=folder, allow_private=False)
    assert found.reference == IMAGE
    assert found.images[0].search is not None
    assert found.images[0].search.state is SearchState.FOUND
    assert {one.query["ns"] for one in faulty.seen} == {"registry.test"}


@pytest.mark.usefixtures("image")
async def test_hosts_are_asked_in_order_and_the_next_one_helps_where_one_fails(
    mirrored: "Callable[[str], Path]", faulty: "FaultyRegistry", other_host: "FaultyRegistry", resolve: "Resolve"
) -> None:
    other_host.guard = lambda _: web.Response(status=500)
    folder = mirrored(f'server = "http://{faulty.host}"\n[host."http://{other_host.host}"]')
    assert (await resolve(IMAGE, hosts_folder=folder, attempts=1)).images
    assert other_host.seen[0].path == "/v2/team/app/manifests/v1"


async def test_a_mirror_that_serves_other_bytes_is_passed_over(
    mirrored: "Callable[[str], Path]",
    faulty: "FaultyRegistry",
    other_host: "FaultyRegistry",
    image: Content,
    resolve: "Resolve",
    build: "Builder",
) -> None:
    other_host.tags[image.digest] = build.image("linux/arm64")
    folder = mirrored(f'server = "http://{faulty.host}"\n[host."http://{other_host.host}"]\ncapabilities = ["pull"]')
    found = await resolve(f"registry.test/team/app@{image.digest}", hosts_folder=folder)
    assert found.digest == image.digest
    assert other_host.asked("GET", image.digest)


async def test_a_mirror_that_is_not_trusted_with_tags_is_asked_by_digest_alone(
    mirrored: "Callable[[str], Path]",
    faulty: "FaultyRegistry",
    other_host: "FaultyRegistry",
    image: Content,
    resolve: "Resolve",
    build: "Builder",
) -> None:
    other_host.tags["v1"] = build.image("linux/arm64")
    other_host.attach(image)
    folder = mirrored(f'server = "http://{faulty.host}"\n[host."http://{other_host.host}"]\ncapabilities = ["pull"]')
    found = await resolve(IMAGE, hosts_folder=folder)
    assert found.digest == image.digest
    assert found.images[0].search is not None
    assert found.images[0].search.state is SearchState.NONE
    assert not [one for one in other_host.seen if "v1" in one.path or "referrers" in one.path or "sha256-" in one.path]


async def test_a_mirror_that_knows_no_artifact_does_not_hide_the_registrys(
    mirrored: "Callable[[str], Path]",
    faulty: "FaultyRegistry",
    other_host: "FaultyRegistry",
    image: Content,
    resolve: "Resolve",
) -> None:
    artifact = faulty.attach(image)
    other_host.tags["v1"] = image
    folder = mirrored(f'server = "http://{faulty.host}"\n[host."http://{other_host.host}"]')
    search = (await resolve(IMAGE, hosts_folder=folder)).images[0].search
    assert search is not None
    assert search.artifact is not None
    assert search.artifact.digest == artifact.digest
    assert not faulty.asked("GET", "manifests/v1"), "the mirror had the image"


async def test_with_the_registry_out_of_reach_the_mirrors_word_counts_and_that_is_told(
    mirrored: "Callable[[str], Path]", faulty: "FaultyRegistry", image: Content, resolve: "Resolve"
) -> None:
    folder = mirrored(f'server = "http://127.0.0.1:1"\n[host."http://{faulty.host}"]')
    search = (await resolve(IMAGE, hosts_folder=folder)).images[0].search
    assert search is not None
    assert search.state is SearchState.NONE
    assert any("127.0.0.1:1 could not be asked" in notice for notice in search.notices)
    assert image.digest


async def test_when_all_fail_the_registrys_answer_counts_and_the_mirrors_are_named(
    mirrored: "Callable[[str], Path]", faulty: "FaultyRegistry", resolve: "Resolve"
) -> None:
    folder = mirrored(f'server = "http://127.0.0.1:1"\n[host."http://{faulty.host}"]')
    with pytest.raises(RegistryUnreachableError, match=f"127.0.0.1:1 cannot be reached.*before it {faulty.host}"):
        await resolve(IMAGE, hosts_folder=folder)


@pytest.mark.usefixtures("image")
async def test_a_mirror_that_could_not_be_reached_is_not_tried_again_for_a_while(
    mirrored: "Callable[[str], Path]",
    faulty: "FaultyRegistry",
    serve_faulty: "Serve",
    open_client: "OpenClient",
) -> None:
    async with serve_faulty() as gone:
        host = gone.host
    folder = mirrored(f'server = "http://{faulty.host}"\n[host."http://{host}"]')
    reference = parse_reference(IMAGE)
    assert isinstance(reference, Reference)
    async with open_client(hosts_folder=folder, attempts=1) as client:
        await resolve_image(client.store(reference), reference, None)
        assert client.traffic.requests["GET", "failed"] == 1


@pytest.mark.usefixtures("image")
async def test_a_hosts_own_headers_are_for_it_alone(
    mirrored: "Callable[[str], Path]", faulty: "FaultyRegistry", other_host: "FaultyRegistry", resolve: "Resolve"
) -> None:
    async def send_on(request: web.Request) -> web.StreamResponse:
        return web.Response(status=307, headers={"Location": f"http://{other_host.host}{request.path}"})

    for digest in faulty.builder.blobs:
        faulty.script("GET", f"blobs/{digest}", send_on)
    toml = f'[host."http://{faulty.host}"]\n[host."http://{faulty.host}".header]\nAuthorization = "Bearer secret"\n'
    await resolve(IMAGE, hosts_folder=mirrored(toml))
    assert {one.headers.get("Authorization") for one in faulty.seen} == {"Bearer secret"}
    assert other_host.seen
    assert not [one for one in other_host.seen if "secret" in str(one.headers)]


@pytest.mark.usefixtures("image")
async def test_a_mirror_gets_the_login_of_its_own_host_and_not_the_registrys(
    mirrored: "Callable[[str], Path]",
    faulty: "FaultyRegistry",
    other_host: "FaultyRegistry",
    docker_config: "Callable[..., Path]",
    resolve: "Resolve",
) -> None:
    faulty.token_guard(other_host.token_server())
    auths = {"registry.test": {"username": "me", "password": "for the registry"}}
    auths[faulty.host] = {"username": "mirror", "password": "for the mirror"}
    await resolve(IMAGE, hosts_folder=mirrored(f'server = "http://{faulty.host}"'), config=docker_config(auths=auths))
    shown = {one.headers["Authorization"] for one in other_host.asked("GET", "/token")}
    assert shown == {"Basic bWlycm9yOmZvciB0aGUgbWlycm9y"}


async def test_a_mirror_with_a_path_of_its_own_is_asked_there(
    mirrored: "Callable[[str], Path]", faulty: "FaultyRegistry", image: Content, resolve: "Resolve"
) -> None:
    async def serve(_: web.Request) -> web.StreamResponse:
        return web.Response(body=image.data, content_type=image.media_type)

    faulty.script("GET", "/cache/team/app/manifests/v1", serve)
    toml = f'[host."http://{faulty.host}/cache"]\noverride_path = true\ncapabilities = ["resolve"]'
    with pytest.raises(RegistryError):  # the rest is nowhere
        await resolve(f"registry.test:1/{IMAGE.partition('/')[2]}", hosts_folder=rename(mirrored(toml)), attempts=1)
    assert faulty.asked("GET", "/cache/team/app/manifests/v1")


def rename(folder: Path) -> Path:
    (folder / "registry.test").rename(folder / "registry.test_1_")
    return folder


async def test_nobody_to_ask_is_said(mirrored: "Callable[[str], Path]", resolve: "Resolve") -> None:
    with pytest.raises(UsageError, match=r"none of its hosts in hosts\.toml has the capability resolve"):
        await resolve(IMAGE, hosts_folder=mirrored('capabilities = ["pull"]'))


async def test_a_broken_file_harms_its_registry_alone(
    mirrored: "Callable[[str], Path]", faulty: "FaultyRegistry", image: Content, resolve: "Resolve"
) -> None:
    folder = mirrored("server =")
    with pytest.raises(UsageError, match=r"registry\.test"):
        await resolve(IMAGE, hosts_folder=folder)
    assert (await resolve(faulty.name, hosts_folder=folder)).digest == image.digest
