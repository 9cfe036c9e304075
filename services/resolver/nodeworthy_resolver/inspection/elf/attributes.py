r"""Build attributes of Arm and RISC-V files.

Addenda to, and Errata in, the ABI for the Arm Architecture ("Build Attributes"); RISC-V ELF psABI, "Attributes"::

    "A" | size 4 | vendor "aeabi\0" or "riscv\0" | 1 (Tag_File) | size 4 | tag ULEB128, value ...
"""

from nodeworthy_resolver.inspection.elf.content import Bytes, text_of
from nodeworthy_resolver.inspection.elf.records import Attributes

_FORMAT = 0x41
_FILE = 1
"""Tag_File: the attributes hold for the whole file."""

_RISCV_ARCH = 5
_ARM_TEXTS = frozenset({4, 5, 32, 65, 67})
"""Arm's tags whose value is a text although some are even or below 32: CPU_raw_name, CPU_name, compatibility (a number and
a text), also_compatible_with, conformance. Above 32, odd tags are texts."""
_COMPATIBILITY = 32
_CPU_ARCH, _PROFILE, _THUMB, _FP, _SIMD, _VFP_ARGS = 6, 7, 9, 10, 12, 28

_MAX_BYTES = 64 * 1024
"""Of the section; real ones have some 60."""


def parse_attributes(data: Bytes, part: memoryview) -> Attributes:
    """What the section .ARM.attributes or .riscv.attributes says of the whole file; nothing where it is broken."""
    raw = part[:_MAX_BYTES].tobytes()
    if not raw or raw[0] != _FORMAT:
        return Attributes()
    number = data.shape("I")
    position = 1
    while position + number.size < len(raw):
        (size,) = number.unpack_from(raw, position)
        vendor = text_of(raw, position + number.size)
        begin = position + number.size + len(vendor.encode("utf-8", "surrogateescape")) + 1
        if vendor in {"aeabi", "riscv"}:
            return _parse_vendor(raw[begin : position + size], number.size, data, is_arm=vendor == "aeabi")
        if size <= number.size:
            break
        position += size
    return Attributes()


def _parse_vendor(raw: bytes, number_size: int, data: Bytes, *, is_arm: bool) -> Attributes:
    position = 0
    while position + 1 + number_size <= len(raw):
        (size,) = data.shape("I").unpack_from(raw, position + 1)
        if raw[position] == _FILE:
            values = _parse_values(raw[position + 1 + number_size : position + size], is_arm=is_arm)
            return _arm(values) if is_arm else Attributes(riscv_arch=str(values.get(_RISCV_ARCH, "")))
        if size <= number_size:
            break
        position += size
    return Attributes()


def _parse_values(raw: bytes, *, is_arm: bool) -> dict[int, int | str]:
    values: dict[int, int | str] = {}
    position = 0
    while position < len(raw):
        tag, position = _number(raw, position)
        is_text = tag in _ARM_TEXTS or (tag > _COMPATIBILITY and tag % 2 == 1) if is_arm else tag % 2 == 1
        if is_arm and tag == _COMPATIBILITY:
            _, position = _number(raw, position)
        if is_text:
            end = raw.find(b"\0", position)
            if end < 0:
                break
            values[tag] = text_of(raw, position)
            position = end + 1
        else:
            values[tag], position = _number(raw, position)
    return values


def _number(raw: bytes, position: int) -> tuple[int, int]:
    """A ULEB128 number and where it ends; bounded by ten bytes, as 64 bits need."""
    value = shift = 0
    for byte in raw[position : position + 10]:
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            break
    return value, position


def _arm(values: dict[int, int | str]) -> Attributes:
    def number(tag: int) -> int | None:
        value = values.get(tag)
        return value if isinstance(value, int) else None

    profile = number(_PROFILE) or 0
    return Attributes(
        arm_arch=number(_CPU_ARCH),
        arm_profile=chr(profile) if profile in b"ARMS" else "",
        arm_thumb=number(_THUMB),
        arm_fp=number(_FP),
        arm_simd=number(_SIMD),
        arm_vfp_args=number(_VFP_ARGS),
    )
