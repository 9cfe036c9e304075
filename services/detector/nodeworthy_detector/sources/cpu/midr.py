"""Who designed an Arm core and what it is called: register MIDR_EL1, as /proc/cpuinfo prints its fields.

Sources: the technical reference manuals of the cores; Linux, arch/arm64/include/asm/cputype.h; Arm ARM, MIDR_EL1.
"""

from collections.abc import Iterable

_NFD_VENDORS = {
    0x41: "ARM",
    0x42: "Broadcom",
    0x43: "Cavium",
    0x44: "DEC",
    0x46: "Fujitsu",
    0x49: "Infineon",
    0x4D: "Motorola",
    0x4E: "NVIDIA",
    0x50: "AMCC",
    0x51: "Qualcomm",
    0x56: "Marvell",
    0x69: "Intel",
    0xC0: "Ampere",
}
"""Implementers to NFD's names."""

_VENDORS = {
    **_NFD_VENDORS,
    0x48: "HiSilicon",
    0x53: "Samsung",
    0x61: "Apple",
    0x66: "Faraday",
    0x6D: "Microsoft",
    0x70: "Phytium",
}
"""And those that NFD has no name for."""

_PARTS = {
    0x41: {
        0xB76: "ARM1176",
        0xC05: "Cortex-A5",
        0xC07: "Cortex-A7",
        0xC08: "Cortex-A8",
        0xC09: "Cortex-A9",
        0xC0D: "Cortex-A12",
        0xC0E: "Cortex-A17",
        0xC0F: "Cortex-A15",
        0xD01: "Cortex-A32",
        0xD02: "Cortex-A34",
        0xD03: "Cortex-A53",
        0xD04: "Cortex-A35",
        0xD05: "Cortex-A55",
        0xD06: "Cortex-A65",
        0xD07: "Cortex-A57",
        0xD08: "Cortex-A72",
        0xD09: "Cortex-A73",
        0xD0A: "Cortex-A75",
        0xD0B: "Cortex-A76",
        0xD0C: "Neoverse-N1",
        0xD0D: "Cortex-A77",
        0xD0E: "Cortex-A76AE",
        0xD13: "Cortex-R52",
        0xD15: "Cortex-R82",
        0xD40: "Neoverse-V1",
        0xD41: "Cortex-A78",
        0xD42: "Cortex-A78AE",
        0xD43: "Cortex-A65AE",
        0xD44: "Cortex-X1",
        0xD46: "Cortex-A510",
        0xD47: "Cortex-A710",
        0xD48: "Cortex-X2",
        0xD49: "Neoverse-N2",
        0xD4A: "Neoverse-E1",
        0xD4B: "Cortex-A78C",
        0xD4C: "Cortex-X1C",
        0xD4D: "Cortex-A715",
        0xD4E: "Cortex-X3",
        0xD4F: "Neoverse-V2",
        0xD80: "Cortex-A520",
        0xD81: "Cortex-A720",
        0xD82: "Cortex-X4",
        0xD83: "Neoverse-V3AE",
        0xD84: "Neoverse-V3",
        0xD85: "Cortex-X925",
        0xD87: "Cortex-A725",
        0xD88: "Cortex-A520AE",
        0xD89: "Cortex-A720AE",
        0xD8A: "C1-Nano",
        0xD8B: "C1-Pro",
        0xD8C: "C1-Ultra",
        0xD8E: "Neoverse-N3",
        0xD90: "C1-Premium",
    },
    0x42: {0x100: "Brahma-B53", 0x516: "ThunderX2"},
    0x43: {
        0x0A1: "ThunderX-88XX",
        0x0A2: "ThunderX-81XX",
        0x0A3: "ThunderX-83XX",
        0x0AF: "ThunderX2-99XX",
        0x0B1: "OcteonTX2-98XX",
        0x0B2: "OcteonTX2-96XX",
        0x0B3: "OcteonTX2-95XX",
        0x0B8: "ThunderX3-T110",
    },
    0x46: {0x001: "A64FX", 0x003: "MONAKA"},
    0x48: {0xD01: "Kunpeng-920"},
    0x4E: {0x000: "Denver", 0x003: "Denver-2", 0x004: "Carmel", 0x010: "Olympus"},  # codespell:ignore carmel
    0x50: {0x000: "X-Gene"},
    0x51: {
        0x001: "Oryon-X1",
        0x802: "Kryo-3XX-Gold",
        0x803: "Kryo-3XX-Silver",
        0x804: "Kryo-4XX-Gold",
        0x805: "Kryo-4XX-Silver",
        0xC01: "Saphira",
    },
    0x61: {
        0x022: "Icestorm-M1",
        0x023: "Firestorm-M1",
        0x024: "Icestorm-M1-Pro",
        0x025: "Firestorm-M1-Pro",
        0x028: "Icestorm-M1-Max",
        0x029: "Firestorm-M1-Max",
        0x032: "Blizzard-M2",
        0x033: "Avalanche-M2",
    },
    0x6D: {0xD49: "Azure-Cobalt-100"},
    0x70: {0x660: "FTC660", 0x661: "FTC661", 0x662: "FTC662", 0x663: "FTC663", 0x664: "FTC664"},
    0xC0: {0xAC3: "Ampere-1", 0xAC4: "Ampere-1A", 0xAC5: "Ampere-1B"},
}
"""Implementer and part number to the core's name, its words joined so that the name is a legal label value."""

