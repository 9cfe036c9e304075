"""The registry's side of a content store, and the client that the stores of one program share."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from types import TracebackType
from typing import Self

import aiohttp
from yarl import URL

from nodeworthy_resolver.oci.access import RegistryAccess, require_files
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.manifests import Descriptor
from nodeworthy_resolver.oci.reference import Reference
from nodeworthy_resolver.oci.registry import blobs, downloads, fallback, manifests, mirrors, referrers, removal
from nodeworthy_resolver.oci.registry.credentials import Credentials, CredentialSource
from nodeworthy_resolver.oci.registry.endpoint import Endpoint, base_url
from nodeworthy_resolver.oci.registry.guard import Guard, GuardedResolver
from nodeworthy_resolver.oci.registry.mirrors import Capability, MirrorHost
from nodeworthy_resolver.oci.registry.referrers import AbsentApis
from nodeworthy_resolver.oci.registry.sources import DownHosts, Source, Sources
from nodeworthy_resolver.oci.registry.tls import HostTls, make_trust
from nodeworthy_resolver.oci.registry.tokens import TokenAuthorizer
from nodeworthy_resolver.oci.registry.traffic import Traffic
from nodeworthy_resolver.oci.registry.transport import Transport
from nodeworthy_resolver.oci.store import BlobSink, Content, Listing, Removal, Via

USER_AGENT = "nodeworthy"


class RegistryStore:
    """One repository, wherever it is served; a content store that can be written to."""

    def __init__(self, sources: Sources, absent: AbsentApis, *, download_seconds: float) -> None:
        self._sources = sources
        self._absent = absent
        self._download_seconds = download_seconds

    @property
    def name(self) -> str:
        """Host and repository."""
        return self._sources.name

    async def resolve(self, target: str) -> Content:
        """The manifest that a tag or digest names."""
        capability = Capability.PULL if ":" in target else Capability.RESOLVE
        return await self._sources.ask(capability, lambda endpoint: manifests.read_manifest(endpoint, target))

    async def read_digest(self, target: str) -> Digest:
        """The digest of what a tag or digest names now, without reading it where the registry allows that."""
        return await self._sources.ask(Capability.RESOLVE, lambda endpoint: manifests.read_digest(endpoint, target))

    async def read_manifest(self, digest: Digest) -> Content:
        """The manifest or index with this digest."""
        return await self._sources.ask(Capability.PULL, lambda endpoint: manifests.read_manifest(endpoint, digest))

    async def read_blob(self, descriptor: Descriptor, limit: int) -> bytes:
        """The blob, of at most ``limit`` bytes."""
        return await self._sources.ask(Capability.PULL, lambda endpoint: blobs.read_blob(endpoint, descriptor, limit))

    async def stream_blob(self, descriptor: Descriptor, sink: BlobSink) -> None:
        """Give a blob to a sink, in a time of its own."""
        deadline = asyncio.get_running_loop().time() + self._download_seconds
        await self._sources.ask(
            Capability.PULL,
            lambda endpoint: downloads.stream_blob(replace(endpoint, deadline=deadline), descriptor, sink),
        )

    async def list_referrers(self, subject: Digest, artifact_type: str) -> Listing:
        """What the referrers API or the fallback tag lists."""
        now = asyncio.get_running_loop().time()
        return await self._sources.list_referrers(
            artifact_type,
            lambda endpoint: referrers.list_referrers(endpoint, subject, artifact_type, self._absent, now),
        )

    async def write_blob(self, data: bytes, digest: Digest) -> None:
        """Upload a blob unless it is there."""
        await blobs.write_blob(self._writable(), data, digest)

    async def write_referrer(self, data: bytes, descriptor: Descriptor, subject: Digest) -> Via:
        """Put the manifest by its digest; without the registry's word that it lists it, keep the fallback tag.

        Docker Hub once gave its word without having the API, and artifacts were lost; so the API is looked for too.
        """
        endpoint = self._writable()
        answer = await manifests.write_manifest(endpoint, descriptor.digest, data, descriptor.media_type)
        is_acknowledged = answer.headers.get("OCI-Subject", "").strip() == subject
        if is_acknowledged and await referrers.has_api(endpoint, subject):
            return Via.REFERRERS_API
        await fallback.add_to_tag(endpoint, subject, descriptor)
        return Via.FALLBACK_TAG

    async def remove_referrer(self, digest: Digest, subject: Digest) -> Removal:
        """Delete the manifest by its digest where the registry does that, and take it off the fallback tag."""
        return await removal.remove_referrer(self._writable(), digest, subject)

    def _writable(self) -> Endpoint:
        """Where it is written to: to one host, since nobody keeps several in step."""
        return self._sources.trusted(Capability.PUSH)[-1]


class RegistryClient:
    """Connections, tokens and what was learnt of registries, for all stores of a program; an async context manager."""

    def __init__(
        self,
        access: RegistryAccess | None = None,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
        clock: Callable[[], float] | None = None,
        credentials: CredentialSource | None = None,
    ) -> None:
        self._access = access or RegistryAccess()
        self._source = credentials
        self._sleep = sleep
        self._jitter = jitter
        self._clock = clock
        self._absent = AbsentApis()
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        require_files(self._access)
        now = asyncio.get_running_loop().time
        self._guard = Guard(self._access)
        self._down = DownHosts(now)
        self._tls = HostTls(self._access.certificates, self._access.name_of)
        self.traffic = Traffic(now)
        connector = aiohttp.TCPConnector(
            limit_per_host=self._access.connections,
            ssl=make_trust(self._access.certificates, self._access.name_of),
            resolver=GuardedResolver(self._guard),
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,  # answers are decompressed within their limit
            headers={"User-Agent": USER_AGENT},
            timeout=aiohttp.ClientTimeout(total=None),  # the transport's deadlines cover everything
            requote_redirect_url=False,
        )
        self._transport = Transport(
            self._session, self._access, self._guard, self.traffic, sleep=self._sleep, jitter=self._jitter
        )
        clock = self._clock or now
        self._authorizer = TokenAuthorizer(Credentials(self._access, clock, source=self._source), clock=clock)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    def store(self, reference: Reference) -> RegistryStore:
        """The store of a reference's repository, for one operation: its time starts now.

        Raises:
            UsageError: what is set for its host, in a file of mirrors, cannot be used.
            RegistryDeniedError: its host may not be asked.
        """
        self._guard.check(base_url(reference, self._access))
        now = asyncio.get_running_loop().time
        deadline = now() + self._access.operation_timeout
        hosts = self._mirrors(reference) or (MirrorHost(),)
        sources = [Source(self._endpoint(reference, host, deadline), host.capabilities) for host in hosts]
        return RegistryStore(
            Sources(f"{reference.host}/{reference.repository}", sources, self._down, now),
            self._absent,
            download_seconds=self._access.download_timeout,
        )

    def _mirrors(self, reference: Reference) -> tuple[MirrorHost, ...]:
        if self._access.hosts_folder is None:
            return ()
        named = self._access.name_of(self._access.hosts_folder / reference.host / mirrors.FILE)
        return mirrors.read_hosts(self._access.hosts_folder, reference.host, f"{named} for {reference.host}")

    def _endpoint(self, reference: Reference, host: MirrorHost, deadline: float) -> Endpoint:
        registry = base_url(reference, self._access)
        base = URL(host.url) if host.url else registry
        is_mirror = base.authority != registry.authority
        if is_mirror:
            self._guard.trust(base)
        return Endpoint(
            base=base,
            repository=reference.repository,
            name=f"{reference.host}/{reference.repository}",
            transport=self._transport,
            authorizer=self._authorizer,
            deadline=deadline,
            root=host.path,
            namespace=reference.host if is_mirror else "",
            headers=dict(host.headers),
            tls=self._tls.of(host),
            dial_seconds=host.dial_seconds,
        )
