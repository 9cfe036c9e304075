"""Sending one request to a registry: deadlines, retries, redirects and authentication in one place.

What is sent where is decided here alone: a request carries the registry's Authorization only to the registry's own
scheme, host and port. Cookies are not kept: Harbor gives clients that keep them a 403 on the next write.
"""

import asyncio
import errno
import os
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Protocol

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from nodeworthy.errors import RegistryContentError, RegistryUnreachableError
from nodeworthy_resolver.oci.access import RegistryAccess
from nodeworthy_resolver.oci.registry import answers, downloads, retries
from nodeworthy_resolver.oci.registry.answers import Answer
from nodeworthy_resolver.oci.registry.downloads import StallLimit
from nodeworthy_resolver.oci.registry.guard import Guard
from nodeworthy_resolver.oci.registry.tls import Tls
from nodeworthy_resolver.oci.registry.traffic import Traffic
from nodeworthy_resolver.oci.store import BlobSink

MAX_REDIRECTS = 5
"""A blob takes one, some registries two."""
_MAX_REFUSALS = 2
"""401s in one request that are answered with something new: nothing shown yet, then a token that had become stale."""
_DENIED = frozenset({401, 403})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_WRONG_NAME, _WRONG_TIME = frozenset({62, 63, 64}), frozenset({9, 10})
"""OpenSSL's X509_V_ERR_: HOSTNAME_, EMAIL_, IP_ADDRESS_MISMATCH; CERT_NOT_YET_VALID, CERT_HAS_EXPIRED."""
_PASSING_CONNECTION_ERRORS = frozenset({errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED})


