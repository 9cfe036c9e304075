import socket

import aiohttp
import pytest

from nodeworthy.errors import UsageError
from nodeworthy_resolver.metrics import CacheResult, Metrics
from nodeworthy_resolver.probes import serve_probes


async def get(port: int | None, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as answer:
        return answer.status, await answer.text()


async def test_readiness_follows_the_reason_against_it() -> None:
    reason = "no connection to the bus"
    async with serve_probes("127.0.0.1", 0, metrics=Metrics(), why_not_ready=lambda: reason) as port:
        assert await get(port, "/healthz") == (200, "ok\n")
        assert await get(port, "/readyz") == (503, "no connection to the bus\n")
        reason = ""
        assert await get(port, "/readyz") == (200, "ready\n")


async def test_metrics_are_those_of_this_resolver_alone() -> None:
    mine, other = Metrics(), Metrics()
    other.count_cache("TagRecord", CacheResult.MISS)
    mine.count_cache("ImageRecord", CacheResult.HIT)
    async with serve_probes("127.0.0.1", 0, metrics=mine, why_not_ready=str) as port:
        status, text = await get(port, "/metrics")
    assert status == 200
    assert 'nodeworthy_resolver_cache_total{kind="image",result="hit"} 1.0' in text
    assert 'kind="tag"' not in text


async def test_no_port_serves_nothing() -> None:
    async with serve_probes("127.0.0.1", None, metrics=Metrics(), why_not_ready=str) as port:
        assert port is None


async def test_a_port_in_use_is_one_clear_error() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(UsageError, match=f"127.0.0.1:{port}: another program listens there"):
            async with serve_probes("127.0.0.1", port, metrics=Metrics(), why_not_ready=str):
                pass
