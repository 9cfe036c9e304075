"""One repository of one registry: the addresses of its API, and sending to them."""

from collections.abc import Mapping
from dataclasses import dataclass

from yarl import URL

from nodeworthy_resolver.oci.access import RegistryAccess
from nodeworthy_resolver.oci.reference import Reference
from nodeworthy_resolver.oci.registry.answers import Answer
from nodeworthy_resolver.oci.registry.transport import Authorizer, Request, Transport

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

    def url(self, *parts: str) -> URL:
        """An address below the repository, as ``/v2/<name>/manifests/<tag>``; every part is checked text of a reference."""
        return self.base.joinpath("v2", *self.repository.split("/"), *parts)

    async def send(
        self,
        method: str,
        url: URL,
        *,
        limit: int,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> Answer:
        """The answer to one request; another host than the registry's gets no login from us."""
        actions = "pull" if method in {"GET", "HEAD"} else "pull,push"
        request = Request(method, url, limit, headers or {}, body, self.repository, actions)
        return await self.transport.send(request, self.authorizer, self.deadline)
