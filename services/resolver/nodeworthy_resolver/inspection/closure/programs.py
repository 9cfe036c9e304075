"""What one program loads, with the faults of that: the loader, the libraries, their versions and symbols."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nodeworthy.requirements import Defect, Sureness, Unexplored
from nodeworthy_resolver.inspection.closure import faults
from nodeworthy_resolver.inspection.closure.binding import find_unbound
from nodeworthy_resolver.inspection.closure.linking import Links, fits, link
from nodeworthy_resolver.inspection.closure.loaders import Family, family_of
from nodeworthy_resolver.inspection.closure.records import Loaded, Role
from nodeworthy_resolver.inspection.closure.searching import Called
from nodeworthy_resolver.inspection.elf import Elf, FileKind
from nodeworthy_resolver.inspection.elf.versions import newest_of_kind
from nodeworthy_resolver.inspection.tree import NotKeptError, Tree, find_file


class Linked(NamedTuple):
    """What a program loads."""

    loaded: tuple[Loaded, ...] = ()
    defects: tuple[Defect, ...] = ()
    unexplored: tuple[Unexplored, ...] = ()


def load_program(
    tree: Tree, elves: Mapping[str, Elf], path: str, folder: str, environment: Mapping[str, str], sureness: Sureness
) -> Linked:
    """What an ELF program loads when it is executed in a working folder with an environment."""
    elf = elves[path]
    if elf.kind not in {FileKind.PROGRAM, FileKind.SHARED} or not elf.segments:
        return Linked(defects=(faults.no_program(path, "an ELF file, but no program", sureness),))
    if not elf.interpreter:
        return Linked()
    loader = find_file(tree, elf.interpreter, folder)
    if loader is None:
        return Linked(defects=(faults.loader_missing(path, elf, sureness),))
    entry = tree.entry(loader)
    if entry is not None and not entry.mode & 0o111:
        why = f"it may not be executed: its mode is {entry.mode:04o}"
        return Linked(defects=(faults.loader_unusable(path, loader, why, sureness),))
    own = elves.get(loader)
    if own is None:
        return _without_loader(tree, path, loader, sureness)
    if not fits(own, elf):
        why = f"it is for {faults.machine_of(own)}, the program for {faults.machine_of(elf)}"
        return Linked(defects=(faults.loader_unusable(path, loader, why, sureness),))
    by_loader = Loaded(loader, Role.LOADER, path, sureness)
    family = family_of(tree, loader, own)
    if family is Family.OTHER:
        return Linked((by_loader,), (), (Unexplored(f"what {path} loads", f"{loader} is neither glibc's nor musl's"),))
    links = link(tree, elves, path, Called(loader, elf.interpreter, family, folder, environment))
    return Linked(
        (by_loader, *_loaded(links, loader, sureness)),
        tuple(_defects(tree, elves, links, sureness)),
        tuple(_unexplored(links)),
    )


def _without_loader(tree: Tree, path: str, loader: str, sureness: Sureness) -> Linked:
    try:
        tree.read(loader, 0, 4)
    except NotKeptError as error:
        return Linked(unexplored=(Unexplored(loader, str(error)),))
    return Linked(defects=(faults.loader_unusable(path, loader, "it is no ELF file", sureness),))


def _loaded(links: Links, loader: str, sureness: Sureness) -> Iterator[Loaded]:
    for one in links.objects.values():
        if one.path != loader and one.by is not None:
            role = Role.PRELOADED if one.path in links.preloaded else Role.LIBRARY
            yield Loaded(one.path, role, one.by.path, sureness)


def _defects(tree: Tree, elves: Mapping[str, Elf], links: Links, sureness: Sureness) -> Iterator[Defect]:
    for missing in links.missing:
        yield faults.library_missing(missing, elves[missing.by], sureness)
    for unusable in links.unusable:
        yield faults.library_unusable(unusable, sureness)
    if links.family is Family.GLIBC:
        yield from _versions(links, sureness)
        return
    unbound = find_unbound(tree, links)
    if unbound:
        yield faults.symbol_missing(unbound[0].path, unbound[0].name, len(unbound), sureness)


def _versions(links: Links, sureness: Sureness) -> Iterator[Defect]:
    """Versions that are needed and not defined; of one library for one file, the newest is told.

    A library that defines no versions at all is taken for one that has them (glibc, ``match_symbol``: a warning).
    """
    for one in links.objects.values():
        absent: dict[str, list[str]] = {}
        for version in one.elf.needed_versions:
            library = links.names.get(version.library)
            if library is None or version.is_weak or not library.elf.defined_versions:
                continue
            if version.name not in library.elf.defined_versions:
                absent.setdefault(version.library, []).append(version.name)
        for needed, names in absent.items():
            library = links.names.get(needed)
            worst = next(version for version in one.elf.needed_versions if version.name == newest_of_kind(names))
            if library is not None:
                newest = newest_of_kind(library.elf.defined_versions, worst.name)
                yield faults.version_missing(one.path, worst._replace(library=needed), library.path, newest, sureness)


def _unexplored(links: Links) -> Iterator[Unexplored]:
    for injected in links.injected:
        yield Unexplored(
            f"{injected.name}, needed by {injected.by}",
            "it is no part of the image: the container runtime adds it from the node's driver",
        )
    if links.is_cut:
        yield Unexplored("what else is loaded", "more libraries or folders than are looked at")
    for path in links.not_kept:
        yield Unexplored(path, "its content was not kept, because a limit was reached")
