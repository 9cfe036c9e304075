"""The configuration file: read at the start, followed while the detector runs, and never half believed."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from nodeworthy.errors import DocumentError, UsageError
from nodeworthy.processes import EventLog
from nodeworthy_detector.configuration import Configuration, Outcome
from nodeworthy_detector.folder_watch import FolderWatch
from nodeworthy_detector.hostfs import Host, HostReadError

_LOG = EventLog("detector")

MAX_BYTES = 1024 * 1024
"""As any document with rules."""

_READER = "nodeworthy_detector.configuration_reader"
_READER_SECONDS = 30.0
"""Reading takes 0.2 s on an idle machine."""

_QUIET_SECONDS = 0.1
"""How long the file's folder is left alone before it is read, since writers come in bursts."""
_POLL_SECONDS = 10.0
"""Between two looks at the file where the kernel does not tell of changes."""

_NOTHING_SEEN = b"\0"
"""What no file has that could be read: YAML has no NUL."""


class ConfigurationFile:
    """One file, and what it says.

    It is read on the loop, other than the host's files: it lies where this program's own files lie.
    """

    def __init__(self, path: Path, *, is_required: bool) -> None:
        self.path = path.absolute()
        self._is_required = is_required
        self._host = Host(Path("/"))
        self._changed = asyncio.Event()
        self._seen: bytes | None = _NOTHING_SEEN
        self.current = Configuration()
        """The last one that was good."""
        self.problem = ""
        """Why the file as it is now is not followed; empty if it is."""

    async def load(self) -> Configuration:
        """Read the file for the first time.

        Raises:
            UsageError: the file is not there though it was named, cannot be read, or its reader cannot be run.
            DocumentError: what it says cannot be; every problem has its line and path.
        """
        self._seen = self._read()
        self.current = await self._parse(self._seen)
        return self.current

    async def follow(self, on_change: Callable[[], Awaitable[None]]) -> None:
        """Read the file whenever it changes, until cancelled; ``on_change`` is called when there is something new to say.

        A file that is wrong, or gone, changes nothing but :attr:`problem`.
        """
        watch = FolderWatch(self._host, lambda _folder: self._changed.set())
        watch.open()
        try:
            folder = str(self.path.parent)
            while True:
                watch.arm(folder)
                if await self._reload():
                    await on_change()
                try:
                    async with asyncio.timeout(_POLL_SECONDS if watch.problem(folder) else None):
                        await self._changed.wait()
                except TimeoutError:
                    continue
                await asyncio.sleep(_QUIET_SECONDS)
                self._changed.clear()
        finally:
            watch.close()

    async def _reload(self) -> bool:
        """Read the file if it is another than the one that was seen last; whether anything is new."""
        before = (self.current, self.problem)
        try:
            text = self._read()
            if text == self._seen:
                return False
            self._seen = text
            self.current = await self._parse(text)
            self.problem = ""
        except UsageError as error:
            self.problem, self._seen = str(error), _NOTHING_SEEN
        except DocumentError as error:
            self.problem = str(error)
        if self.problem != before[1]:
            event = "detector.configuration_refused" if self.problem else "detector.configuration_works"
            _LOG.warning(event, file=str(self.path), error=self.problem)
        elif self.current != before[0]:
            _LOG.info("detector.configuration_changed", file=str(self.path))
        return (self.current, self.problem) != before

    def _read(self) -> bytes | None:
        try:
            text = self._host.read_bytes(str(self.path).lstrip("/"), MAX_BYTES)
        except HostReadError as error:
            raise UsageError("the configuration cannot be read", why=f"/{error}") from error
        if text is None and self._is_required:
            raise UsageError("the configuration cannot be read", why=f"{self.path} is not there")
        return text

    async def _parse(self, text: bytes | None) -> Configuration:
        if text is None:
            return Configuration()
        outcome = await run_reader(text, str(self.path))
        if outcome.configuration is None:
            raise DocumentError(str(self.path), outcome.problems)
        for notice in outcome.notices:
            _LOG.warning("detector.configuration_notice", notice=str(notice))
        return outcome.configuration


async def run_reader(text: bytes, name: str) -> Outcome:
    """What a process of its own makes of a file's bytes.

    Raises:
        UsageError: the process cannot be started, fails, or takes too long.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # the working folder is nobody's package
            "-m",
            _READER,
            name,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        raise UsageError("the configuration cannot be read", why=f"its reader cannot be started: {error}") from error
    try:
        async with asyncio.timeout(_READER_SECONDS):
            written, errors = await process.communicate(text)
        return msgspec.json.decode(written, type=Outcome)
    except TimeoutError as error:
        raise UsageError("the configuration cannot be read", why=f"that took {_READER_SECONDS:g} s") from error
    except msgspec.DecodeError as error:
        last = errors.decode(errors="replace").strip().splitlines()[-1:] or [f"it ended with {process.returncode}"]
        raise UsageError("the configuration cannot be read", why=f"its reader failed: {last[0]}") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
