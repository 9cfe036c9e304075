"""A server that answers as an API server might, for answers that a real one does not give when asked to."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web
from yarl import URL

from nodeworthy.kubernetes.access import Access

Reply = Callable[[web.Request], Awaitable[web.StreamResponse]]


POLL_SECONDS = 0.01


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what nobody tells: that time has passed, or that a background task is in some state."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 # there is no event
            await asyncio.sleep(POLL_SECONDS)


def write(path: Path, data: bytes) -> None:
    """Write a file, as somebody else does."""
    path.write_bytes(data)


def remove(path: Path) -> None:
    """Remove a file, as somebody else does."""
    path.unlink()


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
        self.seen.append(
            Seen(request.method, request.raw_path.partition("?")[0], dict(request.query), request.headers, body)
        )
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return await reply(request)


def reply(status: int = 200, body: Any = None, headers: Mapping[str, str] | None = None) -> Reply:
    """An answer in JSON, or of the very bytes."""

    async def answer(_: web.Request) -> web.StreamResponse:
        data = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
        return web.Response(status=status, body=data, headers=headers, content_type="application/json")

    return answer


def refuse(
    code: int, message: str = "no", *, reason: str = "", headers: Mapping[str, str] | None = None, **details: Any
) -> Reply:
    """A refusal as the API writes it."""
    status = {"kind": "Status", "status": "Failure", "message": message, "reason": reason, "code": code}
    return reply(code, {**status, "details": details}, headers)


async def break_off(request: web.Request) -> web.StreamResponse:
    """End the connection without an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()