_WITH_AARCH32 = frozenset(
    {
        "Cortex-A32",
        "Cortex-A35",
        "Cortex-A53",
        "Cortex-A55",
        "Cortex-A57",
        "Cortex-A72",
        "Cortex-A73",
        "Cortex-A75",
        "Cortex-A76",
        "Cortex-A77",
        "Cortex-A78",
        "Cortex-A710",
        "Cortex-X1",
        "Neoverse-N1",
        "Neoverse-V1",
    }
)
_WITHOUT_AARCH32 = frozenset(
    {
        "A64FX",
        "Cortex-A34",
        "Cortex-A520",
        "Cortex-A715",
        "Cortex-A720",
        "Cortex-A725",
        "Cortex-X2",
        "Cortex-X3",
        "Cortex-X4",
        "Cortex-X925",
        "Kunpeng-920",
        "Neoverse-N3",
        "Neoverse-V2",
        "Neoverse-V3",
        "ThunderX-81XX",
        "ThunderX-83XX",
        "ThunderX-88XX",
    }
) | frozenset(_PARTS[0x61].values())
"""Cores whose reference manual says that programs may run 32-bit code, or that they may not; of others it is not known."""


def vendor_id(implementer: str | None) -> str | None:
    """NFD's vendor for the text of ``CPU implementer``; one that NFD does not know goes by its number."""
    number = _eight_bits(implementer)
    return None if number is None else _NFD_VENDORS.get(number, f"{number:#04x}")


def vendor_name(implementer: str | None) -> str | None:
    """The designer in a word, also of those that NFD does not know; one that nobody knows goes by its number."""
    number = _eight_bits(implementer)
    return None if number is None else _VENDORS.get(number, f"{number:#04x}")


def core_name(implementer: str | None, part: str | None) -> str | None:
    """The name of a core; a part that the table does not know goes by its number, as ``0xc00``."""
    number = hexadecimal(part)
    if number is None or not 0 <= number <= 0xFFF:  # noqa: PLR2004 # the field has twelve bits
        return None
    return _PARTS.get(_eight_bits(implementer) or 0, {}).get(number, f"{number:#05x}")


def runs_aarch32(cores: Iterable[str | None]) -> bool | None:
    """Whether cores of these names all run 32-bit programs; ``None`` if it is not known of one, and of none known not to."""
    names = set(cores)
    if names & _WITHOUT_AARCH32:
        return False
    return True if names and names <= _WITH_AARCH32 else None


def hexadecimal(text: str | None) -> int | None:
    """A number as Linux prints fields of this register, ``0xd0b`` or ``1``."""
    try:
        return int(text or "", 0)
    except ValueError:
        return None


def _eight_bits(implementer: str | None) -> int | None:
    number = hexadecimal(implementer)
    return number if number is not None and 0 <= number <= 0xFF else None  # noqa: PLR2004 # the field has eight bits
