"""Reading a machine's files below a host root, bounded and without ever leaving that root.

A host root is a folder that holds ``proc``, ``sys``, ``etc``, ``usr``, ``lib``, ``boot`` and ``var``: ``/`` for the machine
itself, else a recording of another machine or a mount of it. What can be read there is one of three things:

- a value;
- ``None``: the file is not there;
- :class:`HostReadError`: the file is there and could not be read, so nothing is known.
"""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from nodeworthy.errors import NodeworthyError, UsageError
from nodeworthy.features import clean_text

MAX_VALUE_BYTES = 64 * 1024
"""One value of sysfs or procfs: the kernel gives at most one page, and the largest page in use has 64 KiB."""

MAX_NAMES = 65_536
"""Names of one folder: a 4-socket server with every virtual function enabled lists about 10,000 PCI functions."""

_MAX_LINKS = 40
"""Symbolic links on the way to one file; Linux's own limit (path_resolution(7))."""

_MAX_OFFSET = 1 << 62
"""No file is larger (lseek(2) takes 63 bits), but a damaged one may point there."""

_NO_VALUE = frozenset(
    {errno.EINVAL, errno.EIO, errno.ENODEV, errno.ENXIO, errno.EOPNOTSUPP, errno.ENODATA, errno.EAGAIN}
)
"""What drivers answer when an attribute has no value now, such as the speed of a link that is down."""

_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR})


class HostReadError(NodeworthyError):
    """A file of the host is there and could not be read; ``has_no_value`` if the kernel itself has no value for it now."""

    def __init__(self, path: str, why: str, *, has_no_value: bool = False) -> None:
        self.path = clean_text(path)
        self.has_no_value = has_no_value
        super().__init__(self.path, why=clean_text(why))

    def __str__(self) -> str:
        """One clause, ``etc/os-release is no regular file``, which stands behind "is not known:" in reports."""
        return f"{self.path} {self.why}"


