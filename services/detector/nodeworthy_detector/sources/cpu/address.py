"""How many bits an address has: programs that put tags or hints into pointers depend on it."""

import re

from nodeworthy_detector.cpuinfo import Cpuinfo
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.cpu.hwcap import AT_RANDOM, Capabilities
from nodeworthy_detector.sources.kernel_options import read_options
from nodeworthy_detector.sources.reading import Answer, Faults, attributes, unknown

_X86_SIZES = re.compile(r"([0-9]{1,3}) bits physical, ([0-9]{1,3}) bits virtual")
_RISCV_MMU = re.compile(r"sv([0-9]{1,3})")

_FOUR_LEVELS = 48
_FIVE_LEVELS = 57
"""Bits of an x86-64 address under four and five levels of page tables."""

_ARM64_LARGEST = 48
"""What an arm64 program gets at most unless it asks mmap(2) for more: Linux, Documentation/arch/arm64/memory.rst."""


def read_address(
    host: Host, machine: str | None, info: Cpuinfo | None, capabilities: Capabilities, _faults: Faults
) -> Answer:
    """Set ``cpu.address``: ``virtual_bits``, those that programs may count on, and ``physical_bits`` of the processor."""
    virtual, physical = _widths(host, machine, info, capabilities)
    if virtual is None and physical is None:
        return unknown("nothing tells how many bits an address has")
    found = {"virtual_bits": virtual, "physical_bits": physical}
    return attributes({name: str(bits) if bits else None for name, bits in found.items()}, list(found))


def _widths(
    host: Host, machine: str | None, info: Cpuinfo | None, capabilities: Capabilities
) -> tuple[int | None, int | None]:
    if machine in {"aarch64", "aarch64_be"}:
        return _arm64_virtual_bits(host, capabilities), None
    if info is None:
        return None, None
    if mmu := _RISCV_MMU.fullmatch(info.only("mmu") or ""):
        return int(mmu[1]), None
    return x86_widths(info)


def x86_widths(info: Cpuinfo) -> tuple[int | None, int | None]:
    """Virtual and physical bits, out of ``address sizes : 52 bits physical, 57 bits virtual``.

    A processor with 57 bits says so also where the kernel uses four levels of page tables; then Linux hides ``la57``.
    """
    found = _X86_SIZES.fullmatch(info.only("address sizes") or "")
    if found is None:
        return None, None
    virtual = int(found[2])
    if virtual == _FIVE_LEVELS and "la57" not in (info.words("flags") or ()):
        virtual = _FOUR_LEVELS
    return virtual, int(found[1])


def _arm64_virtual_bits(host: Host, capabilities: Capabilities) -> int | None:
    """The kernel puts the stack at the top of a program's addresses, so an address in it has as many bits as there are."""
    stack = capabilities.auxv.get(AT_RANDOM)
    if stack:
        return stack.bit_length()
    bits = (read_options(host) or {}).get("ARM64_VA_BITS", "")
    return min(int(bits), _ARM64_LARGEST) if re.fullmatch(r"[0-9]{1,3}", bits) else None
