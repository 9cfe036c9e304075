"""From an address of a crash to the place in the image's own file: by build id, path or name, and the mapping's size."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nodeworthy.diagnosis.cores import Core
from nodeworthy.diagnosis.kernel_log import Crash
from nodeworthy_resolver.inspection.elf import Elf
from nodeworthy_resolver.inspection.tree import NotKeptError, Tree

_PAGE = 4096
"""Mappings begin and end at pages; larger pages are multiples of it."""
_CODE_BYTES = 16
"""The longest instruction of x86 has 15 bytes."""
_MAX_CANDIDATES = 64
"""Files of one name that are compared."""


class Site(NamedTuple):
    """A place in a file of the image."""

    path: str
    offset: int
    machine: str
    """Go's name of the file's architecture."""
    code: bytes
    how: str
    """How the file was recognised: ``build id``, ``path``, ``name``."""


def find_core_site(tree: Tree, elves: Mapping[str, Elf], core: Core) -> Site | None:
    """The place in the image of a core file's program counter; ``None`` where no file of the image is the mapped one."""
    if core.offset is None:
        return None
    for how in ("build id", "path", "name"):
        for path, elf in elves.items():
            if _is_mapped(how, path, elf, core):
                return Site(path, core.offset, elf.architecture, _read(tree, path, core.offset), how)
    return None


def find_crash_site(tree: Tree, elves: Mapping[str, Elf], crash: Crash) -> Site | None:
    """The place in the image of a kernel line's address; of several files of the name the one whose bytes are the log's."""
    sites = list(_sites(tree, elves, crash))
    exact = [site for site in sites if crash.code and site.code[: len(crash.code)] == crash.code[:_CODE_BYTES]]
    # Files of one name that disagree at this place: nobody knows which one it was.
    if crash.code or len({site.code for site in sites}) == 1:
        return next(iter(exact if crash.code else sites), None)
    return None


def _is_mapped(how: str, path: str, elf: Elf, core: Core) -> bool:
    """Whether a file is the one that was mapped; build ids that differ say that it is not, whatever its name."""
    if core.build_id and elf.notes.build_id:
        return how == "build id" and elf.notes.build_id == core.build_id
    return path == core.file if how == "path" else how == "name" and _name(path) == _name(core.file)


def _sites(tree: Tree, elves: Mapping[str, Elf], crash: Crash) -> Iterator[Site]:
    named = [path for path in elves if _name(path) == crash.file]
    for path in named[:_MAX_CANDIDATES]:
        offset = crash.offset if crash.offset is not None else _offset_of(elves[path], crash)
        if offset is not None:
            yield Site(path, offset, elves[path].architecture, _read(tree, path, offset), "name")


def _offset_of(elf: Elf, crash: Crash) -> int | None:
    """The offset in the file of an address in ``file[base+size]``: the executable segment whose pages have that size.

    Kernels before 6.11 do not print where in the file the mapping begins; the loader maps a segment from the page of its
    offset on.
    """
    if crash.ip is None or crash.base is None or crash.size is None:
        return None
    begins = [
        segment.offset - segment.offset % _PAGE
        for segment in elf.segments
        if segment.kind == 1 and segment.is_executable and crash.size in _sizes(segment.offset, segment.file_size)
    ]
    return crash.ip - crash.base + begins[0] if len(begins) == 1 else None


def _sizes(offset: int, size: int) -> set[int]:
    """How large the mapping of a segment is, for each size of pages."""
    return {offset % page + size + (-(offset % page + size)) % page for page in (_PAGE, 4 * _PAGE, 16 * _PAGE)}


def _read(tree: Tree, path: str, offset: int) -> bytes:
    try:
        return tree.read(path, offset, _CODE_BYTES)
    except NotKeptError:
        return b""


def _name(path: str) -> str:
    return path.rpartition("/")[2]
