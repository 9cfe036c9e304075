"""Who is asked for a repository's content, in turn: its mirrors, then the registry; as containerd does it.

What is asked by digest may come from anybody, since it is verified. What a tag names and what is attached is only believed
of a host that the operator trusts with it (capabilities ``resolve`` and ``referrers``).
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from nodeworthy.errors import NodeworthyError, RegistryUnreachableError, UsageError
from nodeworthy_resolver.oci import candidates
from nodeworthy_resolver.oci.registry.endpoint import Endpoint
from nodeworthy_resolver.oci.registry.mirrors import Capability
from nodeworthy_resolver.oci.store import Listing

_Result = TypeVar("_Result")

DOWN_SECONDS = 30.0
"""For which a mirror that could not be reached is passed over: each try of one that is frozen costs its time."""
MAX_DOWN = 1000
"""Mirrors that are remembered as down."""


class DownHosts:
    """The mirrors that could not be reached a moment ago, for all stores of a client."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def add(self, host: str) -> None:
        """Remember one."""
        if len(self._until) >= MAX_DOWN:
            self._until.clear()
        self._until[host] = self._clock() + DOWN_SECONDS

    def has(self, host: str) -> bool:
        """Whether it is not worth a try now."""
        return self._until.get(host, 0.0) > self._clock()


@dataclass(frozen=True)
class Source:
    """One host, and what it is trusted with."""

    endpoint: Endpoint
    capabilities: frozenset[Capability] = frozenset(Capability)


class Sources:
    """The hosts of one repository for one operation."""

    def __init__(self, name: str, sources: Sequence[Source], down: DownHosts, clock: Callable[[], float]) -> None:
        self.name = name
        self._sources = sources
        self._down = down
        self._clock = clock

    async def ask(self, capability: Capability, question: Callable[[Endpoint], Awaitable[_Result]]) -> _Result:
        """The first answer of those that are trusted with the question.

        Raises:
            NodeworthyError: what the last one said, and that its mirrors did not help either.
        """
        trusted = self.trusted(capability)
        reasons: list[str] = []
        for place, endpoint in enumerate(trusted):
            is_last = place + 1 == len(trusted)
            try:
                return await self._try(endpoint, question, is_last=is_last)
            except NodeworthyError as error:
                if is_last:
                    raise _with_mirrors(error, reasons) from error
                reasons.append(f"{endpoint.title}: {error.what}")
        raise AssertionError(trusted)  # the last one returned or raised

    async def list_referrers(self, artifact_type: str, question: Callable[[Endpoint], Awaitable[Listing]]) -> Listing:
        """What the first host lists that lists anything of the type: a mirror need not know what is attached upstream.

        Raises:
            NodeworthyError: nobody lists anything, and not even a mirror could be asked.
        """
        trusted = self.trusted(Capability.REFERRERS)
        empty: Listing | None = None
        for place, endpoint in enumerate(trusted):
            is_last = place + 1 == len(trusted)
            try:
                listing = await self._try(endpoint, question, is_last=is_last)
            except NodeworthyError as error:
                if is_last and empty is None:
                    raise
                if is_last and empty is not None:
                    note = f"{endpoint.title} could not be asked for what is attached: {error.what}"
                    return replace(empty, notices=(*empty.notices, note))
                continue
            if is_last or any(candidates.is_candidate(entry, artifact_type) for entry in listing.entries):
                return listing
            empty = listing
        raise AssertionError(trusted)  # the last one returned or raised

    def trusted(self, capability: Capability) -> list[Endpoint]:
        """Those that are trusted with something.

        Raises:
            UsageError: nobody is.
        """
        trusted = [source.endpoint for source in self._sources if capability in source.capabilities]
        if not trusted:
            raise UsageError(
                f"{self.name} cannot be asked", why=f"none of its hosts in hosts.toml has the capability {capability}"
            )
        return [one for one in trusted[:-1] if not self._down.has(one.base.authority)] + trusted[-1:]

    async def _try(
        self, endpoint: Endpoint, question: Callable[[Endpoint], Awaitable[_Result]], *, is_last: bool
    ) -> _Result:
        if is_last:
            return await question(endpoint)
        now = self._clock()
        # Half of what is left, so that there is time for whoever comes after it.
        bounded = replace(endpoint, deadline=now + (endpoint.deadline - now) / 2)
        try:
            return await question(bounded)
        except RegistryUnreachableError:
            self._down.add(endpoint.base.authority)
            raise


def _with_mirrors(error: NodeworthyError, reasons: Sequence[str]) -> NodeworthyError:
    """The error, with what the mirrors said before; the reader of a 404 has to know that they were asked."""
    if not reasons:
        return error
    why = "; ".join((error.why, f"before it {', '.join(reasons)}") if error.why else reasons)
    return type(error)(error.what, why=why, todo=error.todo)
