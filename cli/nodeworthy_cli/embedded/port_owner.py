"""Who listens on a port, as far as this user may know it."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

_LISTEN = "0A"
"""TCP_LISTEN of the kernel's include/net/tcp_states.h."""
_SOCKET = re.compile(r"socket:\[(\d+)\]")
_MAX_TABLE_BYTES = 1 << 22
"""About 28,000 connections; a listener further down stays unnamed."""


def read_port_owner(port: int, proc: Path = Path("/proc")) -> str | None:
    """``nats-server (process 4711)``, or ``None`` if nobody does or it is another user's."""
    inodes: set[str] = set()
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError), (proc / "net" / name).open() as table:
            inodes |= parse_listeners(table.read(_MAX_TABLE_BYTES), port)
    if not inodes:
        return None
    return next((_describe(process) for process in _processes(proc) if inodes & _sockets(process)), None)


def parse_listeners(table: str, port: int) -> set[str]:
    """The inodes of the sockets that listen on a port.

    A line of /proc/net/tcp (Documentation/networking/proc_net_tcp.rst)::

        0: 0100007F:107E 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 46834 1 …
    """
    inodes = set()
    for line in table.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 9 and fields[3] == _LISTEN and fields[1].endswith(f":{port:04X}"):  # noqa: PLR2004 # the inode is the tenth
            inodes.add(fields[9])
    return inodes


def _processes(proc: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from (path for path in proc.iterdir() if path.name.isdigit())


def _sockets(process: Path) -> set[str]:
    """The inodes of a process's sockets; none if it has just ended or is another user's."""
    inodes = set()
    with contextlib.suppress(OSError):
        for link in (process / "fd").iterdir():
            with contextlib.suppress(OSError):
                found = _SOCKET.fullmatch(str(link.readlink()))
                inodes |= {found[1]} if found else set()
    return inodes


def _describe(process: Path) -> str:
    name = "a program"
    with contextlib.suppress(OSError):
        name = (process / "comm").read_text(errors="replace").strip() or name
    return f"{name} (process {process.name})"
