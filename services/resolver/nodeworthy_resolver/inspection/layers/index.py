"""What stands at each path after each layer: compact, since images with a million files exist.

A file is one number: what it says is packed into its bits. Links and folders are objects. Links on the way to an entry are
followed as engines do, with the image's root as ``/``.
"""

from collections.abc import Iterator
from typing import NamedTuple

from nodeworthy_resolver.inspection.tree import MAX_LINKS, Entry, Kind

MAX_DEPTH = 256
"""Folders in one another; a path of PATH_MAX (4096) bytes holds more, no image does."""
MAX_PARTS = 4096
"""Steps on the way to one path, those inside links counted; PATH_MAX again."""
MAX_REACHED = 10_000
"""Folders whose paths are remembered while members are read."""

START = 4
"""First bytes that are known of every file: enough to tell a magic."""

_MODE_BITS, _LAYER_BITS, _SIZE_BITS, _START_BITS = 12, 12, 48, 8 * START
_MODE, _LAYER, _SIZE = (1 << _MODE_BITS) - 1, (1 << _LAYER_BITS) - 1, (1 << _SIZE_BITS) - 1
MAX_SIZE = _SIZE


class Link(NamedTuple):
    """A symbolic link."""

    target: str
    layer: int


class Other(NamedTuple):
    """A device, FIFO or socket."""

    mode: int
    layer: int


class Folder:
    """A folder, with what is in it by name."""

    __slots__ = ("layer", "mode", "nodes")

    def __init__(self, mode: int, layer: int) -> None:
        self.mode = mode
        self.layer = layer
        """The last one that names it."""
        self.nodes: dict[str, Node] = {}


Node = Folder | Link | Other | int


class File(NamedTuple):
    """A file, unpacked."""

    mode: int
    layer: int
    size: int
    content: int
    """Its number in the content store, or a :class:`nodeworthy_resolver.inspection.layers.store.Lost`."""
    start: bytes = bytes(START)
    """Its first bytes, and zeros where it has fewer."""

    def pack(self) -> int:
        """The number that stands for it."""
        high = (self.content << _START_BITS | int.from_bytes(self.start)) << _SIZE_BITS | self.size
        return (high << _LAYER_BITS | self.layer) << _MODE_BITS | self.mode


def unpack(packed: int) -> File:
    """The file that a number stands for."""
    mode, packed = packed & _MODE, packed >> _MODE_BITS
    layer, packed = packed & _LAYER, packed >> _LAYER_BITS
    size, packed = packed & _SIZE, packed >> _SIZE_BITS
    start = (packed & (1 << _START_BITS) - 1).to_bytes(START)
    return File(mode, layer, size, packed >> _START_BITS, start)


def describe(node: Node) -> Entry:
    """A node as trees tell of it."""
    if isinstance(node, int):
        file = unpack(node)
        return Entry(Kind.FILE, file.mode, file.size)
    if isinstance(node, Folder):
        return Entry(Kind.FOLDER, node.mode)
    if isinstance(node, Link):
        return Entry(Kind.LINK, 0o777, 0, node.target)
    return Entry(Kind.OTHER, node.mode)


def layer_of(node: Node) -> int:
    """The layer that a node is from."""
    return node >> _MODE_BITS & _LAYER if isinstance(node, int) else node.layer


class Index:
    """All paths."""

    def __init__(self) -> None:
        self.root = Folder(0o755, 0)
        self.steps = 0
        """Steps that were made on the way to paths."""
        self.made = 0
        """Folders that no member names and others lie in. Whoever fills the index bounds both."""
        self._reached: dict[str, Folder] = {}
        """Folders by the paths that led to them, as members of an archive stand together; a link may be on the way."""

    def find(self, path: str) -> Node | None:
        """What stands at a canonical path."""
        node: Node = self.root
        for part in path.split("/"):
            if not part:
                continue
            if not isinstance(node, Folder) or (inner := node.nodes.get(part)) is None:
                return None
            node = inner
        return node

    def reach(self, path: str, layer: int | None = None) -> Folder | None:
        """The folder that a path of a member names, through links; with a ``layer``, it is made where nothing is.

        ``None`` where a part of the way is no folder, or the links lead round in a circle or too deep.
        """
        known = self._reached.get(path)
        if known is None:
            known = self._follow(path, layer)
            if known is not None:
                if len(self._reached) == MAX_REACHED:
                    self._reached.clear()
                self._reached[path] = known
        return known

    def _follow(self, path: str, layer: int | None) -> Folder | None:
        way = [self.root]
        left = _parts(path)
        links = 0
        for _ in range(MAX_PARTS):
            if not left:
                return way[-1]
            self.steps += 1
            part = left.pop()
            if part == "..":
                way = way[:-1] or way
                continue
            node = way[-1].nodes.get(part)
            if node is None and layer is not None:
                node = way[-1].nodes[part] = Folder(0o755, layer)
                self.made += 1
            if isinstance(node, Link):
                links += 1
                way = way[:1] if node.target.startswith("/") else way
                left += _parts(node.target)
            if isinstance(node, Folder):
                way.append(node)
            elif not isinstance(node, Link):
                return None
            if links > MAX_LINKS or len(way) > MAX_DEPTH:
                return None
        return None

    def put(self, folder: Folder, name: str, node: Node) -> None:
        """Put something in a folder, in the place of whatever is there; a folder over a folder keeps what is in it."""
        there = folder.nodes.get(name)
        if isinstance(there, Folder) and isinstance(node, Folder):
            there.mode, there.layer = node.mode, node.layer
            return
        if isinstance(there, Folder | Link):
            self._reached.clear()
        folder.nodes[name] = node

    def hide(self, folder: Folder, name: str, layer: int) -> None:
        """Remove what layers below ``layer`` have under a name (layer.md, "Whiteouts")."""
        node = folder.nodes.get(name)
        if node is None:
            return
        self._reached.clear()
        if not _prune(node, layer):
            del folder.nodes[name]

    def empty(self, folder: Folder, layer: int) -> None:
        """Remove all that layers below ``layer`` have in a folder (layer.md, "Opaque Whiteout")."""
        self._reached.clear()
        folder.nodes = {name: node for name, node in folder.nodes.items() if _prune(node, layer)}

    def walk(self) -> Iterator[tuple[str, Node]]:
        """Every path but the root, sorted by name in each folder, a folder before what is in it."""
        left = [("", self.root.nodes, iter(sorted(self.root.nodes)))]
        while left:
            path, nodes, names = left[-1]
            name = next(names, None)
            if name is None:
                left.pop()
                continue
            node = nodes[name]
            yield f"{path}/{name}", node
            if isinstance(node, Folder):
                left.append((f"{path}/{name}", node.nodes, iter(sorted(node.nodes))))


def _parts(path: str) -> list[str]:
    return [part for part in reversed(path.split("/")) if part not in {"", "."}]


def _prune(node: Node, layer: int) -> bool:
    """Remove what is not of a layer; whether anything is left. No deeper than :data:`MAX_DEPTH`."""
    if not isinstance(node, Folder):
        return layer_of(node) == layer
    node.nodes = {name: inner for name, inner in node.nodes.items() if _prune(inner, layer)}
    return node.layer == layer or bool(node.nodes)
