"""What a request must not make us connect to, wherever the address came from: a reference, a redirect, a token server.

A name is judged by the addresses that it resolves to, and these very addresses are then connected to, so that a name server
that answers differently the next time wins nothing. Behind a proxy it is the proxy that resolves names; literal addresses
are judged all the same.
"""

import asyncio
import socket
from collections.abc import Iterable

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from nodeworthy.errors import RegistryDeniedError
from nodeworthy_resolver.oci.access import RegistryAccess
from nodeworthy_resolver.oci.addresses import Reach, classify, parse_address
from nodeworthy_resolver.oci.registry import hosts
from nodeworthy_resolver.oci.registry.answers import display_host

MAX_NAMED = 1000
"""Hosts that the mirrors' files named; with more, the oldest are forgotten until their file is read again."""


class Guard:
    """The rules of one client."""

    def __init__(self, access: RegistryAccess) -> None:
        self._allow_private = access.allow_private
        self._private_hosts = access.private_hosts
        self._allowed = hosts.expand(access.allowed_hosts)
        self._named = dict.fromkeys(filter(None, map(_place, access.proxies.values())))

    def trust(self, url: URL) -> None:
        """Take a host for one that the operator named: a mirror. Link-local addresses stay refused."""
        if len(self._named) >= MAX_NAMED:
            self._named.pop(next(iter(self._named)))
        self._named[url.host or "", url.port or 0] = None

    def check(self, url: URL) -> None:
        """See that a host may be asked, as far as its name tells.

        Raises:
            RegistryDeniedError: it may not.
        """
        if (
            self._allowed
            and not hosts.is_named(url, self._allowed)
            and not self._is_ours(url.host or "", url.port or 0)
        ):
            raise RegistryDeniedError(
                f"{display_host(url)} is not asked",
                why="it is not on the list of hosts that may be",
                todo="add it to the list, if it is a registry, its token server or its storage: --allow-host",
            )
        address = parse_address(url.host or "")
        if address is not None:
            self._judge(url.host or "", url.port or 0, [address.compressed])

    def permitted(self, host: str, port: int, addresses: Iterable[str]) -> tuple[str, ...]:
        """Those of a name's addresses that may be connected to.

        Raises:
            RegistryDeniedError: none of them may.
        """
        return self._judge(host, port, list(addresses))

    def _judge(self, host: str, port: int, addresses: list[str]) -> tuple[str, ...]:
        url = URL.build(scheme="https", host=host, port=port)
        is_private_fine = self._allow_private or self._is_ours(host, port) or hosts.is_named(url, self._private_hosts)
        reaches = {address: _reach(address) for address in addresses}
        fine = {Reach.PUBLIC, Reach.PRIVATE} if is_private_fine else {Reach.PUBLIC}
        if kept := tuple(address for address, reach in reaches.items() if reach in fine):
            return kept
        if Reach.PRIVATE in reaches.values():
            raise RegistryDeniedError(
                f"{display_host(url)} is not asked",
                why="its address is private, and whoever asks here may not be from that network",
                todo="if it is a registry, its operator allows it: --private-host, or --allow-private for all",
            )
        raise RegistryDeniedError(
            f"{display_host(url)} is not asked",
            why="its address is link-local or a metadata service: no registry is there",
        )

    def _is_ours(self, host: str, port: int) -> bool:
        return (host, port) in self._named


def _reach(text: str) -> Reach:
    address = parse_address(text)
    return Reach.NEVER if address is None else classify(address)


def _place(proxy: str) -> tuple[str, int] | None:
    try:
        url = URL(proxy)
    except ValueError:
        return None
    return (url.host, url.port) if url.host and url.port else None


class GuardedResolver(AbstractResolver):
    """Resolves names to the addresses that may be connected to; aiohttp connects to what it is given here."""

    def __init__(self, guard: Guard, inner: AbstractResolver | None = None) -> None:
        self._guard = guard
        self._inner = inner or ThreadedResolver(asyncio.get_running_loop())

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a name, without those that may not be connected to.

        Raises:
            OSError: the name is not known.
            RegistryDeniedError: none of its addresses may be connected to.
        """
        try:
            found = await self._inner.resolve(host, port, family)
        except UnicodeError as error:  # from the codec for international names: parts that are empty or too long
            raise OSError(socket.EAI_NONAME, "that is no host's name") from error
        kept = self._guard.permitted(host, port, (one["host"] for one in found))
        return [one for one in found if one["host"] in kept]

    async def close(self) -> None:
        """Release what the inner resolver holds."""
        await self._inner.close()
