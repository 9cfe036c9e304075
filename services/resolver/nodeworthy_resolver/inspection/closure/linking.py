"""What a program loads before its first instruction: DT_NEEDED at any depth, as glibc's and musl's loaders do it."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from nodeworthy_resolver.inspection.closure.loaders import Family, is_bound, is_injected, is_musl_own
from nodeworthy_resolver.inspection.closure.searching import Called, Loading, Search
from nodeworthy_resolver.inspection.elf import Elf
from nodeworthy_resolver.inspection.tree import NotKeptError, Tree, find_file

_MAX_OBJECTS = 2048
"""Of one program; desktop programs load some 300."""
_MAX_LOOKUPS = 100_000
"""Paths that are tried for one program; those of desktop programs are some thousands."""

_FLOAT_MASKS = {"arm": 0x600, "riscv64": 0x6, "riscv": 0x6}
"""Bits of e_flags that say how floats are passed: EF_ARM_ABI_FLOAT_SOFT and _HARD; EF_RISCV_FLOAT_ABI (psABIs)."""


class Missing(NamedTuple):
    """A needed library that was not found."""

    name: str
    by: str
    """The path of what needs it."""
    others: tuple[str, ...] = ()
    """Files of that name, of another machine or class, that the loader passes over."""
    is_configured: bool = False
    """Whether it is in a folder of ld.so.conf, and only the cache does not know it."""
    is_open: bool = False
    """Whether some runtimes take it from the node, or it is there for some CPUs."""


class Unusable(NamedTuple):
    """A file that a loader takes for the library and cannot load."""

    path: str
    by: str
    why: str


@dataclass
class Links:
    """What one program loads."""

    family: Family
    objects: dict[str, Loading] = field(default_factory=dict)
    """By canonical path: the program, the loader, then what is loaded, in order of loading."""
    names: dict[str, Loading] = field(default_factory=dict)
    """By the names under which they are known: a second need of one of them finds it without looking."""
    preloaded: set[str] = field(default_factory=set)
    missing: list[Missing] = field(default_factory=list)
    unusable: list[Unusable] = field(default_factory=list)
    injected: list[Missing] = field(default_factory=list)
    """Those that come from the node's driver."""
    not_kept: list[str] = field(default_factory=list)
    lookups: int = 0
    """Paths that were tried."""

    @property
    def is_cut(self) -> bool:
        """Whether a limit ended the search."""
        return self.lookups > _MAX_LOOKUPS or len(self.objects) > _MAX_OBJECTS

    @property
    def is_complete(self) -> bool:
        """Whether every object is known."""
        return not (self.missing or self.unusable or self.injected or self.not_kept or self.is_cut)

    def add(self, one: Loading, names: Iterable[str]) -> None:
        """One more object; of a file that is loaded already only the names are new."""
        known = self.objects.setdefault(one.path, one)
        for name in names:
            if name:
                self.names.setdefault(name, known)


def fits(elf: Elf, other: Elf) -> bool:
    """Whether a loader takes a library for a program: machine, class, byte order, and how floats are passed."""
    if (elf.machine, elf.bits, elf.order) != (other.machine, other.bits, other.order):
        return False
    mask = _FLOAT_MASKS.get(elf.architecture, 0)
    return not (elf.flags & mask and other.flags & mask) or elf.flags & mask == other.flags & mask


def link(tree: Tree, elves: Mapping[str, Elf], program: str, called: Called) -> Links:
    """What a program loads by a loader."""
    elf = elves[program]
    search = Search(tree, called, elf.architecture)
    links = Links(called.family)
    main = Loading(program, program, elf)
    own = Loading(called.loader, called.interpreter, elves[called.loader])
    links.add(main, ())
    known_as = (called.interpreter, called.interpreter.rpartition("/")[2], own.elf.soname)
    links.add(own, known_as if called.family is Family.GLIBC else ())
    waiting = deque([main])
    for name in _preloads(tree, called):
        found = _find(tree, elves, search, name, main, Links(called.family))
        if found is not None and found.path not in links.objects:
            links.preloaded.add(found.path)
            links.add(found, _names(called.family, name, found))
            waiting.append(found)
    while waiting and not links.is_cut:
        needing = waiting.popleft()
        for name in needing.elf.needed:
            if called.family is Family.MUSL and is_musl_own(name):
                links.add(own, (name,))
            if name in links.names or (found := _find(tree, elves, search, name, needing, links)) is None:
                continue
            if found.path not in links.objects:
                waiting.append(found)
            links.add(found, _names(called.family, name, found))
    return links


def _names(family: Family, name: str, found: Loading) -> tuple[str, ...]:
    """Musl knows a library by the name under which it was needed, glibc by its DT_SONAME too."""
    return (name,) if family is Family.MUSL else (name, found.elf.soname)


def _preloads(tree: Tree, called: Called) -> Iterator[str]:
    """LD_PRELOAD, then glibc's /etc/ld.so.preload. One that is not found is passed over by both loaders."""
    yield from called.environment.get("LD_PRELOAD", "").replace(":", " ").split()
    listed = find_file(tree, "/etc/ld.so.preload") if called.family is Family.GLIBC else None
    if listed:
        try:
            text = tree.read(listed, 0, 65536).decode("utf-8", "surrogateescape")
        except NotKeptError:
            return
        for line in text.splitlines():
            yield from line.partition("#")[0].replace(":", " ").split()


def _find(
    tree: Tree, elves: Mapping[str, Elf], search: Search, name: str, needing: Loading, links: Links
) -> Loading | None:
    """The library of a name; ``None``, and told in ``links``, where there is none."""
    others: list[str] = []
    for opened in search.paths(name, needing):
        links.lookups += 1
        if links.is_cut:
            return None
        path = find_file(tree, opened)
        if path is None:
            continue
        elf = elves.get(path)
        if elf is None:
            if _is_kept(tree, path):
                links.unusable.append(Unusable(path, needing.path, "it is no ELF file"))
            else:
                links.not_kept.append(path)
            return None
        if fits(elf, needing.elf):
            return Loading(path, opened, elf, needing)
        if search.family is Family.MUSL:
            # musl takes the first file of the name and does not compare machines.
            links.unusable.append(
                Unusable(path, needing.path, f"it is a library for {elf.architecture or elf.machine}")
            )
            return None
        others.append(path)
    if is_injected(name.rpartition("/")[2]):
        links.injected.append(Missing(name, needing.path))
        return None
    is_configured = any(find_file(tree, f"{folder}/{name}") for folder in search.configured)
    is_open = is_bound(name.rpartition("/")[2], search.architecture) or any(
        find_file(tree, path) for path in search.paths_of_some_cpus(tree, name, needing)
    )
    links.missing.append(Missing(name, needing.path, tuple(dict.fromkeys(others)), is_configured, is_open))
    return None


def _is_kept(tree: Tree, path: str) -> bool:
    try:
        tree.read(path, 0, 4)
    except NotKeptError:
        return False
    return True