@dataclass(frozen=True)
class Request:
    """What is to be sent; ``actions`` is what it needs to be allowed, in the words of the token's scope."""

    method: str
    url: URL
    limit: int
    """Bytes of the answer's body at most."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    repository: str = ""
    actions: str = "pull"
    own_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """For the host of ``url`` alone, not for where it redirects to; they may hold a secret."""
    tls: Tls | None = None
    """``None``: as with every host."""
    dial_seconds: float | None = None
    """For connecting to that host; ``None``: no limit but that of the whole request."""
    sink: BlobSink | None = None
    """Takes the body of a success piece by piece; ``limit`` is then that of a refusal."""


class Authorizer(Protocol):
    """Knows what a registry wants to be shown."""

    async def header(self, request: Request, send: "Send") -> str | None:
        """The Authorization header for a request, if it is known that one is needed."""
        ...

    async def renew(self, request: Request, refused: Answer, shown: str | None, send: "Send") -> str | None:
        """Another Authorization header after a 401; ``None``: there is nothing else to show."""
        ...

    async def explain(self, request: Request, refused: Answer) -> str:
        """What became of the stored credentials in a request that was refused in the end; empty where there are none."""
        ...


Send = Callable[[Request], Awaitable[Answer]]
"""Sends a request as it is, with retries and redirects and without authentication."""


class Transport:
    """One session with every registry that is asked."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        access: RegistryAccess,
        guard: Guard,
        traffic: Traffic,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._session = session
        self._access = access
        self._guard = guard
        self._traffic = traffic
        self._sleep = sleep
        self._jitter = jitter

    async def send(self, request: Request, authorizer: Authorizer, deadline: float) -> Answer:
        """The answer to a request, authenticated as far as the registry asks for it and we can; a 401 may remain."""

        async def plain(inner: Request) -> Answer:
            return await self._retried(inner, None, deadline)

        shown = await authorizer.header(request, plain)
        answer = await self._retried(request, shown, deadline)
        for _ in range(_MAX_REFUSALS):
            if answer.status != 401 or answer.is_redirected:  # noqa: PLR2004 # HTTP's number
                break
            renewed = await authorizer.renew(request, answer, shown, plain)
            if renewed is None or renewed == shown:
                break
            shown = renewed
            answer = await self._retried(request, shown, deadline)
        if shown and answer.status in _DENIED and not answer.is_redirected:
            return replace(answer, login=await authorizer.explain(request, answer))
        return answer

    async def _retried(self, request: Request, authorization: str | None, deadline: float) -> Answer:
        attempts = max(self._access.attempts, 1) if retries.is_safe(request.method) else 1
        for attempt in range(attempts):
            is_last = attempt + 1 == attempts
            self._traffic.check(request.url)
            try:
                answer = await self._within(request, authorization, deadline)
            except aiohttp.ClientError as error:
                self._traffic.count_failure(request.method)
                if is_last or not _is_passing(error):
                    raise explain(error, request.url) from error
                reason, pause = "backoff", retries.backoff(attempt, self._jitter)
            else:
                self._traffic.note(request.method, answer)
                asked = self._asked_pause(request, answer)
                if is_last or not retries.is_worth_it(answer.status, attempt):
                    return answer
                reason = "backoff" if asked is None else "asked"
                pause = retries.backoff(attempt, self._jitter) if asked is None else asked
                if pause > self._access.longest_wait or asyncio.get_running_loop().time() + pause > deadline:
                    return answer
            self._traffic.count_wait(reason, pause)
            await self._sleep(pause)
        raise AssertionError(attempts)  # attempts is at least 1, and the last one returns or raises

    def _asked_pause(self, request: Request, answer: Answer) -> float | None:
        """The seconds that a Retry-After asks for; a longer time than we wait holds back every request to that host."""
        if not retries.is_passing(answer.status):
            return None
        asked = retries.parse_retry_after(answer.headers.get("Retry-After", ""), datetime.now(UTC))
        if asked is not None and asked > self._access.longest_wait and not answer.is_redirected:
            self._traffic.pause(request.url, asked)
        return asked

    async def _within(self, request: Request, authorization: str | None, deadline: float) -> Answer:
        loop = asyncio.get_running_loop()
        seconds = min(self._access.request_timeout, deadline - loop.time())
        try:
            async with asyncio.timeout(max(seconds, 0)) as limit:
                return await self._redirected(request, authorization, StallLimit(limit, seconds, deadline))
        except aiohttp.ConnectionTimeoutError as error:
            self._traffic.count_failure(request.method)
            raise RegistryUnreachableError(
                f"{answers.display_host(request.url)} cannot be reached",
                why=f"no connection within {request.dial_seconds} s",
            ) from error
        except TimeoutError as error:
            self._traffic.count_failure(request.method)
            raise RegistryUnreachableError(
                f"{answers.display_host(request.url)} did not answer in time",
                why=f"no complete answer for {answers.display(request.url)} within {max(seconds, 0):.3g} s",
                todo="try again; is a proxy or firewall in between?",
            ) from error

    async def _redirected(self, request: Request, authorization: str | None, stall: StallLimit) -> Answer:
        url = request.url
        for _ in range(MAX_REDIRECTS + 1):
            async with self._open(request, url, authorization) as response:
                location = response.headers.get("Location")
                if response.status not in _REDIRECTS or not location or not retries.is_safe(request.method):
                    if request.sink is not None and response.ok:
                        return await downloads.pour(response, request.sink, request.url, stall)
                    return await answers.read_answer(response, request.limit, request.url)
                url = _next_url(url, location)
        raise RegistryContentError(
            f"{answers.display(request.url)} is not served", why=f"more than {MAX_REDIRECTS} redirects"
        )

    def _open(
        self, request: Request, url: URL, authorization: str | None
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        self._guard.check(url)
        is_own = url.origin() == request.url.origin()
        headers = CIMultiDict(request.own_headers if is_own else {})
        headers.update(request.headers)
        if authorization:
            headers["Authorization"] = authorization
        if not is_own:
            # Storage hosts refuse a request that carries a registry's token, and nobody else may see a login.
            headers.pop("Authorization", None)
        tls = request.tls and (request.tls.own if is_own else request.tls.others)
        # Digests are of uncompressed content; what comes compressed anyway is read in answers.py.
        headers["Accept-Encoding"] = "identity"
        return self._session.request(
            request.method,
            url,
            headers=headers,
            data=request.body,
            allow_redirects=False,
            proxy=self._proxy(url),
            ssl=tls or True,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=request.dial_seconds if is_own else None),
        )

    def _proxy(self, url: URL) -> str | None:
        proxies = self._access.proxies
        is_direct = _is_direct(url.host or "", proxies.get("no", ""))
        return None if is_direct else proxies.get(url.scheme)


