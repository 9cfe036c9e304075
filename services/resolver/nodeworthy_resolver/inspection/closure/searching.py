"""In which folders the loaders look for a needed library (glibc: elf/dl-load.c; musl: ldso/dynlink.c)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nodeworthy_resolver.inspection.closure.loaders import (
    Cache,
    Family,
    configured_folders,
    multiarch,
    musl_folders,
    prefix_of,
    read_cache,
    system_folders,
)
from nodeworthy_resolver.inspection.elf import Elf
from nodeworthy_resolver.inspection.tree import Tree, canonical, resolve

_NO_DEFAULT_FOLDERS = 0x800
"""DF_1_NODEFLIB: neither the cache nor the usual folders count (<elf.h>)."""
_FLAGS_1 = 0x6FFFFFFB

_UNAME = {"amd64": "x86_64", "386": "i686", "arm64": "aarch64", "arm": "v7l", "loong64": "loongarch64"}
"""What $PLATFORM stands for, where it is not Go's name."""


@dataclass(frozen=True)
class Loading:
    """One object that is loaded."""

    path: str
    """Canonical."""
    opened: str
    """The path by which the loader opened it: its folder is $ORIGIN."""
    elf: Elf
    by: "Loading | None" = None
    """What needed it."""

    def ancestors(self) -> Iterator["Loading"]:
        """The object itself, what needed it, and so on up to the program."""
        one: Loading | None = self
        while one is not None:
            yield one
            one = one.by


class Called(NamedTuple):
    """How a loader is called."""

    loader: str
    """Its canonical path."""
    interpreter: str
    """PT_INTERP, as written."""
    family: Family
    folder: str
    """The working folder."""
    environment: Mapping[str, str]


class Search:
    """The folders of one program's loader; what does not depend on the needing object is read once."""

    def __init__(self, tree: Tree, called: Called, architecture: str) -> None:
        self.family = called.family
        self.architecture = architecture
        self.folder = called.folder
        given = called.environment.get("LD_LIBRARY_PATH", "")
        self.given = tuple(canonical(part, self.folder) for part in re.split("[:;]", given)) if given else ()
        self.cache = Cache({}, {})
        if self.family is Family.MUSL:
            self.system = musl_folders(tree, called.interpreter, called.loader, architecture)
            self.configured: tuple[str, ...] = ()
        else:
            prefix = prefix_of(tree, called.loader)
            self.system = system_folders(tree, called.loader, architecture, prefix)
            self.cache = read_cache(tree, prefix) or self.cache
            self.configured = configured_folders(tree, f"{prefix}/etc/ld.so.conf")

    def paths(self, name: str, needing: Loading) -> Iterator[str]:
        """The paths at which the loader looks for a library, in its order."""
        if "/" in name:
            yield from self._expanded(name, needing)
            return
        for folder in self._folders_before(needing):
            yield f"{folder}/{name}"
        if not needing.elf.value(_FLAGS_1) & _NO_DEFAULT_FOLDERS or self.family is Family.MUSL:
            yield from self.cache.libraries.get(name, ())
            for folder in self.system:
                yield f"{folder}/{name}"

    def paths_of_some_cpus(self, tree: Tree, name: str, needing: Loading) -> Iterator[str]:
        """Where glibc looks before the usual places if the CPU is of a level: ``glibc-hwcaps/x86-64-v3`` (ld.so(8))."""
        for path in () if "/" in name or self.family is Family.MUSL else self.paths(name, needing):
            folder = f"{path.rpartition('/')[0]}/glibc-hwcaps"
            for level in tree.names(resolve(tree, folder) or folder):
                yield f"{folder}/{level}/{name}"
        yield from self.cache.of_some_cpus.get(name, ())

    def _folders_before(self, needing: Loading) -> Iterator[str]:
        if self.family is Family.MUSL:
            yield from self.given
            for one in needing.ancestors():
                # musl takes both tags alike, DT_RUNPATH before DT_RPATH.
                yield from self._listed(one.elf.runpath or one.elf.rpath, one)
            return
        if not needing.elf.runpath:
            for one in needing.ancestors():
                if not one.elf.runpath:
                    yield from self._listed(one.elf.rpath, one)
        yield from self.given
        yield from self._listed(needing.elf.runpath, needing)

    def _listed(self, text: str, owner: Loading) -> Iterator[str]:
        for part in text.split(":") if text else ():
            yield from self._expanded(part, owner)

    def _expanded(self, text: str, owner: Loading) -> Iterator[str]:
        """A path with its tokens put in (ld.so(8), "Dynamic string tokens"), seen from the working folder."""
        origin = owner.opened.rpartition("/")[0] or "/"
        libs: Sequence[str] = ("",)
        if "$LIB" in text or "${LIB}" in text:
            name = multiarch(self.architecture)
            libs = (f"lib/{name}", "lib64", "lib") if name else ("lib64", "lib")
        for lib in libs:
            path = text
            platform = _UNAME.get(self.architecture, self.architecture)
            for token, value in (("ORIGIN", origin), ("LIB", lib), ("PLATFORM", platform)):
                path = path.replace(f"${{{token}}}", value).replace(f"${token}", value)
            yield canonical(path, self.folder)
