"""The facts of Arm, IBM Power and IBM Z processors out of /proc/cpuinfo.

Flags are the hardware capabilities that Linux gives to programs (``hwcap``), so this is what programs may use.
Sources: Linux, arch/arm64/kernel/cpuinfo.c, arch/powerpc/kernel/setup-common.c and arch/s390/kernel/processor.c; Arm ARM,
register MIDR_EL1.
"""

import re

import msgspec

from nodeworthy_detector.cpuinfo import Cpuinfo
from nodeworthy_detector.sources.cpu import arm_levels, midr
from nodeworthy_detector.sources.cpu.hwcap import Capabilities
from nodeworthy_detector.sources.cpu.knowledge import legal
from nodeworthy_detector.sources.cpu.processor import Processor

_ARCHITECTURE = 0xF
"""MIDR_EL1, architecture: always "see the ID registers" on 64-bit Arm; Linux prints 8 for it."""

_S390_NAMES = {
    "2064": "z900",
    "2066": "z800",
    "2084": "z990",
    "2086": "z890",
    "2094": "z9-EC",
    "2096": "z9-BC",
    "2097": "z10-EC",
    "2098": "z10-BC",
    "2817": "z196",
    "2818": "z114",
    "2827": "zEC12",
    "2828": "zBC12",
    "2964": "z13",
    "2965": "z13s",
    "3906": "z14",
    "3907": "z14-ZR1",
    "3931": "z16",
    "3932": "z16-A02",
    "9175": "z17",
}
"""Machine types to IBM's names for them; Linux, arch/s390/kernel/processor.c, knows the families."""

_POWER_NAME = re.compile(r"POWER[0-9]+[A-Za-z]*")
_POWER_REVISION = re.compile(r"[0-9]+\.[0-9]+")

NOT_X86 = Processor(rdt=frozenset(), sgx_epc=0)
"""What is known of every processor that is no x86 one."""


def decode_arm64(info: Cpuinfo, capabilities: Capabilities) -> Processor:
    """What all processors have in common; on a machine of mixed cores there is no single model, and no name."""
    implementer, part = info.only("CPU implementer"), info.only("CPU part")
    variant, revision = (midr.hexadecimal(info.only(f"CPU {key}")) for key in ("variant", "revision"))
    number = midr.hexadecimal(part)
    found = decode_arm(info, capabilities)
    levels = arm_levels.levels_of(capabilities.words or frozenset())
    return msgspec.structs.replace(
        found,
        flags=None if found.flags is None else found.flags | levels.reached,
        unobserved=frozenset() if found.flags is None else levels.untold,
        vendor=midr.vendor_id(implementer),
        family=None if variant is None else str((variant & 0xF) << 4 | _ARCHITECTURE),
        model=None if number is None or revision is None else str((number & 0xFFF) << 4 | revision & 0xF),
    )


def decode_arm(info: Cpuinfo, capabilities: Capabilities) -> Processor:
    """The same without what needs 64-bit code: NFD reads no model of 32-bit Arm processors."""
    implementer = info.only("CPU implementer")
    name = midr.core_name(implementer, info.only("CPU part"))
    variant, revision = (midr.hexadecimal(info.only(f"CPU {key}")) for key in ("variant", "revision"))
    is_told = name is not None and variant is not None and revision is not None
    return msgspec.structs.replace(
        NOT_X86,
        flags=capabilities.flags,
        maker=midr.vendor_name(implementer),
        name=name,
        # How Arm writes it: major and minor revision, as r4p1.
        stepping=f"r{(variant or 0) & 0xF}p{(revision or 0) & 0xF}" if is_told else None,
    )


def decode_power(info: Cpuinfo, capabilities: Capabilities) -> Processor:
    """The name and revision of an IBM processor; its flags are told to programs only.

    The text::

        cpu             : POWER9 (architected), altivec supported
        revision        : 2.2 (pvr 004e 1202)
    """
    name, revision = _POWER_NAME.match(info.only("cpu") or ""), _POWER_REVISION.match(info.only("revision") or "")
    return msgspec.structs.replace(
        NOT_X86,
        flags=capabilities.flags,
        maker="IBM" if name else None,
        name=name[0] if name else None,
        stepping=revision[0] if name and revision else None,
    )


def decode_s390x(info: Cpuinfo, capabilities: Capabilities, sysinfo: str | None) -> Processor:
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
    vendor = legal(info.only("vendor_id") or "") or None
    return msgspec.structs.replace(
        NOT_X86,
        flags=capabilities.flags,
        vendor=vendor,
        family=legal(identifications[0]) or None if identifications else None,
        model=legal(machines[-1]) or None if machines else None,
        hypervisor=None if sysinfo is None else parse_control_program(sysinfo),
        maker="IBM" if vendor == "IBM_S390" else vendor,
        name=_S390_NAMES.get(machines[-1]) if machines else None,
    )


def parse_control_program(sysinfo: str) -> str:
    """The hypervisor that /proc/sysinfo names in a line ``VM00 Control Program: z/VM    6.1.0``, else ``none``."""
    for line in sysinfo.splitlines():
        _, mark, name = line.partition("Control Program:")
        if mark:
            return legal(name) or "none"
    return "none"


def _assignments(line: str) -> list[tuple[str, str]]:
    parts = (part.partition("=") for part in line.split(","))
    return [(key.strip(), value.strip()) for key, equals, value in parts if equals]
