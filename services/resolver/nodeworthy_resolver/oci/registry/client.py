"""The registry's side of a content store, and the client that the stores of one program share."""

import asyncio
import random
import ssl
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

import aiohttp

from nodeworthy.errors import UsageError
from nodeworthy_resolver.oci.access import RegistryAccess, require_files
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.manifests import Descriptor
from nodeworthy_resolver.oci.reference import Reference
from nodeworthy_resolver.oci.registry import blobs, fallback, manifests, referrers
from nodeworthy_resolver.oci.registry.credentials import Credentials
from nodeworthy_resolver.oci.registry.endpoint import Endpoint, base_url
from nodeworthy_resolver.oci.registry.referrers import AbsentApis
from nodeworthy_resolver.oci.registry.tokens import TokenAuthorizer
from nodeworthy_resolver.oci.registry.transport import Transport
from nodeworthy_resolver.oci.store import Content, Listing, Via

USER_AGENT = "nodeworthy"


class RegistryStore:
    """One repository of one registry; a content store that can be written to."""

    def __init__(self, endpoint: Endpoint, absent: AbsentApis) -> None:
        self._endpoint = endpoint
        self._absent = absent

    @property
    def name(self) -> str:
        """Host and repository."""
        return self._endpoint.name

    async def resolve(self, target: str) -> Content:
        """The manifest that a tag or digest names."""
        return await manifests.read_manifest(self._endpoint, target)

    async def read_digest(self, target: str) -> Digest:
        """The digest of what a tag or digest names now, without reading it where the registry allows that."""
        return await manifests.read_digest(self._endpoint, target)

    async def read_manifest(self, digest: Digest) -> Content:
        """The manifest or index with this digest."""
        return await manifests.read_manifest(self._endpoint, digest)

    async def read_blob(self, descriptor: Descriptor, limit: int) -> bytes:
        """The blob, of at most ``limit`` bytes."""
        return await blobs.read_blob(self._endpoint, descriptor, limit)

    async def list_referrers(self, subject: Digest, artifact_type: str) -> Listing:
        """What the referrers API or the fallback tag lists."""
        now = asyncio.get_running_loop().time()
        return await referrers.list_referrers(self._endpoint, subject, artifact_type, self._absent, now)

    async def write_blob(self, data: bytes, digest: Digest) -> None:
        """Upload a blob unless it is there."""
        await blobs.write_blob(self._endpoint, data, digest)

    async def write_referrer(self, data: bytes, descriptor: Descriptor, subject: Digest) -> Via:
        """Put the manifest by its digest; without the registry's word that it lists it, keep the fallback tag.

        Docker Hub once gave its word without having the API, and artifacts were lost; so the API is looked for too.
        """
        answer = await manifests.write_manifest(self._endpoint, descriptor.digest, data, descriptor.media_type)
        is_acknowledged = answer.headers.get("OCI-Subject", "").strip() == subject
        if is_acknowledged and await referrers.has_api(self._endpoint, subject):
            return Via.REFERRERS_API
        await fallback.add_to_tag(self._endpoint, subject, descriptor)
        return Via.FALLBACK_TAG


class RegistryClient:
    """Connections, tokens and what was learnt of registries, for all stores of a program; an async context manager."""

    def __init__(
        self,
        access: RegistryAccess | None = None,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._access = access or RegistryAccess()
        self._sleep = sleep
        self._jitter = jitter
        self._clock = clock
        self._absent = AbsentApis()
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        require_files(self._access)
        connector = aiohttp.TCPConnector(limit_per_host=self._access.connections, ssl=_trust(self._access))
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,  # answers are decompressed within their limit
            headers={"User-Agent": USER_AGENT},
            timeout=aiohttp.ClientTimeout(total=None),  # the transport's deadlines cover everything
            requote_redirect_url=False,
        )
        self._transport = Transport(self._session, self._access, sleep=self._sleep, jitter=self._jitter)
        credentials = Credentials(self._access.config, self._access.helper_timeout)
        clock = self._clock or asyncio.get_running_loop().time
        self._authorizer = TokenAuthorizer(credentials, clock=clock)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    def store(self, reference: Reference) -> RegistryStore:
        """The store of a reference's repository, for one operation: its time starts now."""
        endpoint = Endpoint(
            base=base_url(reference, self._access),
            repository=reference.repository,
            name=f"{reference.host}/{reference.repository}",
            transport=self._transport,
            authorizer=self._authorizer,
            deadline=asyncio.get_running_loop().time() + self._access.operation_timeout,
        )
        return RegistryStore(endpoint, self._absent)


def _trust(access: RegistryAccess) -> ssl.SSLContext | bool:
    if access.certificates is None:
        return True
    try:
        return ssl.create_default_context(cafile=str(access.certificates))
    except ssl.SSLError as error:
        raise UsageError(
            f"{access.certificates} holds no certificates",
            why="it is no PEM file, or a damaged one",
            todo="name another file by --ca-file, or leave it out",
        ) from error
    except OSError as error:
        raise UsageError(f"{access.certificates} cannot be read", why=error.strerror or str(error)) from error
