"""The facts of Arm and IBM Z processors out of /proc/cpuinfo.

Linux prints the names of the hardware capabilities that it also gives to programs (AT_HWCAP), so this is what programs may
use. NFD's names are the same words in capitals; words that NFD does not know are not its flags.
Sources: Linux, arch/arm64/kernel/cpuinfo.c and arch/s390/kernel/processor.c; Arm ARM, register MIDR_EL1.
"""

import msgspec

from nodeworthy_detector.cpuinfo import Cpuinfo
from nodeworthy_detector.sources.cpu.knowledge import legal
from nodeworthy_detector.sources.cpu.processor import Processor

_ARM64_NAMES = (
    "FP ASIMD EVTSTRM AES PMULL SHA1 SHA2 CRC32 ATOMICS FPHP ASIMDHP CPUID ASIMDRDM JSCVT FCMA LRCPC DCPOP SHA3 SM3 "
    "SM4 ASIMDDP SHA512 SVE ASIMDFHM DIT USCAT ILRCPC FLAGM SSBS SB PACA PACG DCPODP SVE2 SVEAES SVEPMULL SVEBITPERM "
    "SVESHA3 SVESM4 FLAGM2 FRINT SVEI8MM SVEF32MM SVEF64MM SVEBF16 I8MM BF16 DGH RNG BTI MTE ECV AFP RPRES MTE3 "
    "SME SMEI16I64 SMEF64F64 SMEI8I32 SMEF16F32 SMEB16F32 SMEF32F32 SMEFA64 WFXT EBF16 SVEEBF16"  # codespell:ignore sme
)
"""HWCAP bits 0 to 31 and HWCAP2 bits 0 to 33: those that NFD knows."""

_S390X_NAMES = (
    "ESAN3 ZARCH STFLE MSA LDISP EIMM DFP EDAT ETF3EH HIGHGPRS TE VX VXD VXE GS VXE2 VXP SORT DFLT VXP2 NNPA PCIMIO "
    "SIE"  # codespell:ignore sie
)
"""HWCAP bits 0 to 22."""

_IMPLEMENTERS = {
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
"""MIDR_EL1, implementer, to NFD's names; an implementer that NFD does not know goes by its number."""

_ARCHITECTURE = 0xF
"""MIDR_EL1, architecture: always "see the ID registers" on 64-bit Arm; Linux prints 8 for it."""

NOT_X86 = Processor(rdt=frozenset(), sgx_epc=0)
"""What is known of every processor that is no x86 one."""


def decode_arm64(info: Cpuinfo) -> Processor:
    """What all processors have in common; on a machine of mixed cores there is no single model."""
    part, revision, variant = (_hexadecimal(info.only(f"CPU {key}")) for key in ("part", "revision", "variant"))
    return msgspec.structs.replace(
        NOT_X86,
        flags=_flags(info.words("Features"), _ARM64_NAMES),
        vendor=implementer(info.only("CPU implementer")),
        family=None if variant is None else str((variant & 0xF) << 4 | _ARCHITECTURE),
        model=None if part is None or revision is None else str((part & 0xFFF) << 4 | revision & 0xF),
    )


def implementer(code: str | None) -> str | None:
    """NFD's vendor for the text of ``CPU implementer``."""
    number = _hexadecimal(code)
    if number is None or not 0 <= number <= 0xFF:  # noqa: PLR2004 # the field has eight bits
        return None
    return _IMPLEMENTERS.get(number, f"{number:#04x}")


def decode_s390x(info: Cpuinfo, sysinfo: str | None) -> Processor:
    """The vendor and machine, with the hypervisor out of /proc/sysinfo.

    The text::

    vendor_id       : IBM/S390
    features        : esan3 zarch stfle
    processor 0: version = FF,  identification = 000123,  machine = 2817
    """
    lines = [value for block in info.blocks for key, value in block.items() if key.startswith("processor ")]
    entries = [dict(_assignments(line)) for line in lines]
    identifications = [entry["identification"] for entry in entries if entry.get("identification")]
    machines = [entry["machine"] for entry in entries if entry.get("machine")]
    return msgspec.structs.replace(
        NOT_X86,
        flags=_flags(info.words("features"), _S390X_NAMES),
        vendor=legal(info.only("vendor_id") or "") or None,
        family=legal(identifications[0]) or None if identifications else None,
        model=legal(machines[-1]) or None if machines else None,
        hypervisor=None if sysinfo is None else parse_control_program(sysinfo),
    )


def parse_control_program(sysinfo: str) -> str:
    """The hypervisor that /proc/sysinfo names in a line ``VM00 Control Program: z/VM    6.1.0``, else ``none``."""
    for line in sysinfo.splitlines():
        _, mark, name = line.partition("Control Program:")
        if mark:
            return legal(name) or "none"
    return "none"


def _flags(words: frozenset[str] | None, names: str) -> frozenset[str] | None:
    return None if words is None else frozenset(word.upper() for word in words).intersection(names.split())


def _assignments(line: str) -> list[tuple[str, str]]:
    parts = (part.partition("=") for part in line.split(","))
    return [(key.strip(), value.strip()) for key, equals, value in parts if equals]


def _hexadecimal(text: str | None) -> int | None:
    try:
        return int(text or "", 0)
    except ValueError:
        return None
