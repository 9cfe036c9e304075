"""The modules of the running kernel: loaded, built in, and those that could be loaded."""

from collections.abc import Collection
from functools import cached_property

from nodeworthy.features import FeatureSet
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.kernel.release import read_release_for_paths
from nodeworthy_detector.sources.reading import Answer, Faults, absent

_MAX_LIST_BYTES = 4 * 1024 * 1024
"""/proc/modules and the lists of depmod: distributions have about 6,000 modules, 100 bytes each."""

_FOLDERS = ("lib/modules", "usr/lib/modules")

_ASKED_BY_IMAGES = (
    "8021q amdgpu binder_linux bonding br_netfilter btrfs can ceph cifs dm_crypt dm_multipath dm_thin_pool drbd efa fuse"
    " gdrdrv gtp habanalabs i915 ib_core ib_uverbs intel_vpu ip6_tables ip_set ip_tables ip_vs iptable_filter iptable_nat"
    " ipvlan irdma iscsi_tcp kvm kvm_amd kvm_intel loop macvlan mlx5_core mlx5_ib nbd neuron nf_conntrack nf_tables nfs"
    " nfsd nfsv4 nvidia nvidia_drm nvidia_modeset nvidia_peermem nvidia_uvm nvme_fabrics nvme_rdma nvme_tcp overlay rbd"
    " rdma_ucm sch_fq sctp snd_aloop tcp_bbr tun uio uio_pci_generic v4l2loopback vcan vfio vfio_pci vhost_net vhost_vsock"
    " vsock vxlan wireguard xe xfs zfs"
)
ASKED_BY_IMAGES = frozenset(_ASKED_BY_IMAGES.split())
"""Modules that images load, or ask their host to load: storage and network clients, virtual machines, accelerators."""


class ModuleLists:
    """What the kernel and depmod list, each read once for all sets that are made of it.

    Every property raises :class:`HostReadError` where its list is not there or cannot be read.
    """

    def __init__(self, host: Host) -> None:
        self._host = host

    @cached_property
    def loaded(self) -> frozenset[str] | None:
        """The modules that are loaded now; ``None`` for a kernel without loadable modules."""
        text = self._host.read_text("proc/modules", _MAX_LIST_BYTES)
        if text is None:
            # Every Linux has it; a recording without it is too thin for what is missing to say anything.
            self._host.require("proc/sys/vm")
            return None
        return parse_loaded(text)

    @cached_property
    def built_in(self) -> frozenset[str]:
        """The modules that are part of the kernel, as their files are spelt."""
        return parse_built_in(self._read_list("modules.builtin"))

    @cached_property
    def installed(self) -> frozenset[str]:
        """The modules whose files are there, as their files are spelt."""
        return parse_dependencies(self._read_list("modules.dep"))

    @property
    def enabled(self) -> frozenset[str]:
        """Loaded or built in."""
        return (self.loaded or frozenset()) | self.built_in

    @cached_property
    def available(self) -> frozenset[str]:
        """Loaded, built in, or there to be loaded, in the kernel's spelling."""
        # A kernel that cannot load modules needs no list of their files.
        installed = frozenset() if self.loaded is None else self.installed
        return unify(self.enabled | installed)

    def _read_list(self, name: str) -> str:
        release = read_release_for_paths(self._host)
        if release is None:
            raise HostReadError("lib/modules", "cannot be searched: the kernel's release is not known")
        for folder in _FOLDERS:
            text = self._host.read_text(f"{folder}/{release}/{name}", _MAX_LIST_BYTES)
            if text is not None:
                return text
        raise HostReadError(f"lib/modules/{release}/{name}", "is not there")


def unify(names: Collection[str]) -> frozenset[str]:
    """The names in the kernel's own spelling: it knows ``vfio-pci.ko`` as ``vfio_pci``."""
    return frozenset([name.replace("-", "_") for name in names])


def parse_loaded(text: str) -> frozenset[str]:
    """The names in /proc/modules (proc(5)): the first word of lines as ``vfio_pci 16384 0 - Live 0x0``."""
    return frozenset(line.split(None, 1)[0] for line in text.splitlines() if line.strip())


def parse_built_in(text: str) -> frozenset[str]:
    """The names in modules.builtin: lines as ``kernel/drivers/gpu/drm/i915/i915.ko``."""
    files = (line.strip().rpartition("/")[2] for line in text.splitlines())
    return frozenset(file.removesuffix(".ko") for file in files if file.endswith(".ko"))


def parse_dependencies(text: str) -> frozenset[str]:
    """The names in modules.dep (modules.dep(5)): lines as ``kernel/fs/cuse.ko.xz: kernel/fs/fuse.ko.xz``.

    Files may be compressed: ``.ko.gz``, ``.ko.xz``, ``.ko.zst``.
    """
    # Thousands of lines: a regular expression for them takes longer.
    files = (line[: line.find(":")].rpartition("/")[2] for line in text.split("\n") if ":" in line)
    return frozenset(name for name, end, _ in (file.partition(".ko") for file in files) if name and end)


def read_loaded_modules(lists: ModuleLists) -> Answer:
    """NFD's ``kernel.loadedmodule``."""
    loaded = lists.loaded
    return absent("this kernel has no loadable modules") if loaded is None else FeatureSet(flags=loaded)


def read_module_info(host: Host, lists: ModuleLists, asked: Collection[str], faults: Faults) -> Answer:
    """One instance for each module that is loaded or built in, and for each of ``asked`` that could be loaded.

    Not for all that could be: 6,000 instances would take 390 kB and 17 ms, and change with every module that is loaded.
    Their names are the set ``kernel.availablemodule``, which all nodes with one kernel share.
    """
    host.require("sys/module")
    loaded, built_in, available = unify(lists.loaded or ()), unify(lists.built_in), lists.available
    told = loaded | built_in | (unify(asked) & available)
    versions = _read_versions(host, told, faults)
    return FeatureSet(
        instances=tuple(
            {
                "name": name,
                "loaded": _word(name in loaded),
                "builtin": _word(name in built_in),
                "available": _word(name in available),
                **({"version": versions[name]} if name in versions else {}),
            }
            for name in sorted(told)
        )
    )


def _read_versions(host: Host, names: Collection[str], faults: Faults) -> dict[str, str]:
    """What MODULE_VERSION says of them: sys/module/*/version (Linux, kernel/module/main.c and kernel/params.c)."""
    versions: dict[str, str] = {}
    for name in host.list_names("sys/module") or ():
        if name in names:
            try:
                version = host.read_value(f"sys/module/{name}/version")
            except HostReadError as error:
                faults.add(error)
                continue
            if version:
                versions[name] = version
    return versions


def _word(holds: bool) -> str:
    return "true" if holds else "false"
