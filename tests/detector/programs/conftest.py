"""What the tests of programs share: a folder of programs that are written on the spot."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.programs.runner import ProgramRunner
from nodeworthy_detector.programs.settings import FOLDER, ProgramSettings
from nodeworthy_detector.programs.source import ProgramsSource

SECONDS = 20
"""A bound for whatever a test waits for."""

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Puts a shell script into the folder of programs, in one step as administrators should."""

    def make(name: str, text: str) -> Path:
        folder = tmp_path / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        fresh = folder / f".{name}.new"
        fresh.write_text(f"#!/bin/sh\n{text}\n")
        fresh.chmod(0o755)
        fresh.rename(folder / name)
        return folder / name

    return make


class Service:
    """A runner and its source, joined as in the service: a change is followed by a look."""

    def __init__(self, root: Path, settings: ProgramSettings) -> None:
        self.host = Host(root)
        self.changed = asyncio.Event()
        self.changes = 0
        self.runner = ProgramRunner(settings, self.host, self._note)
        self.source = ProgramsSource(settings.folder, self.runner)

    def _note(self) -> None:
        self.changes += 1
        self.changed.set()

    async def look_until(self, name: str, text: str) -> object:
        """What the source says of a set, looked at after every change until ``text`` is in it."""
        async with asyncio.timeout(SECONDS):
            while True:
                self.changed.clear()
                reading = await asyncio.to_thread(self.source.read, self.host)
                found = reading.sets.get(name)
                if text in repr(found):
                    return found
                await self.changed.wait()


Serve = Callable[..., Service]


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    """Starts services, and ends them with the test."""
    tasks: list[asyncio.Task[None]] = []
    (tmp_path / "etc").mkdir(exist_ok=True)

    def start(settings: ProgramSettings | None = None) -> Service:
        service = Service(tmp_path, settings or ProgramSettings())
        tasks.append(asyncio.create_task(service.runner.run()))
        return service

    yield start
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def is_alive(process: int) -> bool:
    """Whether a process is there and is no corpse that somebody else has to collect."""
    try:
        return b") Z" not in Path(f"/proc/{process}/stat").read_bytes()
    except OSError:
        return False
