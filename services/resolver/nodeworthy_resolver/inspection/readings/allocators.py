"""Memory allocators that were built for one size of pages or one size of address spaces.

jemalloc has the exponent of its page compiled in (``--with-lg-page``) and compares it with the kernel's at its start
(src/pages.c, ``pages_boot``): where the kernel's is larger it says ``Unsupported system page size`` and fails; a smaller
one is fine. TCMalloc for arm64 counts on 48 bits of addresses (tcmalloc/internal/config.h).
"""

import re
from collections.abc import Iterator
from posixpath import basename

from nodeworthy.requirements import Effect, Evidence, Layer, Requirement, Sureness
from nodeworthy.requirements.conditions import has_value
from nodeworthy.rules import Operator
from nodeworthy_resolver.inspection.elf import Elf
from nodeworthy_resolver.inspection.readings.findings import Findings, reach, search
from nodeworthy_resolver.inspection.readings.page_of_jemalloc import find_page_size
from nodeworthy_resolver.inspection.subject import Outcome, Subject

_JEMALLOC = re.compile(rb"<jemalloc>: Unsupported system page size")
_TCMALLOC = re.compile(rb"MmapAligned\(\) failed")
_PAGE_SIZES = (4096, 8192, 16384, 65536)
"""Of Linux on the architectures of images."""
_LARGER_PAGES = frozenset({"arm64", "ppc64le", "loong64", "mips64le"})
"""Architectures whose kernels may have other pages than 4 KiB."""
_TCMALLOC_BITS = 48
_MAX_LIBRARY = 512 * 1024 * 1024


def read_allocators(subject: Subject) -> Outcome:
    """The allocators of programs and libraries that start, or are allocators by name."""
    findings = Findings()
    for path, elf in subject.elves.items():
        runs = reach(subject, path)
        is_named = basename(path).startswith(("libjemalloc", "libtcmalloc"))
        if elf.architecture not in _LARGER_PAGES or elf.size > _MAX_LIBRARY or not (runs or is_named):
            continue
        with findings.content(subject, path) as view:
            findings.requirements.extend(_jemalloc(path, elf, view, runs))
            if elf.architecture == "arm64":
                findings.requirements.extend(_tcmalloc(path, view, runs))
    return findings.outcome()


def _jemalloc(path: str, elf: Elf, view: memoryview, runs: Sureness | None) -> Iterator[Requirement]:
    found = search(_JEMALLOC, view, limit=1)
    if not found:
        return
    built = find_page_size(elf, view, found[0].offset)
    works = [size for size in _PAGE_SIZES if size <= (built or _PAGE_SIZES[0])]
    if built is not None and built >= _PAGE_SIZES[-1]:
        return
    limit = runs or Sureness.ADVISORY
    if built is None and limit is Sureness.CERTAIN:
        # Distributions build for 64 KiB, everybody else for what the builder had, which was most often 4.
        limit = Sureness.PROBABLE
    seen = f"built for pages of {built} bytes" if built else "the page it was built for cannot be read"
    yield Requirement(
        code="jemalloc-page-size",
        text=f"a kernel with pages of at most {works[-1]} bytes, for which jemalloc was built",
        layer=Layer.KERNEL_AND_LIBRARIES,
        effect=Effect.DOES_NOT_START,
        sureness=limit,
        match_features=(has_value("memory.page", "size", Operator.IN, *map(str, works)),),
        evidence=(Evidence(path, f"jemalloc, {seen}", found[0].offset, rule="jemalloc, src/pages.c"),),
        remedy="a build of jemalloc with --with-lg-page=16 (JEMALLOC_SYS_WITH_LG_PAGE=16), or a kernel with pages of 4 KiB",
    )


def _tcmalloc(path: str, view: memoryview, runs: Sureness | None) -> Iterator[Requirement]:
    found = search(_TCMALLOC, view, limit=1)
    if not found:
        return
    yield Requirement(
        code="tcmalloc-address-space",
        text=f"a kernel that gives programs {_TCMALLOC_BITS} bits of addresses, for which TCMalloc was built",
        layer=Layer.KERNEL_AND_LIBRARIES,
        effect=Effect.DOES_NOT_START,
        sureness=Sureness.PROBABLE if runs else Sureness.ADVISORY,
        # 52 counts as 48 in the facts, and a stack in the upper half shows 47 as the least that there is.
        match_features=(has_value("cpu.address", "virtual_bits", Operator.GE, "47"),),
        evidence=(Evidence(path, "MmapAligned() failed", found[0].offset, rule="tcmalloc/internal/config.h"),),
        remedy="a kernel with CONFIG_ARM64_VA_BITS=48",
    )
