"""A server that answers as an API server might, for answers that a real one does not give when asked to."""

import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest
from aiohttp import web
from yarl import URL

from nodeworthy.kubernetes.access import Access

Reply = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Seen:
    """A request as the server got it."""

    method: str
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class FakeApi:
    """Answers requests from a list, one after the other; the last answer stands for all that follow."""

    url: URL = field(default_factory=URL)
    replies: list[Reply] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)

    @property
    def access(self) -> Access:
        return Access(self.url)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.seen.append(Seen(request.method, request.raw_path.partition("?")[0], dict(request.query), request.headers, body))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return await reply(request)


class ServeApi(Protocol):
    """Serves a fake API as a context."""

    def __call__(self, context: ssl.SSLContext | None = None) -> contextlib.AbstractAsyncContextManager[FakeApi]: ...


@pytest.fixture
def serve_api() -> ServeApi:
    @contextlib.asynccontextmanager
    async def serve(context: ssl.SSLContext | None = None) -> AsyncIterator[FakeApi]:
        api = FakeApi()
        application = web.Application(client_max_size=2**26)
        application.router.add_route("*", "/{path:.*}", api.handle)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        scheme, host = ("https", "localhost") if context else ("http", "127.0.0.1")
        api.url = URL.build(scheme=scheme, host=host, port=runner.addresses[0][1])
        try:
            yield api
        finally:
            await runner.cleanup()

    return serve


@pytest.fixture
async def api(serve_api: ServeApi) -> AsyncIterator[FakeApi]:
    async with serve_api() as served:
        yield served


def reply(status: int = 200, body: Any = None, headers: Mapping[str, str] | None = None) -> Reply:
    """An answer in JSON, or of the very bytes."""

    async def answer(_: web.Request) -> web.StreamResponse:
        data = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
        return web.Response(status=status, body=data, headers=headers, content_type="application/json")

    return answer


def refuse(code: int, message: str = "no", *, reason: str = "", headers: Mapping[str, str] | None = None, **details: Any) -> Reply:
    """A refusal as the API writes it."""
    status = {"kind": "Status", "status": "Failure", "message": message, "reason": reason, "code": code}
    return reply(code, {**status, "details": details}, headers)


async def break_off(request: web.Request) -> web.StreamResponse:
    """End the connection without an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


@pytest.fixture
def certificate() -> Path:
    """A self-signed certificate for localhost with its key: authority, server and client in one."""
    return Path(__file__).parents[2] / "resolver" / "oci" / "localhost.pem"
