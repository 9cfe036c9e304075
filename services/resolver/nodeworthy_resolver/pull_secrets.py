"""Credentials from a cluster's image pull secrets, of the namespaces that the operator named and of no other.

With this on, whoever may ask about images is answered with what these secrets open. They are kept in memory only, and no
message says which of them was used.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from nodeworthy.errors import NodeworthyError, UsageError
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.client import decode as decode_object
from nodeworthy.kubernetes.requests import Request
from nodeworthy.kubernetes.resources import Resource
from nodeworthy.processes import EventLog
from nodeworthy_resolver.oci.registry.credential import Credential
from nodeworthy_resolver.oci.registry.credentials import DockerConfig, find_in_file, parse_config, parse_legacy_config

_LOG = EventLog("resolver")

SECRETS = Resource("", "v1", "secrets", "Secret", is_namespaced=True)

LIFETIME = 300.0
"""Seconds for which the secrets are believed; some are written anew every few hours."""
RETRY = 30.0
"""Seconds until they are asked for again after a failure; meanwhile those that were read before count."""
MAX_SECRETS = 1000
"""Of one namespace and type; more are passed over, and told."""
MAX_BYTES = 8 * 1024 * 1024
"""Of their contents together: thousands of logins. Whoever may write secrets there must not fill the resolver's memory."""
_PAGE = 20
"""Secrets of one page: Kubernetes bounds each to a megabyte."""

_SOURCE = "a pull secret of the cluster"


class _Metadata(msgspec.Struct):
    name: str = ""


class _Secret(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    data: dict[str, bytes] | None = None

    def __repr__(self) -> str:
        return f"_Secret({self.metadata.name!r})"


_PARSERS: dict[str, tuple[str, Callable[[bytes, str], DockerConfig]]] = {
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson", parse_config),
    "kubernetes.io/dockercfg": (".dockercfg", parse_legacy_config),
}
"""By type, the key in the secret and how its content is read (Kubernetes, "Secrets", "Docker config Secrets")."""


class PullSecrets:
    """The docker configurations of some namespaces, read when they are first needed and again after a while."""

    def __init__(self, client: Client, namespaces: Sequence[str], clock: Callable[[], float]) -> None:
        self._client = client
        self._namespaces = namespaces
        self._clock = clock
        self._configs: dict[str, tuple[DockerConfig, ...]] = {}
        self._good_until: dict[str, float] = {}
        self._reading = asyncio.Lock()

    async def find(self, key: str, repository: str) -> Credential | None:
        """The credential for a repository, in the order of the namespaces and of the secrets' names."""
        async with self._reading:
            for namespace in self._namespaces:
                if self._good_until.get(namespace, 0.0) <= self._clock():
                    await self._refresh(namespace)
        for namespace in self._namespaces:
            for config in self._configs.get(namespace, ()):
                try:
                    found = find_in_file(config, key, _SOURCE, repository)
                except UsageError as error:
                    _LOG.warning("resolver.pull_secret_passed_over", about=namespace, namespace=namespace, error=error)
                    continue
                if found is not None:
                    return replace(found, source=_SOURCE)
        return None

    async def _refresh(self, namespace: str) -> None:
        try:
            read = [config for kind in _PARSERS for config in await self._read(namespace, kind)]
        except NodeworthyError as error:
            _LOG.warning("resolver.pull_secrets_failed", about=namespace, namespace=namespace, error=error)
            self._good_until[namespace] = self._clock() + RETRY
            return
        self._configs[namespace] = tuple(read)
        self._good_until[namespace] = self._clock() + LIFETIME

    async def _read(self, namespace: str, kind: str) -> list[DockerConfig]:
        key, parse = _PARSERS[kind]
        what = f"the pull secrets of namespace {namespace} cannot be read"
        path = SECRETS.path(namespace=namespace)
        found: list[DockerConfig] = []
        seen = size = 0
        request = Request("GET", path, what, {"fieldSelector": f"type={kind}"})
        async for page in self._client.pages(request, size=_PAGE):
            for item in page.items or ():
                secret = decode_object(item, _Secret, what)
                content = (secret.data or {}).get(key, b"")
                seen, size = seen + 1, size + len(content)
                if seen > MAX_SECRETS or size > MAX_BYTES:
                    said = {"most": MAX_SECRETS, "most_bytes": MAX_BYTES}
                    _LOG.warning("resolver.pull_secrets_cut", about=namespace, namespace=namespace, **said)
                    return found
                try:
                    found.append(parse(content, _SOURCE))
                except UsageError as error:
                    name = secret.metadata.name
                    _LOG.warning(
                        "resolver.pull_secret_passed_over", about=name, namespace=namespace, name=name, error=error
                    )
        return found
