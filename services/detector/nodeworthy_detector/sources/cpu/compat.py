"""Which 32-bit programs and virtual machines run: the processor must be able to, and the kernel must let them."""

import errno
import os
from collections.abc import Callable, Mapping

from nodeworthy_detector.cpuinfo import Cpuinfo
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.cpu import midr
from nodeworthy_detector.sources.kernel_options import read_options
from nodeworthy_detector.sources.reading import Answer, Faults, attributes, unknown

_X86_32 = frozenset({"i386", "i486", "i586", "i686"})

_PER_LINUX32 = 0x0008
_QUERY = 0xFFFF_FFFF
"""personality(2): the 32-bit one, and the number that changes nothing."""

Personality = Callable[[int], int]
"""The system call: it gives the old personality, or the negative number of an error."""

_MAX_CMDLINE_BYTES = 64 * 1024


def read_execution(
    host: Host, machine: str | None, info: Cpuinfo | None, flags: frozenset[str] | None, faults: Faults
) -> Answer:
    """Set ``cpu.execution``: what may be run beside the machine's own programs, each ``true``, ``false`` or unobserved.

    ``ia32`` on x86 and ``aarch32`` on Arm: 32-bit programs. ``kvm.capable``: the processor can run virtual machines;
    ``kvm.usable``: the device ``/dev/kvm`` is there.
    """
    if machine is None:
        return unknown("the architecture is not known")
    has_kvm = has_device(host, "kvm", faults)
    # Some hypervisors offer the device to guests whose processor does not say that it could.
    runs: dict[str, bool | None] = {"kvm.capable": has_kvm or _has_virtualization(flags), "kvm.usable": has_kvm}
    if machine == "x86_64" or machine in _X86_32:
        runs["ia32"] = machine in _X86_32 or _runs_ia32(host, faults)
    elif machine.startswith(("aarch64", "arm")):
        runs["aarch32"] = machine.startswith("arm") or _runs_aarch32(host, info, faults)
    if all(is_so is None for is_so in runs.values()):
        return unknown(
            "neither flags, devices nor the kernel's settings tell what runs beside the machine's own programs"
        )
    values = {name: None if is_so is None else "true" if is_so else "false" for name, is_so in runs.items()}
    return attributes(values, list(values))


def _has_virtualization(flags: frozenset[str] | None) -> bool | None:
    """By the flags of x86 and of IBM Z; on other processors none tells it."""
    if flags is None or not flags & {"X87", "ESAN3"}:
        return None
    return bool(flags & {"VMX", "SVM", "SIE"})  # codespell:ignore sie


def has_device(host: Host, name: str, faults: Faults) -> bool | None:
    """Whether a device node is there; ``None`` if the folder of devices is not."""
    try:
        return host.exists(f"dev/{name}") if host.is_folder("dev") else None
    except HostReadError as error:
        faults.add(error)
        return None


def _runs_ia32(host: Host, faults: Faults) -> bool | None:
    """Built in, and not switched off by the boot option ``ia32_emulation`` (since Linux 6.7)."""
    has_sysctl = _has_sysctl(host, "abi", "vsyscall32", faults)
    options = _all_options(host)
    if has_sysctl is False:
        # Built in by the one and not by the other: one of the two is not this kernel's.
        return None if options is not None and options.get("IA32_EMULATION") == "y" else False
    if has_sysctl is None and (options is None or options.get("IA32_EMULATION") != "y"):
        return None if options is None else False
    try:
        arguments = host.read_text("proc/cmdline", _MAX_CMDLINE_BYTES)
    except HostReadError as error:
        faults.add(error)
        return None
    asked = None if arguments is None else parse_ia32_option(arguments)
    if asked is not None or arguments is None or options is None:
        return asked
    return options.get("IA32_EMULATION_DEFAULT_DISABLED") != "y"


def _all_options(host: Host) -> Mapping[str, str] | None:
    """The kernel's configuration if it is a whole one: every 64-bit kernel has ``64BIT``, a recording may leave most out."""
    options = read_options(host)
    return options if options is not None and options.get("64BIT") == "y" else None


def parse_ia32_option(arguments: str) -> bool | None:
    """What the kernel's command line says, ``ia32_emulation=off``; the last counts, other values say nothing.

    The words are those of Linux, kstrtobool: what begins with y, 1, on, t or with n, 0, of, f.
    """
    found: bool | None = None
    for word in arguments.split():
        name, equals, value = word.partition("=")
        if name == "ia32_emulation" and equals:
            value = value.lower()
            if value.startswith(("y", "1", "t", "on")):
                found = True
            elif value.startswith(("n", "0", "f", "of")):
                found = False
    return found


def _runs_aarch32(host: Host, info: Cpuinfo | None, faults: Faults) -> bool | None:
    if host.is_this_machine and os.uname().machine.startswith("aarch64"):
        runs = takes_linux32(_personality())
        if runs is not None:
            return runs
    has_compat = _has_sysctl(host, "vm", "mmap_rnd_compat_bits", faults)
    if has_compat is None:
        options = _all_options(host)
        has_compat = None if options is None else options.get("COMPAT") == "y"
    if has_compat is False:
        return False
    runs = _cores_run_aarch32(host, info, faults)
    return runs if has_compat or runs is False else None


def takes_linux32(personality: Personality) -> bool | None:
    """Whether this kernel lets a program be a 32-bit one; ``None`` if it may not be asked.

    On arm64 the call fails with EINVAL where some processor cannot run 32-bit programs: Linux, arch/arm64/kernel/sys.c.
    """
    before = personality(_QUERY)
    if before < 0:
        return None
    answer = personality(_PER_LINUX32)
    if answer < 0:
        return False if answer == -errno.EINVAL else None
    personality(before)
    return True


def _personality() -> Personality:
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)

    def call(wanted: int) -> int:
        answer = library.personality(ctypes.c_ulong(wanted))
        return -ctypes.get_errno() if answer < 0 else int(answer)

    return call


def _cores_run_aarch32(host: Host, info: Cpuinfo | None, faults: Faults) -> bool | None:
    """By ``aarch32_el0``, which lists the processors that can on a machine where not all can; else by the cores' names."""
    try:
        listed = host.read_value("sys/devices/system/cpu/aarch32_el0")
    except HostReadError as error:
        faults.add(error)
        return None
    if listed is not None:
        return bool(listed)
    blocks = () if info is None else info.blocks
    cores = [midr.core_name(block.get("CPU implementer"), block.get("CPU part")) for block in blocks]
    return midr.runs_aarch32(core for core, block in zip(cores, blocks, strict=True) if "CPU part" in block)


_ON_EVERY_LINUX = ("proc/sys/vm/overcommit_memory", "proc/sys/fs/file-max", "proc/sys/kernel/pid_max")
"""Settings that show that a tree holds all of them: of a part of one, what is missing says nothing."""


def _has_sysctl(host: Host, folder: str, name: str, faults: Faults) -> bool | None:
    """Whether the kernel has a setting, which it has only if it was built with what is set; ``None`` if it is not known."""
    try:
        if host.exists(f"proc/sys/{folder}/{name}"):
            return True
        return False if all(map(host.exists, _ON_EVERY_LINUX)) else None
    except HostReadError as error:
        faults.add(error)
        return None
