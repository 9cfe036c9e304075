"""Where requests may go: by name, by address, by redirect, and when a name server changes its mind."""

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from nodeworthy.errors import RegistryDeniedError, RegistryError
from nodeworthy_resolver.oci import RegistryAccess, parse_reference, resolve_image
from nodeworthy_resolver.oci.reference import Reference
from nodeworthy_resolver.oci.registry import RegistryClient
from nodeworthy_resolver.oci.registry import guard as guarding
from nodeworthy_resolver.oci.registry.guard import Guard, GuardedResolver
from nodeworthy_resolver.oci.registry.hosts import is_named

if TYPE_CHECKING:
    from tests.resolver.conftest import FaultyRegistry, OpenClient, Reply
    from tests.resolver.oci.registry.conftest import Resolve

    from nodeworthy_resolver.oci.store import Content

METADATA = "169.254.169.254"


class Names(AbstractResolver):
    """A name server that gives one answer after the other, and the last one for ever."""

    def __init__(self, *answers: tuple[str, ...]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def resolve(
        self, host: str, port: int = 0, _family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked.append(host)
        addresses = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        kinds = {address: socket.AF_INET6 if ":" in address else socket.AF_INET for address in addresses}
        return [
            ResolveResult(hostname=host, host=address, port=port, family=kind, proto=0, flags=0)
            for address, kind in kinds.items()
        ]

    async def close(self) -> None:
        """Nothing is held."""


@pytest.fixture
def name_server(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Names]:
    """Puts a name server in the place of this machine's; what is connected to is real."""

    def put(*answers: tuple[str, ...]) -> Names:
        names = Names(*answers)
        monkeypatch.setattr(guarding, "ThreadedResolver", lambda _loop: names)
        return names

    return put


def port_of(registry: "FaultyRegistry") -> str:
    return registry.host.rpartition(":")[2]


async def look(client: RegistryClient, name: str) -> None:
    reference = parse_reference(name)
    assert isinstance(reference, Reference)
    await resolve_image(client.store(reference), reference, None)


@pytest.mark.parametrize(
    "host", [METADATA, "[fe80::1]:5000", "[::ffff:169.254.169.254]", "0.0.0.0:5000", "[fd00:ec2::254]"]
)
@pytest.mark.parametrize("access", [{}, {"private_hosts": ("*",)}, {"allow_private": True}])
async def test_link_local_and_metadata_addresses_are_never_asked_whatever_is_allowed(
    host: str, access: dict[str, Any], open_client: "OpenClient"
) -> None:
    async with open_client(**access) as client:
        with pytest.raises(RegistryDeniedError, match="link-local or a metadata service"):
            await look(client, f"{host}/team/app:v1")


@pytest.mark.usefixtures("image")
async def test_a_private_address_is_asked_where_that_is_allowed_and_not_elsewhere(
    faulty: "FaultyRegistry", resolve: "Resolve"
) -> None:
    await resolve(faulty.name)
    await resolve(faulty.name, allow_private=False, private_hosts=("127.0.0.1",))
    await resolve(faulty.name, allow_private=False, private_hosts=(faulty.host,))
    faulty.seen.clear()
    for named in ((), ("127.0.0.1:1",), ("*.0.0.1:1",)):
        with pytest.raises(RegistryDeniedError, match="private") as caught:
            await resolve(faulty.name, allow_private=False, private_hosts=named)
        assert "--private-host" in caught.value.todo
    assert not faulty.seen


@pytest.mark.usefixtures("image")
async def test_a_name_is_judged_by_its_addresses(
    faulty: "FaultyRegistry", resolve: "Resolve", name_server: Callable[..., Names]
) -> None:
    name_server(("127.0.0.1", "169.254.169.254"))
    name = f"registry.test:{port_of(faulty)}/team/app:v1"
    await resolve(name)
    await resolve(name, allow_private=False, private_hosts=("*.test",))
    with pytest.raises(RegistryDeniedError, match=r"registry\.test:\d+ is not asked: its address is private"):
        await resolve(name, allow_private=False)


async def test_a_name_for_a_metadata_service_is_refused(resolve: "Resolve", name_server: Callable[..., Names]) -> None:
    name_server((METADATA,))
    with pytest.raises(RegistryDeniedError, match="link-local or a metadata service"):
        await resolve("rebound.test/team/app:v1")


@pytest.mark.usefixtures("image")
async def test_a_name_server_that_changes_its_answer_between_check_and_use_wins_nothing(
    faulty: "FaultyRegistry", resolve: "Resolve", name_server: Callable[..., Names]
) -> None:
    names = name_server(("127.0.0.1",), (METADATA,))
    await resolve(f"registry.test:{port_of(faulty)}/team/app:v1")
    assert names.asked == ["registry.test"], "it is asked once, and its answer is what is connected to"


async def test_the_addresses_that_may_not_be_connected_to_are_taken_out_of_an_answer() -> None:
    resolver = GuardedResolver(Guard(RegistryAccess(allow_private=False)), Names(("10.0.0.1", "8.8.8.8", METADATA)))
    assert [one["host"] for one in await resolver.resolve("mixed.test", 443)] == ["8.8.8.8"]


@pytest.mark.usefixtures("image")
@pytest.mark.parametrize("target", [f"http://{METADATA}/latest/meta-data/", "http://[fe80::1]/"])
async def test_a_redirect_to_such_a_place_is_not_followed(
    target: str, faulty: "FaultyRegistry", resolve: "Resolve", reply: "Reply"
) -> None:
    faulty.script("GET", "manifests/v1", reply(307, Location=target))
    with pytest.raises(RegistryDeniedError, match="link-local"):
        await resolve(faulty.name)


@pytest.mark.usefixtures("image")
async def test_a_redirect_from_a_registry_that_is_allowed_to_a_private_one_is_not_followed(
    faulty: "FaultyRegistry", other_host: "FaultyRegistry", resolve: "Resolve", reply: "Reply"
) -> None:
    faulty.script("GET", "manifests/v1", reply(307, Location=f"http://{other_host.host}/x"))
    with pytest.raises(RegistryDeniedError, match="private"):
        await resolve(faulty.name, allow_private=False, private_hosts=(faulty.host,))
    assert not other_host.seen


@pytest.mark.usefixtures("image")
async def test_a_token_server_at_such_a_place_is_not_asked(faulty: "FaultyRegistry", resolve: "Resolve") -> None:
    faulty.token_guard(f"http://{METADATA}/token")
    with pytest.raises(RegistryDeniedError, match="link-local"):
        await resolve(faulty.name)


@pytest.mark.usefixtures("image")
async def test_with_a_list_only_its_hosts_are_asked(faulty: "FaultyRegistry", resolve: "Resolve") -> None:
    await resolve(faulty.name, allowed_hosts=(faulty.host,))
    asked = len(faulty.seen)
    with pytest.raises(RegistryDeniedError, match="not on the list"):
        await resolve(faulty.name, allowed_hosts=("registry.example",))
    assert len(faulty.seen) == asked


@pytest.mark.usefixtures("image")
async def test_a_redirect_to_a_host_that_is_not_on_the_list_is_not_followed(
    faulty: "FaultyRegistry", other_host: "FaultyRegistry", resolve: "Resolve", reply: "Reply"
) -> None:
    faulty.script("GET", "manifests/v1", reply(307, Location=f"http://{other_host.host}/x"))
    with pytest.raises(RegistryDeniedError, match="not on the list"):
        await resolve(faulty.name, allowed_hosts=(faulty.host,))
    assert not other_host.seen


async def test_a_proxy_may_have_any_address_since_the_operator_named_it(
    faulty: "FaultyRegistry", image: "Content", resolve: "Resolve", name_server: Callable[..., Names]
) -> None:
    name_server(("127.0.0.1",))
    port = port_of(faulty)
    proxies = {"http": f"http://proxy.test:{port}"}
    found = await resolve("registry.example/team/app:v1", allow_private=False, proxies=proxies)
    assert found.digest == image.digest
    with pytest.raises(RegistryDeniedError, match="private"):
        await resolve("proxy.test:1/team/app:v1", allow_private=False, proxies={"https": proxies["http"]})


@pytest.mark.parametrize("host", ["2130706433", "127.1", "0x7f.1"])
async def test_other_spellings_of_an_address_reach_nothing(
    host: str, faulty: "FaultyRegistry", open_client: "OpenClient"
) -> None:
    async with open_client(allow_private=False, attempts=1) as client:
        with pytest.raises(RegistryError):
            await look(client, f"{host}:{port_of(faulty)}/team/app:v1")
    assert not faulty.seen


@pytest.mark.parametrize(
    ("url", "patterns", "named"),
    [
        ("https://a.example.com/", ("a.example.com",), True),
        ("https://a.example.com:5000/", ("a.example.com",), True),
        ("https://a.example.com:5000/", ("a.example.com:5000",), True),
        ("https://a.example.com/", ("a.example.com:443",), True),
        ("https://a.example.com:5000/", ("a.example.com:5001",), False),
        ("https://A.Example.Com/", ("a.example.COM",), True),
        ("https://a.example.com./", ("a.example.com",), True),
        ("https://example.com/", ("*.example.com",), False),
        ("https://evilexample.com/", ("*.example.com",), False),
        ("https://a.b.example.com/", ("*.example.com",), True),
        ("https://[::1]:5000/", ("[::1]:5000",), True),
        ("https://[::1]:5000/", ("[::1]",), True),
        ("https://a/", (), False),
    ],
)
def test_a_pattern_names_hosts(url: str, patterns: tuple[str, ...], named: bool) -> None:
    assert is_named(URL(url), patterns) is named


def test_docker_io_on_the_list_stands_for_what_docker_hub_needs() -> None:
    guard = Guard(RegistryAccess(allowed_hosts=("docker.io",)))
    for host in ("registry-1.docker.io", "auth.docker.io"):
        guard.check(URL(f"https://{host}/v2/"))
    with pytest.raises(RegistryDeniedError):
        guard.check(URL("https://docker.io.example/"))
