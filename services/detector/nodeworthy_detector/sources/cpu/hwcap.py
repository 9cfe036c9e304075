"""The hardware capability words that Linux hands to every program, and the names of their bits.

A program reads them with getauxval(3): AT_HWCAP, AT_HWCAP2, AT_HWCAP3. On Arm and IBM Z, /proc/cpuinfo prints the same bits
as words, so the recording of another machine tells them too; on Power nothing but the auxiliary vector does.
"""

import struct
from collections.abc import Iterable, Mapping

import msgspec

from nodeworthy.features import FeatureSet
from nodeworthy_detector.cpuinfo import Cpuinfo
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.reading import Answer, Faults, unknown

_AT_HWCAPS = {"hwcap": 16, "hwcap2": 26, "hwcap3": 29}
"""Attribute, and its entry of the auxiliary vector: Linux, include/uapi/linux/auxvec.h."""

AT_RANDOM = 25
"""The entry that points to 16 random bytes at the top of the stack."""

_NO_NAME = "-"

_ARM64 = (
    (
        "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm jscvt fcma lrcpc dcpop "
        "sha3 sm3 sm4 asimddp sha512 sve asimdfhm dit uscat ilrcpc flagm ssbs sb paca pacg gcs cmpbr fprcvt f8mm8 "
        "f8mm4 svef16mm sveeltperm sveaes2 svebfscale sve2p2 sme2p2 smesbitperm smeaes smesfexpa smestmop "
        "smesmop4"
    ),
    (
        "dcpodp sve2 sveaes svepmull svebitperm svesha3 svesm4 flagm2 frint svei8mm svef32mm svef64mm svebf16 "
        "i8mm bf16 dgh rng bti mte ecv afp rpres mte3 sme smei16i64 smef64f64 smei8i32 smef16f32 "  # codespell:ignore sme
        "smeb16f32 "
        "smef32f32 smefa64 wfxt ebf16 sveebf16 cssc rprfm sve2p1 sme2 sme2p1 smei16i32 smebi32i32 smeb16b16 "
        "smef16f16 mops hbc sveb16b16 lrcpc3 lse128 fpmr lut faminmax f8cvt f8fma f8dp4 f8dp2 f8e4m3 f8e5m2 "
        "smelutv2 smef8f16 smef8f32 smesf8fma smesf8dp4 smesf8dp2 poe"
    ),
    "mtefar mtestoreonly lsfe ls64",
)
"""Linux, arch/arm64/include/uapi/asm/hwcap.h and kernel/cpuinfo.c."""

_ARM = (
    (
        "swp half thumb 26bit fastmul fpa vfp edsp java iwmmxt crunch thumbee neon vfpv3 vfpv3d16 tls vfpv4 idiva "
        "idivt vfpd32 lpae evtstrm fphp asimdhp asimddp asimdfhm asimdbf16 i8mm"
    ),
    "aes pmull sha1 sha2 crc32 sb ssbs",
)
"""Linux, arch/arm/include/uapi/asm/hwcap.h."""

_POWER = (
    (
        "ppcle true_le - - - - archpmu vsx arch_2_06 power6x dfp pa6t arch_2_05 ic_snoop smt booke cellbe power5+ "
        "power5 power4 notb efpdouble efpfloat spe ucache 4xxmac mmu fpu altivec ppc601 ppc64 ppc32"
    ),
    (
        "- - - - - - - - - - - - - - - - - mma arch_3_1 htm-no-suspend scv darn ieee128 arch_3_00 htm-nosc "
        "vcrypto tar isel ebb dscr htm arch_2_07"
    ),
)
"""Linux, arch/powerpc/include/uapi/asm/cputable.h; Linux prints no words, so they are NFD's in lower case."""

_S390 = (
    (
        "esan3 zarch stfle msa ldisp eimm dfp edat etf3eh highgprs te vx vxd vxe gs vxe2 vxp sort dflt vxp2 nnpa "
        "pcimio sie"  # codespell:ignore sie
    ),
)
"""Linux, arch/s390/kernel/processor.c."""

_X86 = (
    (
        "fpu vme de pse tsc msr pae mce cx8 apic - sep mtrr pge mca cmov pat pse36 pn clflush - dts acpi mmx fxsr "
        "sse sse2 ss ht tm ia64 pbe"
    ),
    "ring3mwait fsgsbase",
)
"""The first word is EDX of CPUID leaf 1; the second is Linux' own: arch/x86/include/uapi/asm/hwcap2.h."""

