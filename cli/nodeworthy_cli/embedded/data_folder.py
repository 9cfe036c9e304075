"""The data folder of an embedded server: made for its owner only, and held by one instance at a time."""

import asyncio
import contextlib
import fcntl
import os
import stat
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from nodeworthy_cli.embedded.errors import DataFolderError, DataFolderLockedError

_PRIVATE_FOLDER = 0o700
_PRIVATE_FILE = 0o600
_OTHERS = stat.S_IRWXG | stat.S_IRWXO

_LEAVING_SECONDS = 3
"""How long the lock of an instance that is gone is waited for: its server outlives a killed parent by some milliseconds."""
_LOOK_AGAIN_SECONDS = 0.02
_MAX_PID_BYTES = 32
MAX_FILE_BYTES = 1 << 16
"""Passwords and contexts have some hundred bytes."""


@dataclass(frozen=True, slots=True)
class DataFolder:
    """A data folder that is ours until the lock is given back."""

    path: Path
    lock: int
    """The file descriptor that holds the lock. The server inherits it, so that its store stays locked until it has ended
    too, also when its parent was killed."""

    @property
    def store(self) -> Path:
        """Where JetStream keeps its streams."""
        return self.path / "store"

    @property
    def log(self) -> Path:
        """The server's own log."""
        return self.path / "nats-server.log"

    @property
    def last_words(self) -> Path:
        """What the server wrote to standard error: a bad configuration, or the traces of a crash."""
        return self.path / "nats-server.stderr"


@contextlib.asynccontextmanager
async def hold_data_folder(path: Path) -> AsyncIterator[DataFolder]:
    """Make the folder if it is not there, and hold its lock.

    The lock is the kernel's (flock), so it cannot be left behind by a process that was killed; the process id in the file is
    for the error text only.

    Raises:
        DataFolderLockedError: another instance holds it.
        DataFolderError: the folder cannot be made or written, or belongs to somebody else.
    """
    lock = _open_lock(path)
    try:
        await _take_lock(path, lock)
        yield DataFolder(path, lock)
    finally:
        os.close(lock)


def _open_lock(path: Path) -> int:
    try:
        path.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        found = path.stat()
        if found.st_uid != os.geteuid():
            raise DataFolderError(path, f"it belongs to another user (uid {found.st_uid})")
        if found.st_mode & _OTHERS:
            path.chmod(_PRIVATE_FOLDER)
        return os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, _PRIVATE_FILE)
    except OSError as error:
        raise DataFolderError(path, error.strerror or str(error)) from error


async def _take_lock(path: Path, lock: int) -> None:
    give_up = time.monotonic() + _LEAVING_SECONDS
    while not _try_lock(path, lock):
        pid = parse_pid(os.pread(lock, _MAX_PID_BYTES, 0))
        is_alive = pid is not None and _is_alive(pid)
        if pid is None or is_alive or time.monotonic() > give_up:
            raise DataFolderLockedError(path, pid if is_alive else None)
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)
    try:
        os.ftruncate(lock, 0)
        os.pwrite(lock, b"%d\n" % os.getpid(), 0)
    except OSError as error:
        raise DataFolderError(path, error.strerror or str(error)) from error


def _try_lock(path: Path, lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        why = f"its file system cannot lock: {error.strerror or error}"
        raise DataFolderError(path, why) from error
    return True


def parse_pid(content: bytes) -> int | None:
    """The process id in a lock file; ``None`` if its owner has not written it yet."""
    text = content.strip()
    return int(text) if text.isdigit() else None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # another user's
    return True


def read_private(path: Path) -> bytes | None:
    """The content of a file of the data folder; ``None`` if it is not there, or if others could have read or changed it.

    Raises:
        DataFolderError: it is there and cannot be read.
    """
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            found = os.fstat(file.fileno())
            if found.st_mode & _OTHERS or found.st_uid != os.geteuid():
                return None
            return file.read(MAX_FILE_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DataFolderError(path.parent, f"{path.name}: {error.strerror or error}") from error


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, whole or not at all.

    Raises:
        DataFolderError: it cannot be written.
    """
    try:
        number, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mkstemp makes it 0600
        with contextlib.ExitStack() as undo:
            undo.callback(_remove, Path(name))
            with os.fdopen(number, "wb") as file:
                file.write(content)
            Path(name).replace(path)
            undo.pop_all()
    except OSError as error:
        raise DataFolderError(path.parent, f"{path.name}: {error.strerror or error}") from error


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