class Host:
    """The files of one machine; every path is relative to its root, as ``sys/bus/pci/devices``.

    ``is_this_machine`` says whether the processor that runs this program is the host's: then facts may be taken from it
    and not from files alone. Links are followed as the host itself would: an absolute one starts again at the root.
    """

    def __init__(self, root: Path, *, is_this_machine: bool | None = None) -> None:
        self._root = os.path.normpath(root.absolute())
        self.is_this_machine = _is_this_machine(self._root) if is_this_machine is None else is_this_machine

    def __str__(self) -> str:
        return self._root

    def read_text(self, path: str, limit: int = MAX_VALUE_BYTES) -> str | None:
        """The file's text; bytes that are not UTF-8 become U+FFFD.

        Raises:
            HostReadError: the file is there and cannot be read, or has more than ``limit`` bytes.
        """
        data = self.read_bytes(path, limit)
        return None if data is None else data.decode("utf-8", "replace")

    def read_value(self, path: str) -> str | None:
        """The one value in a small file, without the white space around it."""
        text = self.read_text(path)
        return None if text is None else text.strip()

    def read_bytes(self, path: str, limit: int) -> bytes | None:
        """The file's bytes, read to the end.

        Raises:
            HostReadError: the file is there and cannot be read, or has more than ``limit`` bytes.
        """
        data = self.read_start(path, limit + 1)
        if data is not None and len(data) > limit:
            raise HostReadError(path, f"has more than {limit:,} bytes")
        return data

    def read_start(self, path: str, size: int) -> bytes | None:
        """The first ``size`` bytes of a file, or all of them if there are fewer.

        Raises:
            HostReadError: the file is there and cannot be read.
        """
        return self.read_part(path, 0, size)

    def read_part(self, path: str, offset: int, size: int) -> bytes | None:
        """``size`` bytes of a file from ``offset`` on, or fewer where it ends before.

        Only regular files are opened, and never in a way that waits: a FIFO would hang, opening a watchdog starts it.

        Raises:
            HostReadError: the file is there and cannot be read.
        """
        if offset > _MAX_OFFSET:
            return b""
        try:
            found = self._resolve(path)
            mode = os.stat(found).st_mode  # noqa: PTH116 # thousands of files a pass: a Path for each costs as much again
            if not stat.S_ISREG(mode):
                raise HostReadError(path, "is no regular file")
            descriptor = os.open(found, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
            try:
                if offset:
                    os.lseek(descriptor, offset, os.SEEK_SET)
                return _read(descriptor, size)
            finally:
                os.close(descriptor)
        except OSError as error:
            _raise_unless_absent(path, error)
            return None

    def list_names(self, path: str) -> tuple[str, ...] | None:
        """The names in a folder, sorted; ``None`` if the folder is not there.

        Raises:
            HostReadError: the folder is there and cannot be listed, or has more than :data:`MAX_NAMES` names.
        """
        try:
            with os.scandir(self._resolve(path)) as entries:
                return tuple(sorted(_bounded(path, entries)))
        except OSError as error:
            if error.errno == errno.ENOTDIR:
                raise HostReadError(path, "is no folder") from error
            _raise_unless_absent(path, error)
            return None

    def exists(self, path: str) -> bool:
        """Whether a file of any kind is there.

        Raises:
            HostReadError: it could not be found out.
        """
        return self._mode(path) is not None

    def is_folder(self, path: str) -> bool:
        """Whether a folder is there.

        Raises:
            HostReadError: it could not be found out.
        """
        mode = self._mode(path)
        return mode is not None and stat.S_ISDIR(mode)

    def locate(self, path: str) -> str:
        """Where this process finds a file of the host, for what cannot be read through this class.

        Raises:
            OSError: a folder on the way is not there or cannot be read.
            HostReadError: it is no path, or leads through too many links.
        """
        return self._resolve(path)

    def link_name(self, path: str) -> str | None:
        """The last part of what a symbolic link says, whether or not it leads anywhere; ``None`` where there is no link.

        Raises:
            HostReadError: it could not be found out.
        """
        folder, _, name = path.rpartition("/")
        try:
            target = _link_target(f"{self._resolve(folder)}/{name}")
        except OSError as error:
            _raise_unless_absent(path, error)
            return None
        return None if target is None else target.rstrip("/").rpartition("/")[2] or None

    def require(self, path: str) -> None:
        """Make sure that the place which would hold a fact is there: without it, not finding the fact says nothing.

        Raises:
            HostReadError: the folder is not there; for example no sysfs is mounted, or a recording leaves it out.
        """
        if not self.is_folder(path):
            raise HostReadError(path, "is not there")

    def _mode(self, path: str) -> int | None:
        try:
            return os.stat(self._resolve(path)).st_mode  # noqa: PTH116 # as in read_start
        except OSError as error:
            _raise_unless_absent(path, error)
            return None

    def _resolve(self, path: str) -> str:
        if "\0" in path:
            raise HostReadError(path, "is no path")
        # On the machine itself the kernel follows links; elsewhere an absolute link would lead out of the root.
        return "/" + path if self._root == "/" else _resolve_below(self._root, path)


_ROOT_HINT = "name a folder that holds the machine's proc, sys, etc and usr"


def open_root(root: Path) -> Host:
    """The host below ``root``, for a caller that named it.

    Raises:
        UsageError: it is no folder that can be read. :class:`Host` itself does not ask: it then knows nothing.
    """
    host = Host(root)
    try:
        names = host.list_names("")
    except HostReadError as error:
        raise UsageError(f"{root} cannot be used as a host root", why=error.why, todo=_ROOT_HINT) from error
    if names is None:
        raise UsageError(f"{root} cannot be used as a host root", why="it is not there", todo=_ROOT_HINT)
    return host


_BOOT_ID = "proc/sys/kernel/random/boot_id"


def _is_this_machine(root: str) -> bool:
    """Whether a root is that of the running kernel, as a container has its host's below a folder.

    Its boot id is this kernel's, and no copy of it: files of procfs have no size. A link that leads out of the root leads to
    nothing of the host.
    """
    if root == "/":
        return True
    try:
        theirs = Path(root, _BOOT_ID).resolve(strict=True)
        is_inside = theirs.is_relative_to(Path(root).resolve())
        return is_inside and not theirs.stat().st_size and theirs.read_bytes() == Path("/", _BOOT_ID).read_bytes()
    except OSError:
        return False


def _resolve_below(root: str, path: str) -> str:
    """Follow every link on the way by hand; ``..`` ends at the root, as in a chroot."""
    pending = path.split("/")[::-1]
    done: list[str] = []
    links = 0
    while pending:
        part = pending.pop()
        if part == "..":
            done = done[:-1]
        if part in {"", ".", ".."}:
            continue
        target = _link_target("/".join((root, *done, part)))
        if target is None:
            done.append(part)
            continue
        links += 1
        if links > _MAX_LINKS:
            raise HostReadError(path, "leads through too many symbolic links")
        if target.startswith("/"):
            done = []
        pending.extend(target.split("/")[::-1])
    return "/".join((root, *done))


def _link_target(path: str) -> str | None:
    try:
        return os.readlink(path)  # noqa: PTH115 # as in read_start
    except OSError as error:
        if error.errno == errno.EINVAL:  # readlink(2): not a symbolic link
            return None
        raise


def _read(descriptor: int, size: int) -> bytes:
    parts: list[bytes] = []
    while size > 0:
        part = os.read(descriptor, min(size, 1 << 20))  # files of procfs give less than asked for
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _bounded(path: str, entries: Iterator[os.DirEntry[str]]) -> Iterator[str]:
    for count, entry in enumerate(entries, 1):
        if count > MAX_NAMES:
            raise HostReadError(path, f"has more than {MAX_NAMES:,} names")
        yield entry.name


def _raise_unless_absent(path: str, error: OSError) -> None:
    if error.errno in _NOT_THERE:
        return
    why = error.strerror or type(error).__name__
    raise HostReadError(path, f"cannot be read: {why.lower()}", has_no_value=error.errno in _NO_VALUE) from error
