import socket

import aiohttp
import pytest

from nodeworthy.errors import UsageError
from nodeworthy.web import Counted, serve_probes

COUNTED = Counted(lambda: b"things_total 1.0\n", "text/plain; version=0.0.4")


async def get(port: int | None, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as answer:
        return answer.status, await answer.text()


async def test_readiness_follows_the_reason_against_it() -> None:
    reason = "no connection to the bus"
    async with serve_probes("127.0.0.1", 0, service="tests", counted=COUNTED, why_not_ready=lambda: reason) as port:
        assert await get(port, "/healthz") == (200, "ok\n")
        assert await get(port, "/readyz") == (503, "no connection to the bus\n")
        reason = ""
        assert await get(port, "/readyz") == (200, "ready\n")


async def test_metrics_are_what_the_service_counts() -> None:
    async with serve_probes("127.0.0.1", 0, service="tests", counted=COUNTED, why_not_ready=str) as port:
        assert await get(port, "/metrics") == (200, "things_total 1.0\n")


async def test_no_port_serves_nothing() -> None:
    async with serve_probes("127.0.0.1", None, service="tests", counted=COUNTED, why_not_ready=str) as port:
        assert port is None


async def test_a_port_in_use_is_one_clear_error() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(UsageError, match=f"127.0.0.1:{port}: another program listens there"):
            async with serve_probes("127.0.0.1", port, service="tests", counted=COUNTED, why_not_ready=str):
                pass
