"""What can be set about the embedded server, and where its data is when nothing is set."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nodeworthy.errors import UsageError

HOST = "127.0.0.1"
"""The embedded server is for one machine: it has passwords and no TLS, so it is never reached over a network."""
DEFAULT_PORT = 4222
"""NATS's own (IANA registers it), so that the stock ``nats`` command finds the server without being told."""
ANY_PORT = 0
"""Take a free port; the address then stands in the context file only."""

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """One embedded server."""

    folder: Path
    """Its data folder; it and everything in it is readable by its owner only."""
    cluster: str = "local"
    """The name in every subject and bucket."""
    port: int = DEFAULT_PORT
    """Where it listens on 127.0.0.1; 0 takes a free port."""
    max_payload_bytes: int = _MIB
    """The largest message. NATS's default; a feature set has at most 512 KiB and an answer is paged."""
    max_store_bytes: int = 8192 * _MIB
    """Disk for all streams. They are bounded themselves, events by 1 GiB; this stops the disk from filling if one is not."""
    max_memory_store_bytes: int = 64 * _MIB
    """Memory for streams in memory, of which we make none; consumers of clients may ask for some."""
    max_connections: int = 1024
    """Services, command lines and programs of one machine; the server's default is 65,536."""
    log_bytes: int = 4 * _MIB
    """The size at which the server's log is begun anew."""
    log_files: int = 3
    """Logs that are kept, the current one included."""
    start_seconds: float = 30
    """Until it listens: 10 ms with a small store, longer when a large one has to be checked after a power failure."""
    stop_seconds: float = 5
    """From SIGTERM to its end, 1 ms when nothing is wrong; then it is killed, which JetStream survives."""


def data_folder(cluster: str, environment: Mapping[str, str]) -> Path:
    """Where the data of a cluster's embedded server is: ``$XDG_DATA_HOME/nodeworthy/<cluster>``.

    As the XDG base directory specification 0.8 has it: a relative path is ignored, the default is ``~/.local/share``.

    Raises:
        UsageError: there is neither XDG_DATA_HOME nor a home folder.
    """
    home = Path(environment.get("XDG_DATA_HOME", ""))
    if home.is_absolute():
        return home / "nodeworthy" / cluster
    try:
        return Path("~").expanduser() / ".local" / "share" / "nodeworthy" / cluster
    except RuntimeError as error:
        todo = "set HOME or XDG_DATA_HOME, or name a folder with --data"
        raise UsageError("there is no place for the data", why=str(error), todo=todo) from error
