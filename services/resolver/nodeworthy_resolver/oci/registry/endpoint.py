"""One repository of one registry: the addresses of its API, and sending to them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from yarl import URL

from nodeworthy_resolver.oci.access import RegistryAccess
from nodeworthy_resolver.oci.reference import Reference
from nodeworthy_resolver.oci.registry import answers
from nodeworthy_resolver.oci.registry.answers import Answer
from nodeworthy_resolver.oci.registry.tls import Tls
from nodeworthy_resolver.oci.registry.transport import Authorizer, Request, Transport
from nodeworthy_resolver.oci.store import BlobSink

_LOCAL = "localhost"


def base_url(reference: Reference, access: RegistryAccess) -> URL:
    """Scheme, host and port of a registry's API: HTTPS, unless plain HTTP is asked for or the host is ``localhost``."""
    is_listed = reference.host in access.plain_http_hosts or reference.api_host.partition(":")[0] == _LOCAL
    is_plain = is_listed if access.plain_http is None else access.plain_http
    return URL(f"{'http' if is_plain else 'https'}://{reference.api_host}")


@dataclass(frozen=True)
class Endpoint:
    """Where one repository is asked, with whose login, and until when."""

    base: URL
    repository: str
    name: str
    """Host and repository as the user wrote them."""
    transport: Transport
    authorizer: Authorizer
    deadline: float
    root: str = "/v2"
    """The path below which the API is; a mirror may have another one."""
    namespace: str = ""
    """For a mirror: the registry whose content is asked for, which it is told as ``ns`` (containerd, docs/hosts.md)."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent to this very host with every request."""
    tls: Tls | None = None
    dial_seconds: float | None = None

    @property
    def title(self) -> str:
        """The host, as messages name it."""
        return answers.display_host(self.base)

    def url(self, *parts: str) -> URL:
        """An address below the repository, as ``/v2/<name>/manifests/<tag>``; every part is checked text of a reference."""
        url = self.base.joinpath(*filter(None, self.root.split("/")), *self.repository.split("/"), *parts)
        return url.with_query(ns=self.namespace) if self.namespace else url

    async def send(
        self,
        method: str,
        url: URL,
        *,
        limit: int,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        sink: BlobSink | None = None,
    ) -> Answer:
        """The answer to one request; another host than the registry's gets no login from us."""
        actions = "pull" if method in {"GET", "HEAD"} else "pull,push"
        request = Request(
            method,
            url,
            limit,
            headers or {},
            body,
            self.repository,
            actions,
            own_headers=self.headers,
            tls=self.tls,
            dial_seconds=self.dial_seconds,
            sink=sink,
        )
        return await self.transport.send(request, self.authorizer, self.deadline)
