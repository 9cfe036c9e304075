"""Device nodes that programs in images open: those that are there, and so usable where the kernel is capable."""

import re
from collections.abc import Collection

from nodeworthy.features import FeatureSet
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.reading import Answer, Faults

_NODES = (
    # Linux, Documentation/admin-guide/devices.txt, and the drivers' own documentation.
    "autofs btrfs-control cuse fuse hpet hugepages hwrng kmsg kvm loop-control mem port ppp rtc0 shm snd uhid uinput"
    " userfaultfd udmabuf vhost-net vhost-vsock vsock watchdog"
    " mapper/control net/tun dma_heap/system"
    " nvme-fabrics infiniband/rdma_cm vfio/vfio iommu"
    " sgx_enclave sgx_provision sgx_vepc sev sev-guest tdx_guest tpm0 tpmrm0"
    " binderfs binder ashmem"
    " kfd dri"
)
NODES = frozenset(_NODES.split())
"""Nodes and folders of nodes, below ``dev``."""

_FAMILIES = re.compile(r"infiniband/u(?:verbs|mad)[0-9]+|ptp[0-9]+|pps[0-9]+|uio[0-9]+|video[0-9]+")
"""Nodes of which there may be several."""

_FOLDERS = ("net", "mapper", "dma_heap", "infiniband", "vfio")

_ALWAYS_THERE = "null"
"""Every /dev has it; a folder without it is no /dev, such as the empty one that a container was not given."""


def read_device_nodes(host: Host, faults: Faults) -> Answer:
    """Flags, spelt as the path below ``dev``: ``kvm``, ``net/tun``."""
    names = host.list_names("dev")
    if names is None or _ALWAYS_THERE not in names:
        raise HostReadError("dev", "is not there" if names is None else "holds no device nodes")
    found = set(names)
    hidden: set[str] = set()
    for folder in _FOLDERS:
        if folder in names:
            try:
                found |= {f"{folder}/{name}" for name in host.list_names(f"dev/{folder}") or ()}
            except HostReadError as error:
                faults.add(error)
                hidden |= {node for node in NODES if node.startswith(f"{folder}/")}
    return FeatureSet(flags=select_nodes(found), unobserved=frozenset(hidden))


def select_nodes(names: Collection[str]) -> frozenset[str]:
    """Those that images are known to open; terminals, disks and the like would differ on every node."""
    return frozenset(name for name in names if name in NODES or _FAMILIES.fullmatch(name))
