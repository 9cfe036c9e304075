"""Applying layers, one over the other (OCI image specification, layer.md, "Applying Changesets").

Where the specification is silent, what containerd does counts (pkg/archive/tar.go): paths are cleaned and stay below the
root, links on the way to an entry are followed inside the image, a folder over a folder keeps its content, everything else
replaces what is there.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from nodeworthy.requirements import Unexplored
from nodeworthy_resolver.inspection.layers import kinds
from nodeworthy_resolver.inspection.layers.bounds import Usage, too_much
from nodeworthy_resolver.inspection.layers.index import MAX_SIZE, START, File, Folder, Index, Link, Node, Other, unpack
from nodeworthy_resolver.inspection.layers.store import WORDS, ContentStore, Lost, Part
from nodeworthy_resolver.inspection.layers.tar import Member, TarStream
from nodeworthy_resolver.inspection.layers.unpacking import Packed, Unpacked
from nodeworthy_resolver.inspection.tree import canonical
from nodeworthy_resolver.oci.archive.headers import REGULAR, SPARSE
from nodeworthy_resolver.oci.candidates import printable
from nodeworthy_resolver.oci.digests import Digest

WHITEOUT = ".wh."
"""layer.md, "Whiteouts"."""
OPAQUE = ".wh..wh..opq"
_OWN = ".wh..wh."
"""What AUFS kept for itself; engines pass over it."""

MAX_NAME, MAX_PATH = 255, 4096
"""Bytes: NAME_MAX and PATH_MAX of Linux (include/uapi/linux/limits.h)."""
MAX_NAMED = 20
"""Entries and files that are named one by one where something is wrong with them; more are counted."""

_FOLDER, _HARD_LINK, _LINK, _DEVICES = b"5", b"1", b"2", frozenset({b"3", b"4", b"6"})
_WINDOWS_FILES = "/Files"
"""Where a layer of Windows has the files; beside it stand registry hives (hcsshim, internal/wclayer)."""


@dataclass(frozen=True)
class Layer:
    """One layer, wherever it lies."""

    name: str
    """As messages name it."""
    open: Callable[[], AbstractContextManager[Iterator[bytes]]]
    """Its bytes as they are stored, in pieces."""
    digest: Digest
    """Of its bytes as they are stored or, where the place where it lies names none, of its tar archive."""
    is_unpacked_digest: bool = False


class Notices:
    """What of an image's files was left out: the first ones by name, the others by number."""

    def __init__(self) -> None:
        self._named: list[Unexplored] = []
        self._more = 0

    def add(self, what: str, why: str) -> None:
        """Tell of one."""
        if len(self._named) < MAX_NAMED:
            self._named.append(Unexplored(printable(what), why))
        else:
            self._more += 1

    def told(self) -> tuple[Unexplored, ...]:
        """All of them."""
        more = (Unexplored(f"{self._more} more files or entries", "as those that are named"),) if self._more else ()
        return (*self._named, *more)


