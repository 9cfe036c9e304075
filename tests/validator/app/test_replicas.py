"""Validators as processes of their own, one of which is killed."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import msgspec
import pytest

from nodeworthy.verdicts import Answer

if TYPE_CHECKING:
    from tests.validator.app.conftest import MakeNode
    from tests.validator.conftest import Bus, Person, Registry

REPLICA = """
import asyncio, sys, msgspec
from nodeworthy_validator.app import Validator, run
from nodeworthy_validator.following import Following
from nodeworthy_validator.settings import Settings
from nodeworthy.bus.connection_settings import ConnectionSettings
settings = Settings(bus=msgspec.json.decode(sys.argv[1], type=ConnectionSettings))
async def main():
    ready = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(run(settings, asyncio.Event(), ready))
        await ready.wait()
        print("ready", flush=True)
asyncio.run(main())
"""


@contextlib.asynccontextmanager
async def replica(bus: "Bus") -> AsyncIterator[asyncio.subprocess.Process]:
    """A validator as a process of its own, which can be killed."""
    settings = msgspec.json.encode(bus.validator().bus).decode()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", REPLICA, settings, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(20):
            assert await process.stdout.readline() == b"ready\n"
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@pytest.mark.usefixtures("resolver")
async def test_of_two_replicas_one_is_killed_under_load_and_no_request_is_lost(
    bus: "Bus", reader: "Person", registry: "Registry", make_node: "MakeNode", card: str
) -> None:
    await bus.publish("n1", make_node())
    image = await registry.push("app", spec=card)
    async with replica(bus) as first, replica(bus):
        places = asyncio.Semaphore(20)

        async def ask(number: int) -> Answer:
            async with places:
                if number == 60:
                    first.send_signal(signal.SIGKILL)
                reply = await reader.validate(image, node="n1", seconds=20, patience=0.3)
            return reply.verdicts[0].verdict

        answers = await asyncio.gather(*(ask(number) for number in range(200)))
        assert answers == [Answer.COMPATIBLE] * 200
        assert await first.wait() == -signal.SIGKILL
