"""A fake API server, and TLS; the real one is in tests/kubernetes."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest
from tests.shared.kubernetes.fake_api import FakeApi, until
from tests.web_serving import serve_web
from yarl import URL

from nodeworthy.kubernetes.access import Access
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.config import find_access

if TYPE_CHECKING:
    from tests.kubernetes.cluster import Cluster
    from tests.kubernetes.fault_proxy import FaultProxy


FAREWELL_SECONDS = 0.1


class ServeApi(Protocol):
    """Serves a fake API as a context."""

    def __call__(self, context: ssl.SSLContext | None = None) -> contextlib.AbstractAsyncContextManager[FakeApi]: ...


@pytest.fixture
def serve_api() -> ServeApi:
    @contextlib.asynccontextmanager
    async def serve(context: ssl.SSLContext | None = None) -> AsyncIterator[FakeApi]:
        api = FakeApi()
        async with serve_web(api.handle, context=context) as port:
            scheme, host = ("https", "localhost") if context else ("http", "127.0.0.1")
            api.url = URL.build(scheme=scheme, host=host, port=port)
            yield api

    return serve


@pytest.fixture
async def api(serve_api: ServeApi) -> AsyncIterator[FakeApi]:
    async with serve_api() as served:
        yield served


@pytest.fixture
def certificate() -> Path:
    """A self-signed certificate for localhost with its key: authority, server and client in one."""
    return Path(__file__).parents[2] / "resolver" / "oci" / "localhost.pem"


@pytest.fixture
def pem(certificate: Path) -> bytes:
    """What the file of the certificate holds."""
    return certificate.read_bytes()


@pytest.fixture
async def client(cluster: "Cluster") -> AsyncIterator[Client]:
    """Our client as administrator of the real cluster, by its kubeconfig."""
    access = find_access({}, cluster.folder, kubeconfig=cluster.kubeconfig)
    async with Client(access) as made:
        yield made


@pytest.fixture
async def proxied(cluster: "Cluster", fault_proxy: "FaultProxy") -> AsyncIterator[Client]:
    """The same through the proxy that breaks things."""
    access = find_access({}, cluster.folder, kubeconfig=cluster.kubeconfig)
    async with Client(Access(URL(fault_proxy.url), access.credentials)) as made:
        yield made
    # The proxy's own connections take leave of the API server in TLS, and its end does not wait for that.
    fault_proxy.break_connections()
    await until(lambda: not fault_proxy._clients)
    await asyncio.sleep(FAREWELL_SECONDS)