class Applier:
    """Fills an index and a content store from layers, lowest first."""

    def __init__(self, index: Index, store: ContentStore, usage: Usage, *, is_windows: bool = False) -> None:
        self._index = index
        self._store = store
        self._usage = usage
        self._is_windows = is_windows
        self._layer = 0
        self._spare = 0
        """Bytes of small files that are kept for no reason but that there is room."""
        self.notices = Notices()

    def apply(self, layer: Layer) -> None:
        """Apply one more layer.

        Raises:
            InspectionError: it is damaged, not what its digest says, or beyond a bound.
        """
        self._layer += 1
        if self._layer > self._usage.bounds.layers:
            raise too_much(layer.name, f"the image has more than {self._usage.bounds.layers} layers")
        with layer.open() as chunks:
            packed = Packed(chunks, layer.digest.partition(":")[0], self._usage, layer.name)
            stream = Unpacked(packed, self._usage, layer.name, is_hashed=layer.is_unpacked_digest)
            archive = TarStream(stream, self._usage)
            for member in archive:
                why = self._enter(member, archive)
                if why:
                    self.notices.add(member.name, f"{layer.name} has it as {why}, which is passed over")
                self._check_work(layer.name)
            stream.check(layer.digest)

    def _check_work(self, where: str) -> None:
        bounds = self._usage.bounds
        if self._index.steps > bounds.steps:
            raise too_much(where, "its paths and links lead more ways round than files have")
        if self._usage.entries + self._index.made > bounds.entries:
            raise too_much(where, f"the layers have more than {bounds.entries:,} entries")

    def _enter(self, member: Member, archive: TarStream) -> str:
        """Enter a member; in words, what is wrong with it."""
        if "\0" in member.name:
            return "a name with a zero byte"
        path = canonical(member.name)
        if self._is_windows:
            if not path.startswith(f"{_WINDOWS_FILES}/"):
                return ""
            path = path.removeprefix(_WINDOWS_FILES)
        folder, _, name = path.rpartition("/")
        if not name:
            self._index.root.mode = member.mode
            return ""
        if _is_too_long(path):
            return "a path that is longer than paths can be"
        if name.startswith(WHITEOUT):
            return self._hide(folder, name)
        parent = self._index.reach(folder, self._layer)
        if parent is None:
            return "an entry in something that is no folder"
        made = self._make(member, path, archive)
        if isinstance(made, str):
            return made
        self._index.put(parent, name, made)
        return ""

    def _hide(self, folder: str, name: str) -> str:
        hidden = name.removeprefix(WHITEOUT)
        if hidden in {"", ".", ".."}:
            return "a whiteout of nothing"
        parent = self._index.reach(folder, self._layer)
        if parent is None:
            return "a whiteout in something that is no folder"
        if name == OPAQUE:
            self._index.empty(parent, self._layer)
        elif not name.startswith(_OWN):
            self._index.hide(parent, hidden, self._layer)
        return ""

    def _make(self, member: Member, path: str, archive: TarStream) -> Node | str:
        """What stands for a member; in words, what is wrong with it."""
        if member.kind in REGULAR and member.name.endswith("/"):  # how archives before POSIX have folders
            return Folder(member.mode, self._layer)
        if member.kind in REGULAR or member.kind == SPARSE:
            return self._make_file(member, path, archive)
        if member.kind == _FOLDER:
            return Folder(member.mode, self._layer)
        if member.kind in {_LINK, _HARD_LINK} and not 0 < len(member.target) <= MAX_PATH:
            return "a link to nowhere"
        if member.kind == _LINK:
            return Link(member.target, self._layer)
        if member.kind == _HARD_LINK:
            return self._find_linked(canonical(member.target)) or "a hard link to what is no file of the image"
        if member.kind in _DEVICES:
            return Other(member.mode, self._layer)
        return f"an entry of unknown type {member.kind!r}"

    def _find_linked(self, path: str) -> Node | None:
        """What a hard link names, as an entry of this layer; the file has several names, each with a life of its own."""
        if self._is_windows:
            path = path.removeprefix(_WINDOWS_FILES)
        folder, _, name = path.rpartition("/")
        parent = self._index.reach(folder)
        node = parent.nodes.get(name) if parent is not None else None
        if isinstance(node, int):
            return unpack(node)._replace(layer=self._layer).pack()
        if isinstance(node, Link | Other):
            return node._replace(layer=self._layer)
        return None

    def _make_file(self, member: Member, path: str, archive: TarStream) -> Node | str:
        if member.size > MAX_SIZE:
            return "a file that is larger than files can be"
        if not member.size:
            return File(member.mode, self._layer, 0, Lost.UNNEEDED).pack()
        parts = archive.content(member)
        first, head = _read_head(parts)
        wanted = kinds.kept_bytes(path, member.mode, member.size, head)
        if wanted < member.size <= kinds.SPARE and self._spare + member.size <= self._usage.bounds.spare_bytes:
            self._spare += member.size
            wanted = member.size
        content = self._keep(path, wanted, itertools.chain(first, parts)) if wanted else Lost.UNNEEDED
        return File(member.mode, self._layer, member.size, content, head[:START].ljust(START, b"\0")).pack()

    def _keep(self, path: str, wanted: int, parts: Iterator[Part]) -> int:
        lost = self._store.refuse(wanted)
        if lost is not None:
            self.notices.add(path, WORDS[lost])
            return lost
        return self._store.add(_until(wanted, parts), wanted)


def _is_too_long(path: str) -> bool:
    if len(path) <= MAX_NAME // 4:  # no character has more than four bytes
        return False
    data = path.encode(errors="surrogateescape")
    return len(data) > MAX_PATH or any(len(part) > MAX_NAME for part in data.split(b"/"))


def _read_head(parts: Iterator[Part]) -> tuple[list[Part], bytes]:
    """The first parts of a content, and its first bytes."""
    taken: list[Part] = []
    head = bytearray()
    for part in parts:
        taken.append(part)
        head += bytes(min(part.offset, kinds.HEAD) - len(head)) if part.offset > len(head) else b""
        head += part.data[: max(kinds.HEAD - len(head), 0)]
        if len(head) >= kinds.HEAD:
            break
    return taken, bytes(head)


def _until(end: int, parts: Iterator[Part]) -> Iterator[Part]:
    for part in parts:
        if part.offset >= end:
            return
        yield part
        if part.offset + len(part.data) >= end:
            return
