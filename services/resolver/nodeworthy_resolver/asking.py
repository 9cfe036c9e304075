"""Asking a registry on behalf of a lookup: only if the lookup must, and only so many lookups at once."""

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Self, TypeVar

from nodeworthy.errors import BusBusyError, RegistryBusyError, RegistryUnreachableError
from nodeworthy_resolver.oci import Reference
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.manifests import Descriptor
from nodeworthy_resolver.oci.registry import RegistryClient, RegistryStore
from nodeworthy_resolver.oci.store import Content, Listing

_Result = TypeVar("_Result")


class Admission:
    """How many are at each registry at once; one that is frozen must not take the places of all others."""

    def __init__(self, per_registry: int) -> None:
        self._per_registry = per_registry
        self._inside: dict[str, int] = {}

    @contextlib.contextmanager
    def enter(self, host: str) -> Iterator[None]:
        """A place at a registry for the length of the context.

        Raises:
            BusBusyError: all places are taken. Waiting for one would only move the queue.
        """
        taken = self._inside.get(host, 0)
        if taken >= self._per_registry:
            why = f"{taken} requests wait for {host}"
            raise BusBusyError("the resolver is busy with this registry", why=why, todo="ask again")
        self._inside[host] = taken + 1
        try:
            yield
        finally:
            left = self._inside.pop(host) - 1
            if left:
                self._inside[host] = left


class AskedStore:
    """The repository of one lookup, opened when it is first asked; a content store.

    What the cache answers in full must be answered although the registry is down and all its places are taken.
    """

    def __init__(
        self,
        reference: Reference,
        client: RegistryClient,
        admission: Admission,
        before: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """``before`` is called before the first question, and may raise what stops it."""
        self._before = before
        self._reference = reference
        self._client = client
        self._admission = admission
        self._place = contextlib.ExitStack()
        self._store: RegistryStore | None = None
        self._resolved: Content | None = None
        self.is_down = False
        """Whether the registry could not be reached, or would not serve, for at least one question."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._place.close()

    @property
    def name(self) -> str:
        """Host and repository."""
        return f"{self._reference.host}/{self._reference.repository}"

    def open(self) -> RegistryStore:
        """The repository itself; its time starts with the first call.

        Raises:
            BusBusyError: too many lookups wait for this registry.
        """
        if self._store is None:
            self._place.enter_context(self._admission.enter(self._reference.host))
            self._store = self._client.store(self._reference)
        return self._store

    async def resolve(self, target: str) -> Content:
        """The manifest that a tag or digest names; what a tag named is not read again by its digest."""
        if self._resolved is None or self._resolved.digest != target:
            self._resolved = await self._ask(lambda store: store.resolve(target))
        return self._resolved

    async def read_digest(self, target: str) -> Digest:
        """The digest of what a tag or digest names now."""
        return await self._ask(lambda store: store.read_digest(target))

    async def read_manifest(self, digest: Digest) -> Content:
        """The manifest or index with this digest."""
        return await self._ask(lambda store: store.read_manifest(digest))

    async def read_blob(self, descriptor: Descriptor, limit: int) -> bytes:
        """The blob, of at most ``limit`` bytes."""
        return await self._ask(lambda store: store.read_blob(descriptor, limit))

    async def list_referrers(self, subject: Digest, artifact_type: str) -> Listing:
        """What claims to refer to ``subject``."""
        return await self._ask(lambda store: store.list_referrers(subject, artifact_type))

    async def _ask(self, question: Callable[[RegistryStore], Awaitable[_Result]]) -> _Result:
        if self._before is not None and self._store is None:
            await self._before()
        try:
            return await question(self.open())
        except (RegistryUnreachableError, RegistryBusyError):
            self.is_down = True
            raise
