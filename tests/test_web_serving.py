import asyncio
import gc
import socket
import ssl
import warnings
from pathlib import Path

from aiohttp import web
from tests.web_serving import serve_web

CERTIFICATE = Path(__file__).parent / "resolver" / "oci" / "localhost.pem"


async def _answer(_: web.Request) -> web.Response:
    return web.Response(text="here")


def test_a_client_at_rest_leaves_no_connection_behind() -> None:
    """It keeps its end open and reads nothing, so that TLS cannot say goodbye to it."""
    accepting = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    accepting.load_cert_chain(CERTIFICATE)
    trusting = ssl.create_default_context(cafile=CERTIFICATE)

    def ask(port: int) -> ssl.SSLSocket:
        plain = socket.create_connection(("127.0.0.1", port))
        client = trusting.wrap_socket(plain, server_hostname="localhost")
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.recv(12) == b"HTTP/1.1 200"
        return client

    async def serve() -> ssl.SSLSocket:
        async with serve_web(_answer, context=accepting) as port:
            return await asyncio.to_thread(ask, port)

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        client = asyncio.run(serve())
        gc.collect()
    client.close()
    assert not said
