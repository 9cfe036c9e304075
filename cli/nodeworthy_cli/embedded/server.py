"""A nats-server as a child process: started, watched and stopped."""

import asyncio
import contextlib
import subprocess
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nodeworthy.bus.permissions import User
from nodeworthy.processes import EventLog
from nodeworthy_cli.embedded import configuration, server_log
from nodeworthy_cli.embedded.address import Address, read_address, remove_ports_files
from nodeworthy_cli.embedded.child import dies_with_parent
from nodeworthy_cli.embedded.contexts import Context
from nodeworthy_cli.embedded.data_folder import DataFolder, write_private
from nodeworthy_cli.embedded.errors import (
    DataFolderError,
    PortInUseError,
    ServerEndedError,
    ServerMissingError,
    ServerStartError,
    StoreBrokenError,
)
from nodeworthy_cli.embedded.passwords import read_passwords
from nodeworthy_cli.embedded.port_owner import read_port_owner
from nodeworthy_cli.embedded.program import PROGRAM, find_program
from nodeworthy_cli.embedded.settings import ServerSettings

_LOG = EventLog("embedded")
_PASSWORDS = "passwords.json"
_LOOK_AGAIN_SECONDS = 0.005
"""A server with a small store listens after 10 ms."""


@dataclass(slots=True)
class Server:
    """A server's process, from its start on; made by :func:`run_server`."""

    folder: DataFolder
    settings: ServerSettings
    users: Mapping[str, User]
    """By role."""
    passwords: Mapping[str, str]
    process: asyncio.subprocess.Process
    log_start: int
    """Bytes that the log had before this start."""
    address: Address | None = None
    """Known when it listens."""

    async def wait_until_it_listens(self, stop: asyncio.Event) -> Address | None:
        """Wait for the server; ``None`` if ``stop`` was set before.

        Raises:
            PortInUseError: somebody else listens there.
            StoreBrokenError: it cannot open its store, or left a stream out.
            ServerStartError: it ended, or did not listen in time.
        """
        try:
            async with asyncio.timeout(self.settings.start_seconds):
                while self.address is None and not stop.is_set():
                    if self.process.returncode is not None:
                        raise self._start_error(self.process.returncode)
                    self.address = await read_address(self.folder.path, self.process.pid)
                    if self.address is None:
                        await asyncio.sleep(_LOOK_AGAIN_SECONDS)
        except TimeoutError:
            why = f"it does not listen after {self.settings.start_seconds:g} s"
            raise ServerStartError(why, self.folder.log) from None
        self._check_start()
        return self.address

    async def watch(self, stop: asyncio.Event, ready: asyncio.Event) -> None:
        """The server as a service of the process: nothing to do but to notice its end.

        Raises:
            ServerEndedError: it ended before it was told to.
        """
        ready.set()
        async with asyncio.TaskGroup() as group:
            ended = group.create_task(self.process.wait(), name="nats-server ended")
            stopping = group.create_task(stop.wait(), name="told to stop")
            await asyncio.wait({ended, stopping}, return_when=asyncio.FIRST_COMPLETED)
            ended.cancel()
            stopping.cancel()
        if self.process.returncode is not None and not stop.is_set():
            raise ServerEndedError(self.process.returncode, self._last_words(), self.folder.log)

    def context(self, role: str) -> Context:
        """How the user of a role connects; the server listens by then."""
        assert self.address is not None
        user = self.users[role]
        return Context(
            url=self.address.url,
            user=user.name,
            password=self.passwords[user.name],
            inbox_prefix=user.inbox_prefix,
            description=f"nodeworthy, cluster {self.settings.cluster}, {role}",
        )

    def _check_start(self) -> None:
        found = server_log.read_start_log(self.folder.log, self.log_start)
        if found.lost:
            raise StoreBrokenError(self.folder.store, found.lost)
        for warning in found.warnings:
            _LOG.warning("embedded.server_warning", text=warning)

    def _start_error(self, status: int) -> Exception:
        fatal = server_log.read_start_log(self.folder.log, self.log_start).fatal or self._last_words()
        if server_log.is_port_in_use(fatal):
            return PortInUseError(self.settings.port, read_port_owner(self.settings.port))
        if server_log.is_store_broken(fatal):
            return StoreBrokenError(self.folder.store, fatal)
        return ServerStartError(fatal or f"it ended with status {status}", self.folder.log)

    def _last_words(self) -> str:
        """The first line on standard error: a panic's reason, or what is wrong with the configuration."""
        lines = server_log.read_from(self.folder.last_words, 0).strip().splitlines()
        return lines[0].removeprefix(f"{PROGRAM}: ") if lines else ""


@contextlib.asynccontextmanager
async def run_server(
    folder: DataFolder, settings: ServerSettings, users: Mapping[str, User], *, program: Path | None = None
) -> AsyncIterator[Server]:
    """Start a server in its data folder, and stop it at the end.

    It is a process group of its own: a Ctrl-C on the terminal reaches this process only, and the server lives until the
    services have said their last words to it.

    Raises:
        ServerMissingError: nats-server is not installed.
        DataFolderError: its files cannot be written.
    """
    program = program or find_program()
    passwords = read_passwords(folder.path / _PASSWORDS, [user.name for user in users.values()])
    write_private(
        folder.path / configuration.FILE,
        configuration.server_configuration(folder, settings, tuple(users.values()), passwords),
    )
    remove_ports_files(folder.path)
    log_start = folder.log.stat().st_size if folder.log.exists() else 0
    process = await _start(program, folder)
    try:
        yield Server(folder, settings, users, passwords, process, log_start)
    finally:
        await _stop(process, settings.stop_seconds)
        remove_ports_files(folder.path)


async def _start(program: Path, folder: DataFolder) -> asyncio.subprocess.Process:
    try:
        with folder.last_words.open("wb") as last_words:
            return await asyncio.create_subprocess_exec(
                program,
                "-c",
                configuration.FILE,
                cwd=folder.path,
                env={},  # all that it needs is in its file
                stdin=subprocess.DEVNULL,
                stdout=last_words,
                stderr=last_words,
                pass_fds=(folder.lock,),
                process_group=0,
                preexec_fn=dies_with_parent(),
            )
    except FileNotFoundError as error:
        raise ServerMissingError from error
    except OSError as error:
        raise DataFolderError(folder.path, error.strerror or str(error)) from error


async def _stop(process: asyncio.subprocess.Process, seconds: float) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    except TimeoutError:
        _LOG.warning("embedded.server_killed", pid=process.pid, seconds=seconds)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
