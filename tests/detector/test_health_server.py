import asyncio
import contextlib
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from http import HTTPStatus

import pytest

from nodeworthy.errors import UsageError
from nodeworthy_detector.health_server import MAX_CONNECTIONS, MAX_HEAD_BYTES, Answer, find_answer, serve_pages

PAGES = {
    "/healthz": lambda: Answer(HTTPStatus.OK, "ok\n"),
    "/readyz": lambda: Answer(HTTPStatus.SERVICE_UNAVAILABLE, "not yet: ä\n"),
}


@pytest.fixture
async def port() -> AsyncIterator[int]:
    async with serve_pages(PAGES, "127.0.0.1", 0) as found:
        yield found


async def exchange(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        async with asyncio.timeout(10):
            return await reader.read()
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def test_a_stock_client_reads_status_and_body(port: int) -> None:
    def read(path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    assert await asyncio.to_thread(read, "/healthz?verbose") == (200, "ok\n")
    assert await asyncio.to_thread(read, "/readyz") == (503, "not yet: ä\n")
    assert await asyncio.to_thread(read, "/") == (404, "there are /healthz, /readyz\n")


async def test_an_answer_states_its_length_and_closes(port: int) -> None:
    answer = await exchange(port, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.split(b"\r\n")[0] == b"HTTP/1.1 200 OK"
    assert b"Content-Length: 3" in head
    assert b"Connection: close" in head
    assert body == b"ok\n"


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"POST /healthz HTTP/1.1", 405),
        (b"GET /../healthz HTTP/1.1", 404),
        (b"GET /\xff HTTP/1.1", 404),
        (b"GET /healthz", 400),
        (b"GET /healthz HTTP/2", 400),
        (b"\x16\x03\x01\x02\x00", 400),
        (b"", 400),
    ],
)
def test_what_is_not_asked_for_properly_is_refused(request_line: bytes, status: int) -> None:
    assert find_answer(request_line + b"\r\nHost: x\r\n\r\n", PAGES).status == status


async def test_a_head_without_end_is_cut_off(port: int) -> None:
    assert await exchange(port, b"GET /healthz HTTP/1.1\r\nX: " + b"x" * (2 * MAX_HEAD_BYTES)) == b""


async def test_a_client_that_says_nothing_is_cut_off() -> None:
    async with serve_pages(PAGES, "127.0.0.1", 0, seconds=0.05) as port:
        assert await exchange(port, b"GET /hea") == b""


async def test_more_connections_than_allowed_are_closed_and_the_next_one_is_served(port: int) -> None:
    async with contextlib.AsyncExitStack() as idle:
        for _ in range(MAX_CONNECTIONS):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            idle.callback(writer.close)
        assert await exchange(port, b"") == b""
    async with asyncio.timeout(10):
        while not await exchange(port, b"GET /healthz HTTP/1.1\r\n\r\n"):
            pass  # the server has not noticed yet that the others went


async def test_a_port_in_use_is_an_error_that_names_it(port: int) -> None:
    with pytest.raises(UsageError, match=f"HTTP port {port} of 127.0.0.1 cannot be used") as caught:
        async with serve_pages(PAGES, "127.0.0.1", port):
            pass
    assert "in use" in caught.value.why


async def test_open_connections_do_not_keep_the_server_from_ending() -> None:
    async with contextlib.AsyncExitStack() as stack:
        port = await stack.enter_async_context(serve_pages(PAGES, "127.0.0.1", 0))
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        stack.callback(writer.close)
        writer.write(b"GET")
        await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await reader.read()
