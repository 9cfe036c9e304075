"""The size of a page: a program whose parts are not aligned to it does not start."""

import os

from nodeworthy_detector.architecture import read_architecture
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.kernel_options import read_options
from nodeworthy_detector.sources.reading import Answer, Faults, attributes, unknown

_ONLY_4K = ("x86_64", "i386", "i486", "i586", "i686", "s390", "s390x", "riscv", "arm")
"""Beginnings of machines whose kernels have pages of 4,096 bytes and no others."""

_OPTIONS = {
    "ARM64_4K_PAGES": 4096,
    "ARM64_16K_PAGES": 16_384,
    "ARM64_64K_PAGES": 65_536,
    "PPC_4K_PAGES": 4096,
    "PPC_16K_PAGES": 16_384,
    "PPC_64K_PAGES": 65_536,
    "PPC_256K_PAGES": 262_144,
    "PAGE_SIZE_4KB": 4096,
    "PAGE_SIZE_8KB": 8192,
    "PAGE_SIZE_16KB": 16_384,
    "PAGE_SIZE_64KB": 65_536,
}
"""Options of the kernel's configuration, of which one is set: Linux, arch/arm64, arch/powerpc and arch/Kconfig."""

_HUGE_PAGES = {2 * 1024**2: 4096, 32 * 1024**2: 16_384, 512 * 1024**2: 65_536}
"""The size of a transparent huge page on arm64 to the page's: one page of entries of eight bytes, a page each."""


def read_page(host: Host, faults: Faults) -> Answer:
    """Set ``memory.page``: ``size`` in bytes, as getpagesize(2) gives it to programs."""
    size = os.sysconf("SC_PAGE_SIZE") if host.is_this_machine else _read_size(host, faults)
    if size is None:
        return unknown("neither the architecture nor the kernel's configuration tells the size of a page")
    return attributes({"size": str(size)})


def _read_size(host: Host, faults: Faults) -> int | None:
    found = read_architecture(host)
    machine = found.machine if found else ""
    if machine.startswith(_ONLY_4K):
        return 4096
    if machine.startswith("aarch64"):
        size = _size_by_huge_page(host, faults)
        if size is not None:
            return size
    options = read_options(host) or {}
    return next((size for name, size in _OPTIONS.items() if options.get(name) == "y"), None)


def _size_by_huge_page(host: Host, faults: Faults) -> int | None:
    try:
        text = host.read_value("sys/kernel/mm/transparent_hugepage/hpage_pmd_size") or ""
    except HostReadError as error:
        faults.add(error)
        return None
    return _HUGE_PAGES.get(int(text)) if text.isascii() and text.isdigit() and len(text) < 12 else None  # noqa: PLR2004