_WORDS = {
    "aarch64": _ARM64,
    "aarch64_be": _ARM64,
    "ppc64le": _POWER,
    "ppc64": _POWER,
    "ppc": _POWER,
    "s390x": _S390,
    "s390": _S390,
    "x86_64": _X86,
}
"""Machines, as ``uname -m`` has them, to the names of each word's bits from bit 0 on; 32-bit Arm is :data:`_ARM`."""

_ALIASES = {"fastmult": "fastmul"}
"""Words that /proc/cpuinfo spells in another way than the headers, and NFD."""

_FLAGS = {"4xxmac": "4xxMAC", "vfpv3": "VFPv3", "vfpv3d16": "VFPv3D16", "vfpv4": "VFPv4"}
"""NFD's names that are not simply the word in capitals."""

_CPUINFO_KEYS = ("Features", "features")
"""Arm writes it with a capital, IBM Z without."""


class Capabilities(msgspec.Struct, frozen=True):
    """What Linux lets programs use."""

    words: frozenset[str] | None = None
    """In Linux' own spelling; ``None`` if nothing tells them."""
    flags: frozenset[str] | None = None
    """NFD's names of the words that the table of the machine knows; those that NFD drops are named by the same rule."""
    auxv: Mapping[int, int] = {}
    """The auxiliary vector of this program; empty where the host is another machine."""


def bit_names(machine: str | None) -> tuple[tuple[str, ...], ...]:
    """The names of each word's bits, AT_HWCAP first; nothing for a machine that is not in the tables."""
    return tuple(tuple(word.split()) for word in _table(machine))


def _table(machine: str | None) -> tuple[str, ...]:
    name = machine or ""
    return _ARM if name.startswith("arm") else _WORDS.get(name, ())


def read_capabilities(host: Host, machine: str | None, info: Cpuinfo | None, faults: Faults) -> Capabilities:
    """The words of /proc/cpuinfo where it has them, else those of the auxiliary vector of this machine."""
    auxv = _read_auxv(host, faults) if host.is_this_machine else {}
    found = None if info is None or machine is None else _words_of_cpuinfo(info)
    if found is None and auxv and bit_names(machine):
        found = words_of_bits(auxv, machine)
    return Capabilities(found, None if found is None else flag_names(found, machine), auxv)


def flag_names(words: frozenset[str], machine: str | None) -> frozenset[str]:
    """NFD's names: the words in capitals, but for a few of old 32-bit Arm and Power processors."""
    known = {word for names in bit_names(machine) for word in names if word != _NO_NAME}
    return frozenset(_FLAGS.get(word, word.upper()) for word in words & known)


def _words_of_cpuinfo(info: Cpuinfo) -> frozenset[str] | None:
    for key in _CPUINFO_KEYS:
        words = info.words(key)
        if words is not None:
            return frozenset(_ALIASES.get(word, word) for word in words)
    return None


def words_of_bits(auxv: Mapping[int, int], machine: str | None) -> frozenset[str]:
    """The words for the bits that are set; bits without a name are passed over."""
    values = [auxv.get(entry, 0) for entry in _AT_HWCAPS.values()]
    return frozenset(
        word
        for value, names in zip(values, bit_names(machine), strict=False)
        for bit, word in enumerate(names)
        if value >> bit & 1 and word != _NO_NAME
    )


def _read_auxv(host: Host, faults: Faults) -> Mapping[int, int]:
    try:
        return parse_auxv(host.read_bytes("proc/self/auxv", 64 * 1024) or b"")
    except HostReadError as error:
        faults.add(error)
        return {}


def parse_auxv(data: bytes) -> dict[int, int]:
    """The entries of an auxiliary vector, proc_pid_auxv(5): pairs of machine words, type and value, up to the type 0."""
    size = struct.calcsize("@NN")
    entries: dict[int, int] = {}
    for kind, value in struct.iter_unpack("@NN", data[: len(data) // size * size]):
        if kind == 0:
            break
        entries[kind] = value
    return entries


def hwcap_set(capabilities: Capabilities, machine: str | None) -> Answer:
    """Set ``cpu.hwcap``: flags are Linux' words, attributes the numbers that getauxval(3) gives, in hexadecimal.

    The numbers are told by a running program only; elsewhere they are unobserved.
    """
    numbers = {name: hex(capabilities.auxv[entry]) for name, entry in _AT_HWCAPS.items() if entry in capabilities.auxv}
    words = capabilities.words
    if words is None and not numbers:
        return unknown("only a program that runs on the machine is told its hardware capabilities")
    unobserved = () if numbers else _possible_numbers(machine)
    return FeatureSet(flags=words, attributes=numbers, unobserved=frozenset(unobserved))


def _possible_numbers(machine: str | None) -> Iterable[str]:
    return list(_AT_HWCAPS)[: len(_table(machine))]
