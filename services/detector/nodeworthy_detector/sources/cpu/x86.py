"""The facts of an x86 processor out of its CPUID answers."""

from nodeworthy_detector.sources.cpu.cpuid import CpuidTable, signature
from nodeworthy_detector.sources.cpu.knowledge import Flag, Knowledge, is_safe_from_tsa, is_slow_avx, legal
from nodeworthy_detector.sources.cpu.processor import Processor

_AVX_STATE = 0x06
"""XCR0: the kernel saves SSE and AVX registers."""

_AVX512_STATE = 0xE6
"""XCR0: and the mask and 512-bit registers."""

_SGX_SECTIONS = range(2, 10)
"""Subleaves of leaf 0x12 that NFD reads; each describes one section of protected memory."""

_PMU_COUNTERS = ("INSTRUCTIONS", "CYCLES", "REFCYCLES", "TOPDOWN_SLOTS")
"""Fixed counters 0 to 3."""

_BRAND = (0x8000_0002, 0x8000_0003, 0x8000_0004)
"""The leaves that spell the name of the model, 16 letters each."""

_OTHER_LEAVES = (
    (0x4, 0),
    (0xA, 0),
    (0xB, 0),
    (0xF, 0),
    (0xF, 1),
    (0x10, 0),
    *((0x12, section) for section in _SGX_SECTIONS),
    (0x16, 0),
    (0x21, 0),
    (0x24, 0),
    (0x4000_0000, 0),
    (0x4000_000C, 0),
    *((leaf, 0) for leaf in _BRAND),
    (0x8000_001E, 0),
)


def leaves(knowledge: Knowledge) -> list[tuple[int, int]]:
    """Every (leaf, subleaf) that :func:`decode` looks at."""
    of_flags = {(leaf, subleaf) for flag in knowledge.flags for leaf, subleaf, _, _ in flag.bits}
    return sorted({*of_flags, *_OTHER_LEAVES})


def decode(table: CpuidTable, knowledge: Knowledge) -> Processor:
    """Everything that CPUID tells."""
    vendor = knowledge.vendor(table.vendor())
    flags = _flags(table, knowledge, vendor)
    avx10 = table.registers(0x24).ebx & 0xFF if "AVX10" in flags else 0
    return Processor(
        flags=flags | knowledge.levels_of(flags),
        attributes={"AVX10_VERSION": str(avx10)} if avx10 else {},
        vendor=vendor,
        family=str(table.family()),
        model=str(table.model()),
        hypervisor=_hypervisor(table, knowledge) if "HYPERVISOR" in flags else "none",
        rdt=_rdt(table),
        sgx_epc=_sgx_epc(table) if "SGX" in flags else 0,
        nominal_mhz=table.registers(0x16).eax & 0xFFFF,
        maker=vendor,
        name=_brand(table),
        stepping=str(table.registers(1).eax & 0xF),
    )


def _brand(table: CpuidTable) -> str | None:
    """The model's name with single spaces, as Linux prints it."""
    letters = signature(*(word for leaf in _BRAND for word in table.registers(leaf)))
    return " ".join(letters.replace("\0", " ").split()) or None


def _flags(table: CpuidTable, knowledge: Knowledge, vendor: str | None) -> frozenset[str]:
    met = _states(table) | {f"vendor:{vendor}"}
    for flag in knowledge.flags:
        if met.issuperset(flag.needs) and _is_raised(table, flag):
            met.add(flag.name)
    flags = {name for name in met if ":" not in name}
    return frozenset(flags | _by_rule(table, flags, vendor) | _pmu_counters(table))


def _states(table: CpuidTable) -> set[str]:
    saved = table.has(1, 0, "ecx", 26) and table.has(1, 0, "ecx", 27)  # XSAVE and OSXSAVE
    states: set[str] = set()
    if saved and table.has(1, 0, "ecx", 28) and table.xcr0 & _AVX_STATE == _AVX_STATE:
        states.add("state:avx")
    if saved and table.xcr0 & _AVX512_STATE == _AVX512_STATE:
        states.add("state:avx512")
    return states


