"""Libraries of this machine, held against pyelftools, which shares no code with the reader."""

import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerDefSection, GNUVerNeedSection
from elftools.elf.sections import SymbolTableSection

from nodeworthy_resolver.inspection.elf import FileKind, read_dynamic_symbols, read_elf

_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/bin")
_MOST = 60
"""Files of each folder, spread over all sizes: pyelftools takes a second for the largest."""
_MAX_BYTES = 512 * 1024


def _files() -> Iterator[Path]:
    for folder in _FOLDERS:
        found = []
        for path in Path(folder).glob("*") if Path(folder).is_dir() else ():
            if path.is_file() and not path.is_symlink() and os.access(path, os.R_OK):
                size = path.stat().st_size
                with path.open("rb") as file:
                    if file.read(4) == b"\x7fELF" and size <= _MAX_BYTES:
                        found.append((size, path))
        step = -(-len(found) // _MOST) or 1
        yield from (path for _, path in sorted(found)[::step])


def _witness(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        elf = ELFFile(file)
        said: dict[str, Any] = {
            "bits": elf.elfclass,
            "entry": elf.header.e_entry,
            "segments": [(s.header.p_vaddr, s.header.p_offset, s.header.p_align) for s in elf.iter_segments("PT_LOAD")],
            "interpreter": next((_any(s).get_interp_name() for s in elf.iter_segments("PT_INTERP")), ""),
            "sections": [section.name for section in elf.iter_sections()][1:],
            "build_id": next(filter(None, map(_build_id, elf.iter_segments("PT_NOTE"))), ""),
        }
        for section in elf.iter_sections():
            said |= _section(section)
        return said


def _any(segment: Any) -> Any:
    """The kinds of segments have methods that their common type does not know."""
    return segment


def _build_id(segment: Any) -> str:
    return next((note.n_desc for note in segment.iter_notes() if note.n_type == "NT_GNU_BUILD_ID"), "")


def _section(section: Any) -> dict[str, Any]:
    if isinstance(section, DynamicSection):
        tags: list[Any] = list(section.iter_tags())
        needed = [tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED"]
        return {"needed": needed, "soname": next((tag.soname for tag in tags if tag.entry.d_tag == "DT_SONAME"), "")}
    if isinstance(section, GNUVerNeedSection):
        versions = ((need.name, one) for need, names in section.iter_versions() for one in names)
        return {"versions": [(name, one.name, bool(one.entry.vna_flags & 2)) for name, one in versions]}
    if isinstance(section, GNUVerDefSection):
        defined = (next(iter(names)).name for one, names in section.iter_versions() if not one.entry.vd_flags & 1)
        return {"defined": list(defined)}
    if isinstance(section, SymbolTableSection) and section.name == ".dynsym":
        return {"symbols": [(one.name, one.entry.st_value) for one in section.iter_symbols()]}
    return {}


def test_the_libraries_of_this_machine_read_as_pyelftools_reads_them() -> None:
    seen = 0
    for path in _files():
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            view = memoryview(mapped)
            elf = read_elf(view)
            assert elf is not None, path
            if elf.kind is FileKind.DEBUG:
                view.release()
                continue
            symbols = read_dynamic_symbols(view, elf)
            view.release()
        said = _witness(path)
        assert elf.faults == (), path
        assert elf.bits == said["bits"], path
        assert elf.entry == said["entry"], path
        assert [(one.address, one.offset, one.align) for one in elf.loads()] == said["segments"], path
        assert [one.name for one in elf.sections] == said["sections"], path
        assert elf.interpreter == said["interpreter"], path
        assert list(elf.needed) == said.get("needed", []), path
        assert elf.soname == said.get("soname", ""), path
        assert elf.notes.build_id == said["build_id"], path
        assert list(map(tuple, elf.needed_versions)) == said.get("versions", []), path
        assert list(elf.defined_versions) == said.get("defined", []), path
        assert [(one.name, one.address) for one in symbols] == said.get("symbols", []), path
        seen += 1
    if not seen:
        pytest.skip("this machine keeps its libraries elsewhere")
