"""One session with the API server: connections, and what their failures mean for a person."""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from weakref import WeakSet

import aiohttp
from yarl import URL

from nodeworthy.kubernetes.access import Access
from nodeworthy.kubernetes.credentials import Shown
from nodeworthy.kubernetes.refusals import KubernetesContentError, KubernetesError, KubernetesUnreachableError
from nodeworthy.kubernetes.requests import Request
from nodeworthy.kubernetes.tls import TlsContexts

_KEEPALIVE_SECONDS = 60.0
"""How long an idle connection is kept; API servers close theirs after 90 s at the earliest."""
_CHUNK = 256 * 1024
_CLOSING_SECONDS, _CLOSING_LOOKS = 1.0, 100
"""For the ends of connections, which the event loop notices at its next turns."""
_IDLE, _INTERVAL, _PROBES = 15, 5, 3
"""TCP keepalive in seconds: a peer that is gone without a word is noticed after 30 s, as by client-go's HTTP/2 pings."""


class Transport:
    """Sends requests as they are; whoever calls retries and reads refusals."""

    def __init__(self, access: Access, clock: Callable[[], float], user_agent: str, *, is_compressed: bool) -> None:
        self.access = access
        self._contexts = TlsContexts(access.trust, clock)
        self._sockets: WeakSet[socket.socket] = WeakSet()
        headers = {"User-Agent": user_agent}
        if not is_compressed:
            headers["Accept-Encoding"] = "identity"
        # No limit here: watches hold connections, and requests are bounded by the limiter.
        connector = aiohttp.TCPConnector(
            limit=0, keepalive_timeout=_KEEPALIVE_SECONDS, socket_factory=self._make_socket
        )
        self._session = aiohttp.ClientSession(
            connector=connector, headers=headers, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=True
        )

    async def close(self) -> None:
        """Close every connection; watches end with an error."""
        await self._session.close()
        # The library does not wait for connections of cancelled requests, which take leave in TLS, for as long as the
        # other end likes.
        for made in self._sockets:
            with contextlib.suppress(OSError):
                made.shutdown(socket.SHUT_RDWR)
        for _ in range(_CLOSING_LOOKS):
            if all(made.fileno() < 0 for made in self._sockets):
                break
            await asyncio.sleep(_CLOSING_SECONDS / _CLOSING_LOOKS)

    def open(
        self, request: Request, shown: Shown, timeout: aiohttp.ClientTimeout
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Send a request; the answer's head is there when the context is entered."""
        access = self.access
        headers = {"Accept": request.accept}
        if shown.authorization:
            headers["Authorization"] = shown.authorization
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        base = access.server
        url = base.with_path(base.raw_path.rstrip("/") + request.path, encoded=True)
        return self._session.request(
            request.method,
            url,
            params=request.query,
            headers=headers,
            data=request.body,
            ssl=self._contexts.get(shown) if base.scheme == "https" else True,
            server_hostname=access.trust.server_name or None,
            proxy=access.proxy,
            allow_redirects=False,
            timeout=timeout,
        )

    def _make_socket(self, address: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, _, _ = address
        made = socket.socket(family=family, type=kind, proto=protocol)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _IDLE)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _INTERVAL)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _PROBES)
        self._sockets.add(made)
        return made


@asynccontextmanager
async def explained(request: Request, server: URL) -> AsyncIterator[None]:
    """Turn failures of the HTTP library into ours.

    Raises:
        KubernetesUnreachableError: no complete answer.
        KubernetesContentError: something that is no HTTP.
    """
    try:
        yield
    except TimeoutError as error:
        raise KubernetesUnreachableError(
            request.what,
            why=f"{_host(server)} did not answer in time",
            todo="look whether the API server is busy, or a firewall is in between",
            was_sent=not isinstance(error, aiohttp.ConnectionTimeoutError),
        ) from error
    except aiohttp.ClientError as error:
        raise explain(error, request, server) from error


def explain(error: aiohttp.ClientError, request: Request, server: URL) -> KubernetesError:
    """What a failure of the HTTP library means for a person."""
    what, host = request.what, _host(server)
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        certificate = error.certificate_error
        return KubernetesUnreachableError(
            what,
            why=f"{host} shows a certificate that is not trusted: {getattr(certificate, 'verify_message', certificate)}",
            todo="is certificate-authority the cluster's own, and tls-server-name a name in the certificate?",
            was_sent=False,
        )
    if isinstance(error, aiohttp.ClientConnectorError):
        todo = "is the API server running there, and is this the right context?"
        why = f"{host} cannot be reached: {_reason(error.os_error)}"
        return KubernetesUnreachableError(what, why=why, todo=todo, was_sent=False)
    if isinstance(error, aiohttp.ClientOSError | aiohttp.ServerDisconnectedError | aiohttp.ClientPayloadError):
        why = f"{host} broke the connection off"
        return KubernetesUnreachableError(
            what, why=why, todo="look at the state of things, then try again", was_sent=True
        )
    return KubernetesContentError(
        what, why=f"{host} does not answer as a web server does", todo="check address and port"
    )


async def read_body(response: aiohttp.ClientResponse, limit: int, what: str) -> bytes:
    """The body of an answer, decompressed.

    Raises:
        KubernetesContentError: it has more than ``limit`` bytes.
    """
    body = bytearray()
    while chunk := await response.content.read(_CHUNK):
        body += chunk
        if len(body) > limit:
            raise KubernetesContentError(what, why=f"the answer has more than {limit} bytes")
    return bytes(body)


def abandon(response: aiohttp.ClientResponse) -> None:
    """Break the connection of an answer that is not read to its end; a clean end of TLS would wait for the rest of it."""
    if response.connection is not None and response.connection.transport is not None:
        response.connection.transport.abort()


def _host(server: URL) -> str:
    return f"{server.host}:{server.port}"


def _reason(error: OSError) -> str:
    # The library's own text names the address again, in asyncio's words.
    return os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