def _is_raised(table: CpuidTable, flag: Flag) -> bool:
    found = (table.has(*bit) for bit in flag.bits)
    return all(found) if flag.every else any(found)


def _by_rule(table: CpuidTable, flags: set[str], vendor: str | None) -> set[str]:
    """The flags that no single bit tells."""
    family, model = table.family(), table.model()
    found: set[str] = set()
    if "AVX" in flags and is_slow_avx(vendor, family, model):
        found.add("AVXSLOW")
    if vendor in {"Intel", "AMD"} and table.has(1, 0, "edx", 28) and _threads_per_core(table, vendor, family) > 1:
        found.add("HTT")
    if vendor == "AMD" and is_safe_from_tsa(family, model):
        found |= {"TSA_L1_NO", "TSA_SQ_NO"}
    if _is_tdx_guest(table):
        found.add("TDX_GUEST")
    return found


def _threads_per_core(table: CpuidTable, vendor: str, family: int) -> int:
    highest = table.highest(0)
    if highest < 4:  # noqa: PLR2004 # NFD asks for leaf 4, which tells the number of cores
        return 1
    threads = table.registers(0xB).ebx & 0xFFFF
    if threads:
        return threads
    if vendor == "AMD":
        # Leaf 0x8000001E came with family 0x17.
        return (table.registers(0x8000_001E).ebx >> 8 & 0xFF) + 1 if family >= 0x17 else 1  # noqa: PLR2004
    logical = table.registers(1).ebx >> 16 & 0xFF
    return logical // ((table.registers(4).eax >> 26) + 1) if highest < 0xB else 1  # noqa: PLR2004 # leaf 0xB


def _is_tdx_guest(table: CpuidTable) -> bool:
    found = table.registers(0x21)
    if signature(found.ebx, found.edx, found.ecx) == "IntelTDX    ":
        return True
    # Hyper-V hides leaf 0x21 and tells the kind of isolation in its own leaf: 0xBE3 is TDX.
    return table.highest(0) >= 0x20 and table.registers(0x4000_000C).ebx == 0xBE3  # noqa: PLR2004 # comment above


def _pmu_counters(table: CpuidTable) -> set[str]:
    """Fixed performance counters: EBX has a bit for each that is not there; without EBX their number counts."""
    found = table.registers(0xA)
    version = found.eax & 0xFF
    if not version:
        return set()
    if found.ebx:
        there = [name for bit, name in enumerate(_PMU_COUNTERS) if not found.ebx >> bit & 1]
    else:
        number = found.edx & 0x1F if version > 1 else 0
        there = list(_PMU_COUNTERS[:number]) if number in {3, 4} else []
    return {f"PMU_FIXEDCOUNTER_{name}" for name in there}


def _hypervisor(table: CpuidTable, knowledge: Knowledge) -> str:
    letters = table.hypervisor()
    known = knowledge.vendors.get(letters)
    return known.lower() if known else legal(letters) or "unknown"


def _rdt(table: CpuidTable) -> frozenset[str]:
    """Resource Director Technology: monitoring (leaf 0xF) and allocation (leaf 0x10)."""
    found: set[str] = set()
    if table.has(7, 0, "ebx", 12) and table.has(0xF, 0, "edx", 1):
        found.add("RDTMON")
        if table.has(0xF, 1, "edx", 0):
            found.add("RDTCMT")
        if table.has(0xF, 1, "edx", 1) and table.has(0xF, 1, "edx", 2):
            found.add("RDTMBM")
    if table.has(7, 0, "ebx", 15):
        found |= {
            name for bit, name in ((1, "RDTL3CA"), (2, "RDTL2CA"), (3, "RDTMBA")) if table.has(0x10, 0, "ebx", bit)
        }
    return frozenset(found)


def _sgx_epc(table: CpuidTable) -> int:
    total = 0
    for section in _SGX_SECTIONS:
        found = table.registers(0x12, section)
        kind = found.eax & 0xF
        if kind == 0:  # the end of the list
            break
        if kind == 1:
            total += (found.ecx & 0xFFFF_F000) | (found.edx & 0xF_FFFF) << 32
    return total
