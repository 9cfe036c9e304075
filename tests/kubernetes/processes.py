"""Servers as processes of their own that tests start, kill, freeze and start again."""

import contextlib
import os
import random
import signal
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

STOP_SECONDS = 20
"""A bound for a server that was asked to end; a killed one is gone at once."""
PORTS = range(20_000, 32_000)
"""Below the ports that Linux gives to outgoing connections (32768 and up), which could take a restarting server's."""


class ServerProcess:
    """One server with its log and its port; it keeps both when it is started again.

    Its standard input is a pipe that closes when this process ends, and the server with it (tests/servers/lifetime).
    """

    def __init__(self, program: Path, flags: Sequence[str], folder: Path, port: int) -> None:
        self.program = program
        self.flags = tuple(flags)
        self.folder = folder
        self.port = port
        self.interruptions = 0
        """How often it was ended or frozen: what clients that wait longer after each failure have to get over."""
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        return (self.folder / f"{self.program.name}.log").read_text(errors="replace")

    @property
    def resident_bytes(self) -> int:
        """Memory in use now, from the second field of /proc/PID/statm (proc(5)), in pages of 4 KiB."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * 4096

    def start(self) -> None:
        assert not self.is_running
        with (self.folder / f"{self.program.name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                [self.program, *self.flags],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={"TMPDIR": str(self.folder), "HOME": str(self.folder)},
                cwd=self.folder,
            )

    def kill(self) -> None:
        """As a crash does: nothing is finished or said."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """As a clean stop does: requests that run are finished, watches are closed."""
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        self.thaw()
        self.interruptions += 1
        self._process.send_signal(number)
        self._process.wait(STOP_SECONDS)
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process = None

    def freeze(self) -> None:
        """Stop answering, with all connections open; it is frozen when this returns."""
        assert self._process is not None
        self.interruptions += 1
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)  # looks, and takes nothing from Popen

    def thaw(self) -> None:
        """Go on where it was frozen; nothing happens to one that was not."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)


def pick_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now, for a server that cannot say which one it took."""
    while True:
        port = random.choice(PORTS)
        with socket.socket() as attempt, contextlib.suppress(OSError):
            attempt.bind(("127.0.0.1", port))
            return port
