"""A data folder in the test's own, users, and a real nats-server in it."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol

import nats
import pytest
from nats.aio.client import Client

from nodeworthy.bus import permissions
from nodeworthy.bus.names import Names
from nodeworthy.bus.permissions import Account, User
from nodeworthy_cli.embedded.contexts import Context
from nodeworthy_cli.embedded.data_folder import hold_data_folder
from nodeworthy_cli.embedded.server import Server, run_server
from nodeworthy_cli.embedded.settings import ANY_PORT, ServerSettings

USERS = {
    "admin": permissions.admin(),
    "author": permissions.author(Names()),
    "writer": User("writer", Account.SERVICES, ("test.>",), (), "_INBOX.writer"),
    "reader": User("reader", Account.SERVICES, (), ("test.>", "_INBOX.reader.>"), "_INBOX.reader"),
}

Connect = Callable[..., AbstractAsyncContextManager[Client]]


class Run(Protocol):
    """Start a server in the test's data folder, wait until it listens, and stop it at the end."""

    def __call__(self, **changes: Any) -> AbstractAsyncContextManager[Server]: ...


@pytest.fixture
def users() -> Mapping[str, User]:
    return USERS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the data folder will be; it is not there yet."""
    return tmp_path / "data" / "nodeworthy" / "local"


@pytest.fixture
def made_folder(folder: Path) -> Path:
    """The data folder, made by somebody else and readable for everybody."""
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    return folder


@pytest.fixture
def settings(folder: Path) -> ServerSettings:
    return ServerSettings(folder=folder, port=ANY_PORT)


@pytest.fixture
def run(settings: ServerSettings) -> Run:
    @contextlib.asynccontextmanager
    async def run_it(**changes: Any) -> AsyncIterator[Server]:
        program = changes.pop("program", None)
        wanted = dataclasses.replace(settings, **changes)
        async with (
            hold_data_folder(wanted.folder) as held,
            run_server(held, wanted, USERS, program=program) as server,
        ):
            await server.wait_until_it_listens(asyncio.Event())
            yield server

    return run_it


@pytest.fixture
def connect() -> Connect:
    """Connect as a context says; what the server refuses goes to ``refused``."""

    @contextlib.asynccontextmanager
    async def connect_it(context: Context, refused: list[str] | None = None) -> AsyncIterator[Client]:
        async def note(error: Exception) -> None:
            if refused is not None:
                refused.append(str(error))

        client = await nats.connect(
            context.url,
            user=context.user,
            password=context.password,
            inbox_prefix=context.inbox_prefix,
            error_cb=note,
            connect_timeout=10,
            max_reconnect_attempts=1,
        )
        try:
            yield client
        finally:
            await client.close()

    return connect_it


Settle = Callable[[Client], Coroutine[Any, Any, None]]


@pytest.fixture
def settle() -> Settle:
    """Wait until the server has read everything that a client wrote.

    One flush is not enough: nats-py 2.16 writes its PING past what its flusher has not written yet, a SUB above all (seen on
    a busy machine in one of twelve runs). When the first PONG is here the flusher has run.
    """

    async def flush_twice(client: Client) -> None:
        await client.flush()
        await client.flush()

    return flush_twice
