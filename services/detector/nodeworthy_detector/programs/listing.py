"""Which files of the folder are programs, under which names, and which of them may run."""

import os
import re
import stat

import msgspec

from nodeworthy.features import clean_text
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.reading import Faults

MAX_PROGRAMS = 64
"""Each is started anew in every interval; a machine with more is better served by one program that says more."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
RESERVED_NAMES = frozenset({"label"})
"""``programs.label`` holds the labels of all programs."""

_ANYBODY_WRITES = stat.S_IWOTH
_ANYBODY_RUNS = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH


class ProgramFile(msgspec.Struct, frozen=True):
    """One program."""

    name: str
    """The file's name up to the first dot, in lower case, since rules look sets up so."""
    file: str
    """The file's name."""
    path: str
    """Where this process finds it."""
    stamp: tuple[int, ...] = ()
    """Another one for another content."""
    problem: str = ""
    """Why it must not run."""

    @property
    def set_name(self) -> str:
        """The set that holds its facts."""
        return f"programs.{self.name}"


def list_programs(host: Host, folder: str, faults: Faults) -> tuple[ProgramFile, ...]:
    """Every program of a folder, in the order of the files' names; none where the folder is not there.

    Regular files with a right to be executed are programs; other files are faults, hidden ones and folders are passed over.

    Raises:
        HostReadError: the folder is there and cannot be read.
    """
    folder = folder.strip("/")
    host.require(folder.partition("/")[0])
    names = [name for name in host.list_names(folder) or () if not name.startswith(".")]
    found: dict[str, ProgramFile] = {}
    unsafe = _find_danger(_stat(host, folder), "the folder") if names else ""
    for file in names:
        try:
            program = _look_at(host, folder, file, unsafe)
        except HostReadError as error:
            faults.add(error)
            continue
        if program is None:
            continue
        fault = _find_fault(program, found)
        if fault:
            faults.add(f"{folder}/{file}: {fault}; it does not run")
        else:
            found[program.name] = program
    return tuple(found.values())


def _look_at(host: Host, folder: str, file: str, unsafe: str) -> ProgramFile | None:
    path = f"{folder}/{file}"
    status = _stat(host, path)
    if stat.S_ISDIR(status.st_mode):
        return None
    if not stat.S_ISREG(status.st_mode):
        raise HostReadError(path, "is no regular file; it does not run")
    if not status.st_mode & _ANYBODY_RUNS:
        raise HostReadError(path, "has no right to be executed; it does not run")
    stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    name = clean_text(file).partition(".")[0].lower()
    return ProgramFile(name, file, host.locate(path), stamp, unsafe or _find_danger(status, "the file"))


def _stat(host: Host, path: str) -> os.stat_result:
    try:
        return os.stat(host.locate(path))  # noqa: PTH116 # a str, as hostfs gives it
    except OSError as error:
        raise HostReadError(path, f"leads nowhere: {error.strerror}") from error


def _find_danger(status: os.stat_result, what: str) -> str:
    """Why running it would let somebody else decide what the detector does."""
    if status.st_uid not in (0, os.geteuid()):
        return f"{what} belongs to user {status.st_uid}; it must be root's or that of the detector's user"
    if status.st_mode & _ANYBODY_WRITES and not (stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX):
        return f"{what} may be written by everybody; take that right away with chmod o-w"
    return ""


def _find_fault(program: ProgramFile, found: dict[str, ProgramFile]) -> str:
    if not _NAME.fullmatch(program.name) or program.name in RESERVED_NAMES:
        return "its name up to the first dot must be letters, digits, '-' and '_', and not the word label"
    if program.name in found:
        return f"{found[program.name].file} has the same name up to the first dot"
    if len(found) >= MAX_PROGRAMS:
        return f"only the first {MAX_PROGRAMS} programs run"
    return ""
