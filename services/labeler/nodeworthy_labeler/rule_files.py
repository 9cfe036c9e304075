"""The folder of ``--rules DIR``: every ``*.yaml``, ``*.yml`` and ``*.json`` file of it holds documents of rules.

A file that cannot be read may hold any rule, so no label of a rule that is missing goes while there is one. That counts also
for an empty file: it is what is there while somebody writes a file anew. Other files, hidden ones and folders are passed
over.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from nodeworthy import rules
from nodeworthy.errors import Problem, UsageError
from nodeworthy.features import clean_text
from nodeworthy.labels import RuleObject
from nodeworthy.rules import RuleDocument, UnreadableDocument
from nodeworthy.rules.documents import KINDS

MAX_FILES = 1_000
"""A cluster has some hundred rule objects; a folder with more files than this is the wrong folder."""

MAX_FILE_BYTES = 1024 * 1024
"""What the reader of documents takes."""

MAX_RULES = 10_000
"""Rules of all files: each is evaluated on every kind of node."""

_SUFFIXES = (".yaml", ".yml", ".json")


class FileStamp(NamedTuple):
    """Tells two contents of one file apart, as far as the file system does."""

    name: str
    inode: int
    modified: int
    """Nanoseconds since the epoch."""
    size: int


class LoadedRules(msgspec.Struct, frozen=True):
    """What a folder held when it was read."""

    objects: tuple[RuleObject, ...]
    problems: tuple[Problem, ...] = ()
    """Rules and files that are left out, and bad values of rules that run."""
    notices: tuple[Problem, ...] = ()
    """What is good to know: passed over fields, a file without a name."""
    stamps: tuple[FileStamp, ...] = ()
    """The files before they were read."""


class RuleFolder:
    """Notices when the rules of a folder have changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loaded: tuple[FileStamp, ...] | None = None
        self._seen: tuple[FileStamp, ...] | None = None

    def poll(self) -> LoadedRules | None:
        """The rules, if they are others than those given before and the folder was the same at the poll before this one.

        So a file that is just being written does not count; the first rules come with the second poll. After an error the
        rules given before are still the best there are.

        Raises:
            UsageError: the folder cannot be listed.
        """
        stamps = list_files(self._folder)
        has_settled = stamps == self._seen
        self._seen = stamps
        if not has_settled or stamps == self._loaded:
            return None
        found = load_rules(self._folder)
        if found.stamps != stamps or list_files(self._folder) != stamps:
            return None
        self._loaded = stamps
        return found


def load_rules(folder: Path) -> LoadedRules:
    """Every rule document of a folder, in the order of the files' names, with what is wrong with them.

    Raises:
        UsageError: the folder cannot be listed.
    """
    stamps = list_files(folder)
    objects: list[RuleObject] = []
    problems: list[Problem] = []
    notices: list[Problem] = []
    for read in _within_limits(_read_file(folder, stamp.name) for stamp in stamps):
        objects += read.objects
        problems += read.problems
        notices += read.notices
    if len(stamps) > MAX_FILES:
        reason = f"the folder has more than {MAX_FILES:,} files of rules; the first ones are read"
        left_out = _unreadable(clean_text(str(folder)), reason)
        objects += left_out.objects
        problems += left_out.problems
    return LoadedRules(tuple(objects), tuple(problems), (*notices, *_equal_names(objects)), stamps)


def list_files(folder: Path) -> tuple[FileStamp, ...]:
    """The files that hold rules, in the order of the bytes of their names; one more than :data:`MAX_FILES` at most.

    Raises:
        UsageError: the folder cannot be listed.
    """
    try:
        names = [path.name for path in folder.iterdir() if path.name.endswith(_SUFFIXES) and path.name[0] != "."]
    except OSError as error:
        raise UsageError(
            f"the rules in {folder} cannot be read",
            why=error.strerror or str(error),
            todo="give a folder of rule files with --rules DIR",
        ) from error
    stamps = (_stamp(folder, name) for name in sorted(names, key=os.fsencode)[: MAX_FILES + 1])
    return tuple(stamp for stamp in stamps if stamp is not None)


def parse_rule_file(data: bytes, name: str) -> LoadedRules:
    """The rules of one file; ``name`` names it in problems, and names its objects where the documents do not."""
    file = rules.read_rule_file(data, name)
    if not file.notices and not any(map(_says_something, file.documents)):
        return _unreadable(name, "the file is empty; remove it if its rules are meant to go")
    objects: list[RuleObject] = []
    problems: list[Problem] = []
    notices = list(file.notices)
    for document in file.documents:
        problems += document.problems
        if isinstance(document, UnreadableDocument):
            objects.append(RuleObject(document.name, (), name, document.problems[0].message))
            continue
        notices += document.notices
        if document.kind == "NodeFeatureGroup":
            message = "a NodeFeatureGroup gives no labels, so it is not used here"
            notices.append(Problem(name, document.line, "kind", message))
            continue
        if not document.name and document.kind == "NodeFeatureRule":
            message = "the object has no name, so the file's name orders its rules"
            notices.append(Problem(name, document.line, "metadata.name", message))
        objects.append(RuleObject(document.name or name, document.rules, name, auto_prefix=document.auto_prefix))
    return LoadedRules(tuple(objects), tuple(problems), tuple(notices))


def _says_something(document: RuleDocument | UnreadableDocument) -> bool:
    """Whether a document is more than an empty list, as a file begins that is just being written."""
    return isinstance(document, UnreadableDocument) or document.kind in KINDS or bool(document.rules)


def _stamp(folder: Path, name: str) -> FileStamp | None:
    try:
        found = (folder / name).stat()
    except OSError:
        # It is listed and leads nowhere: reading it tells why.
        return FileStamp(name, 0, 0, 0)
    if stat.S_ISDIR(found.st_mode):
        return None
    return FileStamp(name, found.st_ino, found.st_mtime_ns, found.st_size)


def _read_file(folder: Path, file_name: str) -> LoadedRules:
    name = clean_text(file_name)
    try:
        data = _read_bytes(folder / file_name)
    except OSError as error:
        return _unreadable(name, f"it cannot be read: {error.strerror or error}")
    if data is None:
        return _unreadable(name, "it is no file")
    return parse_rule_file(data, name)


def _read_bytes(path: Path) -> bytes | None:
    """One byte more than is allowed at most, so that the reader of documents refuses what is too large."""
    # A FIFO that somebody put there must not stop the service.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return file.read(MAX_FILE_BYTES + 1)


def _within_limits(files: Iterable[LoadedRules]) -> Iterator[LoadedRules]:
    room = MAX_RULES
    for number, file in enumerate(files):
        if number == MAX_FILES:
            return
        room -= sum(len(item.rules) for item in file.objects)
        if room < 0:
            name = file.objects[0].source
            yield _unreadable(
                name, f"the rules of this folder are more than {MAX_RULES:,}; from here on they are left out"
            )
            return
        yield file


def _unreadable(name: str, reason: str) -> LoadedRules:
    return LoadedRules((RuleObject("", (), name, reason),), (Problem(name, 0, "", reason),))


def _equal_names(objects: Iterable[RuleObject]) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for item in objects:
        is_named = item.name not in ("", item.source)
        other = first.get(item.name) if is_named else None
        if is_named:
            first.setdefault(item.name, item.source)
        if other is not None:
            where = "this file" if other == item.source else other
            message = f"{where} holds another object {item.name[:80]!r}; both are used, in the order of the files"
            yield Problem(item.source, 0, "metadata.name", message)
