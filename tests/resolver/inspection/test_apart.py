"""Inspecting in a process of its own: the same result, and whatever becomes of the process is said in words."""

import asyncio
import io
import os
import signal
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from aiohttp import web
from tests.resolver.inspection.elves import Made
from tests.resolver.inspection.sources.conftest import LAYER, config_of

from nodeworthy.errors import ImageNotFoundError, InspectionError, NodeworthyError
from nodeworthy_resolver.inspection.apart import Job, inspect_apart
from nodeworthy_resolver.inspection.opening import inspect_opened, open_target
from nodeworthy_resolver.oci import Reference, RegistryAccess, parse_reference
from nodeworthy_resolver.oci.digests import parse_digest
from nodeworthy_resolver.oci.manifests import IMAGE_CONFIG
from nodeworthy_resolver.oci.store import Content

if TYPE_CHECKING:
    from tests.conftest import Oras
    from tests.resolver.conftest import Builder, FaultyRegistry


def packed(**files: bytes) -> bytes:
    """A layer with executable files below the root."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o755
            archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


ACCESS = RegistryAccess(plain_http=True, attempts=1)
APP = Made(interpreter="/loader", needed=("libmissing.so",)).bytes()
LAYERS = (packed(app=APP), packed(loader=Made(soname="libc.so").bytes()))


def image_of(build: "Builder", *layers: bytes) -> Content:
    """An image that starts ``/app``."""
    config = build.blob(config_of(*layers, Entrypoint=["/app"]), IMAGE_CONFIG)
    return build.document({"config": config, "layers": [build.blob(layer, LAYER) for layer in layers]})


def job_for(name: str, digest: str, **more: Any) -> Job:
    reference = parse_reference(name)
    assert isinstance(reference, Reference)
    return Job(replace(reference, digest=parse_digest(digest)), ACCESS, **more)


def children() -> set[int]:
    """The processes that this one has started and not waited for: proc_pid_task(5), ``children``."""
    tasks = Path(f"/proc/{os.getpid()}/task").iterdir()
    return {int(pid) for task in tasks for pid in (task / "children").read_text().split()}


@asynccontextmanager
async def stuck(faulty: "FaultyRegistry", image: Content, **more: Any) -> AsyncIterator[tuple[asyncio.Task[Any], int]]:
    """A job whose process waits for a layer that never comes, and that process."""
    asked, over = asyncio.Event(), asyncio.Event()

    async def wait(_: web.Request) -> web.StreamResponse:
        asked.set()
        await over.wait()
        return web.Response(status=404)

    layer = msgspec.json.decode(image.data)["layers"][0]["digest"]
    faulty.script("GET", f"blobs/{layer}", wait, always=True)
    before = children()
    task = asyncio.create_task(inspect_apart(job_for(faulty.name, image.digest, **more), 30), name="apart")
    try:
        async with asyncio.timeout(20):
            await asked.wait()
        (pid,) = children() - before
        yield task, pid
    finally:
        over.set()
        task.cancel()
        await asyncio.wait({task})


async def test_a_process_of_its_own_finds_what_this_one_finds(
    build: "Builder", referrers_registry: str, oras: "Oras", tmp_path: Path
) -> None:
    image = image_of(build, *LAYERS)
    name = f"{referrers_registry}/team/app:v1"
    build.write_layout(tmp_path / "folder", build.tagged(image, "v1"))
    oras("cp", "--from-oci-layout", "folder:v1", "--to-plain-http", name)
    job = job_for(name, image.digest)

    async with open_target(job.reference, access=ACCESS) as opened:
        here = inspect_opened(opened)
    there = await inspect_apart(job, 60)

    assert there == msgspec.structs.replace(here, libraries=())
    assert [one.code for one in there.defects] == ["library-missing"]


async def test_an_image_that_is_not_there_is_told_as_the_process_was_told(faulty: "FaultyRegistry") -> None:
    with pytest.raises(NodeworthyError, match="sha256:0000000") as refused:
        await inspect_apart(job_for(faulty.name, "sha256:" + "0" * 64), 60)
    assert isinstance(refused.value, InspectionError | ImageNotFoundError)


async def test_a_process_that_is_killed_is_an_error_in_words(build: "Builder", faulty: "FaultyRegistry") -> None:
    image = image_of(build, *LAYERS)
    async with stuck(faulty, image) as (task, pid):
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(InspectionError, match="is not inspected") as refused:
            await task

    assert refused.value.why == "the process that looked at it ended with signal SIGKILL"


async def test_a_process_that_takes_too_long_is_ended(build: "Builder", faulty: "FaultyRegistry") -> None:
    image = image_of(build, *LAYERS)
    over = asyncio.Event()

    async def wait(_: web.Request) -> web.StreamResponse:
        await over.wait()
        return web.Response(status=404)

    faulty.script("GET", f"manifests/{image.digest}", wait, always=True)
    before = children()
    with pytest.raises(InspectionError) as refused:
        await inspect_apart(job_for(faulty.name, image.digest), 0.1)
    over.set()

    assert refused.value.why == "0 s were over"
    assert children() == before


async def test_whoever_is_cancelled_leaves_no_process(build: "Builder", faulty: "FaultyRegistry") -> None:
    image = image_of(build, *LAYERS)
    async with stuck(faulty, image) as (task, pid):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert pid not in children()


async def test_a_limit_of_memory_is_told(build: "Builder", faulty: "FaultyRegistry") -> None:
    """The symbols of this program take some eighty megabytes; the process itself has thirty."""
    symbols = [f"function_with_a_long_name_{number}" for number in range(200_000)]
    image = image_of(build, packed(app=Made(kind=2, exports=symbols).bytes()))
    found = await inspect_apart(job_for(faulty.name, image.digest, memory_bytes=64 * 1024 * 1024), 120)

    assert ("instructions", "the memory for it was used up") in {(one.what, one.why) for one in found.unexplored}