def _is_direct(host: str, direct: str) -> bool:
    """Whether a host is on the list of those reached without a proxy, ``localhost,.example.com,*`` as curl reads it."""
    names = [name.strip().lstrip(".").lower() for name in direct.split(",") if name.strip()]
    return any(name == "*" or host.lower() == name or host.lower().endswith(f".{name}") for name in names)


def _next_url(url: URL, location: str) -> URL:
    target = follow(url, location)
    if target is None:
        raise RegistryContentError(
            f"{answers.display(url)} is not served", why="it redirects to something that is not HTTP"
        )
    if url.scheme == "https" and target.scheme == "http":
        raise RegistryContentError(
            f"{answers.display(url)} is not served",
            why=f"it redirects from TLS to plain HTTP on {answers.display_host(target)}",
        )
    return target


def follow(url: URL, location: str) -> URL | None:
    """The address that a Location or Link of an answer from ``url`` names, relative or absolute; ``None``: none of HTTP.

    Taken as written, since the signatures of storage hosts are over the exact text; but without a user and a password, which
    nobody may choose for us.
    """
    is_encoded = location.isascii() and location.isprintable() and " " not in location
    try:
        target = url.join(URL(location, encoded=is_encoded))
        target = target.with_user(None) if target.raw_user is not None or target.raw_password is not None else target
        is_usable = target.scheme in {"http", "https"} and bool(target.host)
    except ValueError:
        return None
    return target if location and is_usable else None


def _is_passing(error: aiohttp.ClientError) -> bool:
    """Whether a connection broke that worked before: a restarted server, a closed idle connection."""
    if isinstance(error, aiohttp.ClientConnectorError):
        return False
    if isinstance(error, aiohttp.ClientOSError):
        return error.errno in _PASSING_CONNECTION_ERRORS
    return isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientPayloadError)


def explain(error: aiohttp.ClientError, url: URL) -> RegistryUnreachableError | RegistryContentError:
    """What a failure of the HTTP library means for a person."""
    host = f"{url.host}:{url.port}"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return explain_certificate(error.certificate_error, host)
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        return RegistryUnreachableError(
            f"{host} does not speak TLS",
            why=_reason(error.os_error),
            todo="if it serves plain HTTP, say so: --plain-http",
        )
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return RegistryUnreachableError(
            f"{url.host} is not known", why=_reason(error.os_error), todo="check the host's name"
        )
    if isinstance(error, aiohttp.ClientConnectorError):
        return RegistryUnreachableError(
            f"{host} cannot be reached", why=_reason(error.os_error), todo="is it running there?"
        )
    if isinstance(error, aiohttp.ClientOSError | aiohttp.ServerDisconnectedError | aiohttp.ClientPayloadError):
        return RegistryUnreachableError(f"{host} broke the connection off", why=_reason(error), todo="try again")
    return RegistryContentError(
        f"{host} does not answer as a web server does", why=_reason(error), todo="check the port"
    )


def explain_certificate(error: Exception, host: str) -> RegistryUnreachableError:
    """What is wrong with a certificate, which OpenSSL tells by a number (verify(1), "Diagnostics")."""
    what, why = f"{host} cannot be trusted", _reason(error).rstrip(".")
    code = getattr(error, "verify_code", 0)
    if code in _WRONG_NAME:
        todo = "call the registry by a name that is in its certificate; another authority does not help"
        return RegistryUnreachableError(what, why=f"its certificate is for other names: {why}", todo=todo)
    if code in _WRONG_TIME:
        todo = "renew the registry's certificate, or set this machine's clock"
        return RegistryUnreachableError(what, why=f"its certificate: {why}", todo=todo)
    todo = "name a file with the certificate authority that vouches for it by --ca-file"
    return RegistryUnreachableError(what, why=f"its certificate: {why}", todo=todo)


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno and str(error.strerror).startswith("Connect call failed"):
        # asyncio's words for a person who reads Python; the number says it better.
        return os.strerror(error.errno)
    text = getattr(error, "verify_message", None) or getattr(error, "strerror", None) or str(error)
    return " ".join(str(text)[:300].split()) or type(error).__name__
