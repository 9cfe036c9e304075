"""A registry behind TLS, and the files in which clients keep credentials."""

import json
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.resolver.conftest import FaultyRegistry, Serve


@pytest.fixture
def certificate() -> Path:
    """A self-signed certificate for localhost, good for a hundred years, with its key and the command that made it."""
    return Path(__file__).parent / "localhost.pem"


@pytest.fixture
async def secure(serve_faulty: "Serve", certificate: Path) -> AsyncIterator["FaultyRegistry"]:
    """A registry behind TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    async with serve_faulty(context) as registry:
        yield registry


@pytest.fixture
def docker_config(tmp_path: Path) -> Callable[..., Path]:
    """Writes a docker configuration file with these fields."""

    def write(**fields: Any) -> Path:
        path = tmp_path / "config.json"
        path.write_text(json.dumps(fields))
        return path

    return write
