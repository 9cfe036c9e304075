import asyncio
import gzip
import os
import threading
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from aiohttp import web
from tests.resolver.inspection.sources.conftest import SCRIPT, pack

from nodeworthy.errors import ImageNotFoundError, InspectionError, RegistryUnreachableError
from nodeworthy_resolver.inspection.sources import OpenedImage, ReadingOptions, open_image, open_stored
from nodeworthy_resolver.oci import RegistryAccess, digests, parse_reference
from nodeworthy_resolver.oci.reference import Reference
from nodeworthy_resolver.oci.registry.downloads import StallLimit

if TYPE_CHECKING:
    from tests.resolver.conftest import FaultyRegistry, OpenClient, Responder
    from tests.resolver.inspection.sources.conftest import MakeImage

LARGE = b"\x7fELF" + os.urandom(3_000_000)
LAYER = gzip.compress(pack({"lib/large.so": LARGE}), 1)
PATH = f"blobs/{digests.compute(LAYER)}"


@pytest.fixture(autouse=True)
def image(faulty: "FaultyRegistry", make_image: "MakeImage") -> None:
    """The image ``v1`` with a large and a small layer."""
    faulty.tags["v1"] = make_image(LAYER, pack({"run": SCRIPT}), Entrypoint=["/run"])


class OpenFaulty(Protocol):
    """Opens the image with a client whose access has these fields."""

    def __call__(self, **access: Any) -> AbstractAsyncContextManager[OpenedImage]: ...


@pytest.fixture
def open_faulty(faulty: "FaultyRegistry", open_client: "OpenClient") -> OpenFaulty:
    @asynccontextmanager
    async def run(**access: Any) -> AsyncIterator[OpenedImage]:
        reference = parse_reference(faulty.name)
        assert isinstance(reference, Reference)
        async with open_client(**access) as client, open_stored(client.store(reference), reference) as opened:
            yield opened

    return run


def sending(data: bytes, count: int, *, then: asyncio.Event | None = None) -> "Responder":
    """Promise everything and send so many bytes; then hang up, or wait for an event that was set when all was sent."""

    async def respond(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": str(len(data))})
        await response.prepare(request)
        await response.write(data[:count])
        if then is not None:
            then.set()
            await asyncio.Event().wait()  # until the client hangs up
        assert request.transport is not None
        request.transport.close()
        return response

    return respond


async def test_an_image_of_a_registry_is_streamed_and_verified(faulty: "FaultyRegistry") -> None:
    told: list[tuple[int, int]] = []
    reading = ReadingOptions(lambda done, total: told.append((done, total)))

    access = RegistryAccess(plain_http=True)
    async with open_image(parse_reference(faulty.name), access=access, reading=reading) as opened:
        assert opened.tree.read("/lib/large.so") == LARGE
        assert opened.tree.read("/run") == SCRIPT
        assert opened.digest == faulty.tags["v1"].digest
        assert opened.config.entrypoint == ("/run",)
    assert len(faulty.asked("GET", PATH)) == 1
    assert told == sorted(told)
    assert len(told) > 2
    assert told[-1][0] == told[-1][1] > len(LAYER)


async def test_a_connection_that_breaks_in_the_middle_is_tried_again_and_nothing_comes_twice(
    faulty: "FaultyRegistry", open_faulty: OpenFaulty
) -> None:
    faulty.script("GET", PATH, sending(LAYER, 2_000_000), sending(LAYER, 100_000))

    async with open_faulty() as opened:
        assert opened.tree.read("/lib/large.so") == LARGE
    assert len(faulty.asked("GET", PATH)) == 3


async def test_a_connection_that_always_breaks_is_told(faulty: "FaultyRegistry", open_faulty: OpenFaulty) -> None:
    faulty.script("GET", PATH, sending(LAYER, 1000), always=True)

    with pytest.raises(RegistryUnreachableError, match="broke the connection off"):
        async with open_faulty():
            pass


async def test_a_stalled_download_is_given_up(faulty: "FaultyRegistry", open_faulty: OpenFaulty) -> None:
    faulty.script("GET", PATH, sending(LAYER, 1000, then=asyncio.Event()))

    with pytest.raises(RegistryUnreachableError, match="did not answer in time"):
        async with open_faulty(request_timeout=0.3):
            pass


async def test_each_piece_gives_the_next_one_new_time() -> None:
    now = asyncio.get_running_loop().time()
    async with asyncio.timeout(10) as limit:
        stall = StallLimit(limit, seconds=30, deadline=now + 100)
        stall.restart()
        assert limit.when() == pytest.approx(now + 30, abs=5)
        stall.pause()
        assert limit.when() == now + 100
        StallLimit(limit, seconds=300, deadline=now + 100).restart()
        assert limit.when() == now + 100
        await asyncio.sleep(0)


async def test_other_bytes_than_the_digest_names_are_refused(faulty: "FaultyRegistry", open_faulty: OpenFaulty) -> None:
    other = gzip.compress(pack({"lib/large.so": LARGE[:-1] + b"x"}), 1)
    faulty.script("GET", PATH, sending(other, len(other)))

    with pytest.raises(InspectionError, match="not what the image names"):
        async with open_faulty():
            pass


async def test_a_missing_layer_is_told(faulty: "FaultyRegistry", open_faulty: OpenFaulty) -> None:
    del faulty.builder.blobs[digests.compute(LAYER)]

    with pytest.raises(ImageNotFoundError, match="not found or no permission"):
        async with open_faulty():
            pass


async def test_a_damaged_layer_ends_its_download(
    faulty: "FaultyRegistry", open_faulty: OpenFaulty, make_image: "MakeImage"
) -> None:
    damaged = b"no archive" * 1_000_000
    faulty.tags["v1"] = make_image(damaged)
    sent = asyncio.Event()
    faulty.script("GET", f"blobs/{digests.compute(damaged)}", sending(damaged, 2_000_000, then=sent))

    with pytest.raises(InspectionError, match="no tar archive"):
        async with open_faulty():
            pass


async def test_who_stops_waiting_stops_the_thread_too(faulty: "FaultyRegistry", open_faulty: OpenFaulty) -> None:
    sent = asyncio.Event()
    faulty.script("GET", PATH, sending(LAYER, 1_000_000, then=sent))

    async def run() -> None:
        async with open_faulty():
            raise AssertionError("the layer never comes")

    task = asyncio.create_task(run())
    await sent.wait()
    assert any(thread.name.startswith("inspection") for thread in threading.enumerate())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(thread.name.startswith("inspection") for thread in threading.enumerate())
