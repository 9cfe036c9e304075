"""Spellings that no machine has, so that a rule quietly never matches: from lspci, /proc/cpuinfo, the kernel's options."""

import re
from typing import NamedTuple

from nodeworthy.rules.records import Expression, Operator


class Slip(NamedTuple):
    """What is wrong with a name or value of a condition, and what is probably meant."""

    message: str
    hint: str


_CPU_FLAGS = {
    "ABM": "LZCNT",
    "FMA": "FMA3",
    "LAHF_LM": "LAHF",
    "PCLMULQDQ": "CLMUL",
    "PNI": "SSE3",
    "SHA_NI": "SHA",
    "SSE4.1": "SSE4",
    "SSE4.2": "SSE42",
    "SSE41": "SSE4",
    "SSE4_1": "SSE4",
    "SSE4_2": "SSE42",
}
"""Words of /proc/cpuinfo and of processor manuals, in upper case, to the names of NFD's flags."""

_JOINED = re.compile(r"(?:AMX|AVX|AVX512)_[A-Z0-9_]+")
"""``avx512_vnni`` of /proc/cpuinfo: NFD's names have no underscore there (but ``AVX10_128``)."""

_FOUR_DIGITS = re.compile(r"[0-9a-f]{4}")
_TWO_DIGITS = re.compile(r"[0-9a-f]{2}")
_NUMBERS = {
    "pci.device": dict.fromkeys(("class", "vendor", "device", "subsystem_vendor", "subsystem_device"), _FOUR_DIGITS),
    "usb.device": {"class": _TWO_DIGITS, "vendor": _FOUR_DIGITS, "device": _FOUR_DIGITS},
}
"""Sets of devices to their attributes that are hexadecimal numbers, in the form that sysfs has after NFD's cut."""


def slip_in_name(feature: str, name: str) -> Slip | None:
    """What is wrong with an element's name in a set; names are told apart by case."""
    match feature.lower():
        case "cpu.cpuid":
            meant = _cpu_flag(name)
            return Slip("no processor has a flag of this name", f"did you mean {meant}?") if meant != name else None
        case "kernel.config" if name.startswith("CONFIG_"):
            said = "options of the kernel are named without CONFIG_"
            return Slip(said, f"write {name.removeprefix('CONFIG_')[:80]}")
        case "kernel.loadedmodule" | "kernel.enabledmodule" | "kernel.module" | "kernel.availablemodule" if re.search(
            r"\.ko(?:\.[gx]z|\.zst)?$", name
        ):
            return Slip("modules are named without .ko", f"write {name.rpartition('.ko')[0][:80]}")
    return None


def slips_in_values(feature: str, name: str, expression: Expression) -> list[Slip]:
    """What is wrong with the values that an attribute is compared with."""
    shape = _NUMBERS.get(feature.lower(), {}).get(name)
    if shape is None or expression.operator not in (Operator.IN, Operator.NOT_IN):
        return []
    return [_slip_in_number(value, shape) for value in expression.values if not shape.fullmatch(value)]


def _cpu_flag(name: str) -> str:
    written = name.upper() if name == name.lower() else name
    return _CPU_FLAGS.get(written) or (written.replace("_", "") if _JOINED.fullmatch(written) else written)


def _slip_in_number(value: str, shape: re.Pattern[str]) -> Slip:
    length = 4 if shape is _FOUR_DIGITS else 2
    said = f"{value[:80]!r} is no number of {length} hexadecimal digits in lower case, so no device has it"
    meant = value.lower().removeprefix("0x")
    # A class has six digits in sysfs, of which NFD keeps the first four.
    meant = meant[:length] if len(meant) == length + 2 else meant
    return Slip(said, f'did you mean "{meant}"?' if shape.fullmatch(meant) else "lspci -n and lsusb show them")
