"""The names that nodeworthy and Node Feature Discovery (NFD) give to feature sets and their elements.

A rule may ask for any name: programs of an operator and NodeFeature objects bring sets of their own. But a name that neither
of the two delivers is mostly a slip of the pen, and such a rule would quietly never match, so that its reader is told.
"""

from collections.abc import Iterable, Mapping

_NETWORK = ("name", "operstate", "speed", "mtu", "sriov_numvfs", "sriov_totalvfs")
_PCI = ("class", "vendor", "device", "subsystem_vendor", "subsystem_device")
_PCI_OPTIONAL = ("sriov_totalvfs", "iommu_group/type", "iommu/intel-iommu/version")

KNOWN_SETS: Mapping[str, tuple[str, ...]] = {
    "cpu.coprocessor": ("nx_gzip",),
    "cpu.cpuid": (),
    "cpu.cstate": ("enabled",),
    "cpu.group": ("cpus", "kind", "vendor", "family", "model", "implementer", "part", "variant"),
    "cpu.model": ("vendor_id", "family", "id", "hypervisor"),
    "cpu.pstate": ("status", "turbo", "scaling_governor"),
    "cpu.rdt": (),
    "cpu.security": (),
    "cpu.sst": ("bf.enabled",),
    "cpu.topology": ("hardware_multithreading", "socket_count"),
    "custom.rules": (),
    "fake.attribute": (),
    "fake.flag": (),
    "fake.instance": (),
    "kernel.config": (),
    "kernel.enabledmodule": (),
    "kernel.kvm": ("enabled",),
    "kernel.loadedmodule": (),
    "kernel.module": (),
    "kernel.selinux": ("enabled",),
    "kernel.version": ("full", "major", "minor", "revision", "raw"),
    "local.feature": (),
    "local.label": (),
    "memory.hugepages": (),
    "memory.numa": ("is_numa", "node_count", "memory_only_node_count"),
    "memory.nv": ("name", "devtype", "mode"),
    "memory.swap": ("enabled",),
    "network.device": _NETWORK,
    "network.virtual": _NETWORK[:4],
    "pci.device": _PCI + _PCI_OPTIONAL,
    "rule.matched": (),
    "storage.block": ("name", "dax", "rotational", "nr_zones", "zoned"),
    "system.architecture": ("architecture", "machine", "bits", "endianness"),
    "system.dmiid": (),
    "system.name": ("nodename",),
    "system.osrelease": (),
    "usb.device": ("class", "vendor", "device", "serial"),
}
"""Set to its elements; empty where anything may be an element, or where their number is large.

NFD (0.20), the packages below source/; what is ours beside it is marked in docs/features.md. A test holds the table against
the sets and the recorded machines of the detector.
"""


def is_known_set(name: str) -> bool:
    """Whether nodeworthy or NFD has a set of this name; case does not matter."""
    return name.lower() in KNOWN_SETS


def is_known_element(set_name: str, element: str) -> bool:
    """Whether a set may have this element; always, where the set is not known or open."""
    elements = KNOWN_SETS.get(set_name.lower())
    return not elements or element in elements


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant; empty if none is near."""
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), list(known), 1)
    return near[0] if near else ""
