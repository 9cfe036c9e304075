"""The names that nodeworthy and Node Feature Discovery (NFD) give to feature sets and their elements.

A rule may ask for any name: programs of an operator and NodeFeature objects bring sets of their own. But a name that neither
of the two delivers is mostly a slip of the pen, and such a rule would quietly never match, so that its reader is told.
"""

from collections.abc import Iterable, Mapping

_NETWORK = ("name", "operstate", "speed", "mtu", "sriov_numvfs", "sriov_totalvfs")
_PCI = ("class", "vendor", "device", "subsystem_vendor", "subsystem_device")
_PCI_OPTIONAL = ("sriov_totalvfs", "iommu_group/type", "iommu/intel-iommu/version")

_SYSCTLS = (
    "abi.cp15_barrier abi.setend abi.swp crypto.fips_enabled fs.aio-max-nr fs.file-max"
    " fs.inotify.max_queued_events fs.inotify.max_user_instances fs.inotify.max_user_watches fs.nr_open"
    " fs.pipe-max-size kernel.apparmor_restrict_unprivileged_userns kernel.cap_last_cap kernel.dmesg_restrict"
    " kernel.io_uring_disabled kernel.kptr_restrict kernel.modules_disabled kernel.numa_balancing"
    " kernel.perf_event_paranoid kernel.pid_max kernel.randomize_va_space kernel.sched_rt_runtime_us"
    " kernel.seccomp.actions_avail kernel.unprivileged_bpf_disabled kernel.unprivileged_userns_clone"
    " kernel.yama.ptrace_scope net.bridge.bridge-nf-call-iptables net.core.bpf_jit_enable net.core.rmem_max"
    " net.core.somaxconn net.core.wmem_max net.ipv4.ip_forward net.ipv4.ip_local_port_range"
    " net.ipv4.ip_unprivileged_port_start net.ipv4.ping_group_range net.ipv4.tcp_available_congestion_control"
    " net.ipv4.tcp_congestion_control net.ipv6.conf.all.disable_ipv6 user.max_user_namespaces vm.max_map_count"
    " vm.memfd_noexec vm.mmap_min_addr vm.overcommit_memory"
    " vm.overcommit_ratio vm.unprivileged_userfaultfd"
)
_RUNTIMES = ("containerd", "cri-o", "docker", "podman")

KNOWN_SETS: Mapping[str, tuple[str, ...]] = {
    "accel.conflict": ("vendor", "module", "other_library", "library", "path", "text"),
    "accel.device": (
        "kind",
        "vendor",
        "vendor_id",
        "device_id",
        "model",
        "driver",
        "driver_version",
        "firmware",
        "address",
        "form",
        "numa_node",
        "device_nodes",
        "health",
        "health_reason",
        "memory_bytes",
        "gfx_target",
        "compute_partition",
        "mig_devices",
        "vgpu_host",
    ),
    "accel.driver": ("vendor", "where", "name", "version", "flavor", "path"),
    "cpu.address": ("virtual_bits", "physical_bits"),
    "cpu.coprocessor": ("nx_gzip",),
    "cpu.cpuid": (),
    "cpu.cstate": ("enabled",),
    "cpu.execution": ("aarch32", "ia32", "kvm.capable", "kvm.usable"),
    "cpu.group": ("cpus", "kind", "vendor", "family", "model", "implementer", "part", "variant", "name"),
    "cpu.hwcap": (),
    "cpu.model": ("vendor_id", "family", "id", "hypervisor", "vendor", "name", "stepping", "microcode"),
    "cpu.pstate": ("status", "turbo", "scaling_governor"),
    "cpu.rdt": (),
    "cpu.security": (),
    "cpu.sst": ("bf.enabled",),
    "cpu.topology": ("hardware_multithreading", "socket_count"),
    "custom.rules": (),
    "fake.attribute": (),
    "fake.flag": (),
    "fake.instance": (),
    "kernel.availablemodule": (),
    "kernel.binfmt": (
        "name",
        "enabled",
        "interpreter",
        "flags",
        "offset",
        "magic",
        "mask",
        "extension",
        "machine",
        "architecture",
    ),
    "kernel.cgroup": (),
    "kernel.config": (),
    "kernel.enabledmodule": (),
    "kernel.kvm": ("enabled",),
    "kernel.loadedmodule": (),
    "kernel.module": (),
    "kernel.moduleinfo": ("name", "version", "loaded", "builtin", "available"),
    "kernel.security": (),
    "kernel.selinux": ("enabled",),
    "kernel.sysctl": tuple(_SYSCTLS.split()),
    "kernel.version": ("full", "major", "minor", "revision", "raw"),
    "kernellog.event": ("kind", "line", "time", "code"),
    "local.feature": (),
    "local.label": (),
    "memory.hugepages": (),
    "memory.numa": ("is_numa", "node_count", "memory_only_node_count"),
    "memory.nv": ("name", "devtype", "mode"),
    "memory.page": ("size",),
    "memory.swap": ("enabled",),
    "network.device": _NETWORK,
    "network.rdma": (
        "name",
        "node_type",
        "firmware",
        "hca_type",
        "driver",
        "port",
        "link_layer",
        "rate",
        "state",
    ),
    "network.virtual": _NETWORK[:4],
    "pci.device": _PCI + _PCI_OPTIONAL,
    "programs.label": (),
    "rule.matched": (),
    "storage.block": ("name", "dax", "rotational", "nr_zones", "zoned", "model", "size", "transport"),
    "system.architecture": ("architecture", "machine", "bits", "endianness"),
    "system.device": (),
    "system.dmiid": (),
    "system.init": ("name", "command", "version"),
    "system.library": ("name", "path", "version", "symbol_version", "architecture"),
    "system.name": ("nodename",),
    "system.osrelease": (),
    "system.runtime": (
        *_RUNTIMES,
        *(f"{name}.socket" for name in _RUNTIMES),
        "crun",
        "libseccomp",
        "nvidia-container-runtime",
        "runc",
    ),
    "usb.device": ("class", "vendor", "device", "serial"),
}
"""Set to its elements; empty where anything may be an element, or where their number is large.

NFD (0.20), the packages below source/; what is ours beside it is marked in docs/features.md. A test holds the table against
the sets and the recorded machines of the detector.
"""


INSTANCE_SETS = frozenset(
    {
        "accel.conflict",
        "accel.device",
        "accel.driver",
        "cpu.group",
        "fake.instance",
        "kernel.binfmt",
        "kernel.moduleinfo",
        "memory.nv",
        "network.device",
        "network.rdma",
        "network.virtual",
        "pci.device",
        "storage.block",
        "system.library",
        "usb.device",
    }
)
"""Those that are lists of instances and nothing else."""

_OF_PROGRAMS = "programs."
"""Each program of sources.d has a set under its own name."""


_NEAR = 0.75
"""How alike two names must be (difflib's ratio) for one to be a slip of the pen of the other."""


def is_known_set(name: str) -> bool:
    """Whether nodeworthy or NFD has a set of this name; case does not matter."""
    return name.lower() in KNOWN_SETS or name.lower().startswith(_OF_PROGRAMS)


def is_known_element(set_name: str, element: str) -> bool:
    """Whether a set may have this element; always, where the set is not known or open."""
    elements = KNOWN_SETS.get(set_name.lower())
    return not elements or element in elements


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant; empty if none is near."""
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), list(known), 1, _NEAR)
    return near[0] if near else ""
