"""The source ``cpu``: what the processors can do."""

import msgspec

from nodeworthy.features import FeatureSet
from nodeworthy_detector.architecture import read_architecture
from nodeworthy_detector.cpuinfo import Cpuinfo, read_cpuinfo
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.cpu import (
    address,
    compat,
    knowledge,
    other_cpuinfo,
    power,
    security,
    topology,
    x86,
    x86_cpuinfo,
)
from nodeworthy_detector.sources.cpu.hwcap import Capabilities, hwcap_set, read_capabilities
from nodeworthy_detector.sources.cpu.processor import Processor
from nodeworthy_detector.sources.reading import Answer, Faults, Reading, attributes, read_sets, unknown


class CpuSource(msgspec.Struct, frozen=True):
    """Flags, model, topology, power and security of the processors, and what programs they run.

    On x86 machines CPUID is asked where it can be, else /proc/cpuinfo tells about half of NFD's flags; those of the others
    that stand for "not known" rather than "no" are the unobserved names of ``cpu.cpuid``.
    """

    name: str = "cpu"
    sets: tuple[str, ...] = (
        "cpu.address",
        "cpu.coprocessor",
        "cpu.cpuid",
        "cpu.cstate",
        "cpu.execution",
        "cpu.group",
        "cpu.hwcap",
        "cpu.model",
        "cpu.pstate",
        "cpu.rdt",
        "cpu.security",
        "cpu.sst",
        "cpu.topology",
    )

    def read(self, host: Host) -> Reading:
        """Ask the processor, then everything about it that Linux tells in files."""
        early = Faults()
        info = _read_info(host, early)
        machine = _read_machine(host)
        capabilities = read_capabilities(host, machine, info, early)
        processor = _read_processor(host, machine, info, capabilities, early)
        found = read_sets(
            host,
            {
                "cpu.address": lambda host, faults: address.read_address(host, machine, info, capabilities, faults),
                "cpu.coprocessor": read_coprocessor,
                "cpu.cpuid": lambda _host, faults: cpuid_set(processor, faults),
                "cpu.cstate": power.read_cstate,
                "cpu.execution": lambda host, faults: compat.read_execution(
                    host, machine, info, processor.flags, faults
                ),
                "cpu.group": lambda host, faults: topology.read_groups(host, info, faults),
                "cpu.hwcap": lambda _host, _faults: hwcap_set(capabilities, machine),
                "cpu.model": lambda _host, faults: model_set(processor, faults),
                "cpu.pstate": power.read_pstate,
                "cpu.rdt": lambda host, faults: security.read_rdt(host, processor, faults),
                "cpu.security": lambda host, faults: security.read_security(host, processor, faults),
                "cpu.sst": lambda host, faults: power.read_sst(host, processor, faults),
                "cpu.topology": topology.read_topology,
            },
        )
        return Reading(found.sets, (*early.listed(), *found.faults))


def _read_info(host: Host, faults: Faults) -> Cpuinfo | None:
    try:
        return read_cpuinfo(host)
    except HostReadError as error:
        faults.add(error)
        return None


def _read_machine(host: Host) -> str | None:
    found = read_architecture(host)
    return found.machine if found else None


def _read_processor(
    host: Host, machine: str | None, info: Cpuinfo | None, capabilities: Capabilities, faults: Faults
) -> Processor:
    if machine is None:
        return Processor()
    if machine in {"x86_64", "i386", "i486", "i586", "i686"}:
        return _read_x86(host, info, faults)
    blocks = info or Cpuinfo(())
    if machine in {"aarch64", "aarch64_be"}:
        return other_cpuinfo.decode_arm64(blocks, capabilities)
    if machine.startswith("arm"):
        return other_cpuinfo.decode_arm(blocks, capabilities)
    if machine.startswith("ppc"):
        return other_cpuinfo.decode_power(blocks, capabilities)
    if machine in {"s390", "s390x"}:
        return other_cpuinfo.decode_s390x(blocks, capabilities, _read_sysinfo(host, faults))
    return other_cpuinfo.NOT_X86


def _read_x86(host: Host, info: Cpuinfo | None, faults: Faults) -> Processor:
    known = knowledge.load()
    if host.is_this_machine:
        from nodeworthy_detector.sources.cpu import execution

        try:
            found = x86.decode(execution.read_cpuid(x86.leaves(known)), known)
        except execution.CpuidUnavailableError as error:
            faults.add(error)
        else:
            return _of_all_processors(found, info, known)
    return Processor() if info is None else x86_cpuinfo.decode_cpuinfo(info, known)


def _of_all_processors(found: Processor, info: Cpuinfo | None, known: knowledge.Knowledge) -> Processor:
    """CPUID answers for one processor of the machine; what another lacks is not a fact of the machine."""
    if info is None:
        return found
    found = msgspec.structs.replace(
        found,
        name=x86_cpuinfo.model_name(info),
        stepping=info.only("stepping"),
        microcode=info.only("microcode"),
    )
    if found.flags is None or not info.uneven_words("flags"):
        return found
    return msgspec.structs.replace(found, flags=x86_cpuinfo.drop_uneven(found.flags, info, known))


def _read_sysinfo(host: Host, faults: Faults) -> str | None:
    try:
        return host.read_text("proc/sysinfo")
    except HostReadError as error:
        faults.add(error)
        return None


def cpuid_set(processor: Processor, faults: Faults) -> Answer:
    """NFD's ``cpu.cpuid``: the flags, and on x86 attributes beside them."""
    if processor.flags is None:
        return unknown("neither the processor nor proc/cpuinfo tells its flags")
    if processor.unobserved:
        faults.add(
            f"cpu.cpuid: read from proc/cpuinfo, which does not tell {len(processor.unobserved)} of the flags; "
            "they are listed as unobserved"
        )
    return FeatureSet(flags=processor.flags, attributes=processor.attributes, unobserved=processor.unobserved)


def model_set(processor: Processor, faults: Faults) -> Answer:
    """NFD's ``cpu.model``, and beside it ``vendor``, ``name``, ``stepping`` and ``microcode``.

    What is not known is left out, where NFD writes ``VendorUnknown`` and ``0``.


    A hypervisor that is not told is unobserved: its name, or ``none``, is there on every machine. Other values may be left
    out because the processors of a machine have no common one.
    """
    values = {
        "vendor_id": processor.vendor,
        "family": processor.family,
        "id": processor.model,
        "hypervisor": processor.hypervisor,
        "vendor": processor.maker,
        "name": processor.name,
        "stepping": processor.stepping,
        "microcode": processor.microcode,
    }
    if not any(values.values()):
        return unknown("nothing tells vendor, family and model of the processor")
    if processor.hypervisor is None and "HYPERVISOR" in (processor.flags or ()):
        faults.add("cpu.model: this is a virtual machine, and only CPUID tells the name of its hypervisor")
    unobserved = frozenset({"hypervisor"}) if processor.hypervisor is None else frozenset[str]()
    return msgspec.structs.replace(attributes(values), unobserved=unobserved)


def read_coprocessor(host: Host, _faults: Faults) -> Answer:
    """The compression accelerator NX of IBM Power machines."""
    host.require("sys/devices")
    has_nx = host.exists("sys/devices/vio/ibm,compression-v1/nx_gzip_caps")
    return attributes({"nx_gzip": "true" if has_nx else None})
