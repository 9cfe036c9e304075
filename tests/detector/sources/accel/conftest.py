"""Machines with accelerators, as files of procfs and sysfs; each layout names what it was written after."""

from collections.abc import Callable, Mapping

import pytest

from nodeworthy.features import FeatureSet, Instance
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import AccelSource

Plant = Callable[[Mapping[str, str | bytes]], Host]
Layout = dict[str, str | bytes]

PCI = "sys/bus/pci/devices"
ANCHOR: Layout = {"sys/bus/platform/drivers_autoprobe": "1", "sys/module/": "", "dev/null": ""}
"""What every machine has: without it nothing is known of devices, modules and device nodes."""


def function(address: str, ids: str, driver: str = "", **files: str | bytes) -> Layout:
    """One PCI function, ``ids`` being class, vendor and device; further files by name, ``__`` for a slash.

    After drivers/pci/pci-sysfs.c and pci-driver.c, whose ``uevent`` has upper-case numbers and a class without zeros.
    """
    pci_class, vendor, device = ids.split()
    bound = f"DRIVER={driver}\n" if driver else ""
    uevent = f"{bound}PCI_CLASS={int(pci_class, 16):04X}\nPCI_ID={vendor}:{device}\nPCI_SLOT_NAME={address}\n".upper()
    values: Layout = {
        "class": f"0x{pci_class}\n",
        "vendor": f"0x{vendor}\n",
        "device": f"0x{device}\n",
        "numa_node": "1\n",
        "config": bytes.fromhex(vendor)[::-1] + bytes.fromhex(device)[::-1] + bytes(60),
        "uevent": uevent.replace(f"DRIVER={driver.upper()}", f"DRIVER={driver}"),
    }
    values |= {name.replace("__", "/"): content for name, content in files.items()}
    return {f"{PCI}/{address}/{name}": content for name, content in values.items()}


def member(sysfs_class: str, name: str, address: str) -> Layout:
    """A member of a class whose device is that PCI function, and its device node."""
    node = {"drm": "dri/", "accel": "accel/"}.get(sysfs_class, "") + name
    return {f"sys/class/{sysfs_class}/{name}/device/uevent": f"PCI_SLOT_NAME={address}\n", f"dev/{node}": ""}


NVIDIA_OPEN = """\
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.57.01  Release Build  (dvs-builder@U16-A24-9-2)  \
Thu Oct 10 12:15:00 UTC 2024
GCC version:  gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2~24.04)
"""
"""As posted in nix-community/nixGL issue 186."""

NVIDIA_PROPRIETARY = """\
NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024
GCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)
"""

H100_INFORMATION = """\
Model: \t\t NVIDIA H100 80GB HBM3
IRQ:   \t\t 10
GPU UUID: \t GPU-9221d5d1-b60b-a624-bf14-0a1819cfda3b
Video BIOS: \t 96.00.99.00.01
Bus Type: \t PCIe
DMA Size: \t 52 bits
DMA Mask: \t 0xfffffffffffff
Bus Location: \t 0000:62:00.0
Device Minor: \t 5
GPU Firmware: \t 550.54.15
GPU Excluded:\t No
"""
"""Lines and spacing of nv-procfs.c, values of a dump at https://topofmind.dev/notes/sysadmin/gpu."""


def h100(address: str = "0000:62:00.0", information: str = H100_INFORMATION) -> Layout:
    """One H100 under NVIDIA's proprietary driver 550.54.15."""
    return (
        function(address, "030200 10de 2330", "nvidia", driver__module__version="550.54.15\n")
        | member("drm", "card2", address)
        | member("drm", "renderD129", address)
        | {
            "sys/module/nvidia/version": "550.54.15\n",
            "proc/driver/nvidia/version": NVIDIA_PROPRIETARY,
            f"proc/driver/nvidia/gpus/{address}/information": information,
            "dev/nvidia5": "",
            "dev/nvidiactl": "",
            "dev/nvidia-uvm": "",
        }
    )


MI300X_PROPERTIES = """\
cpu_cores_count 0
simd_count 1216
wave_front_size 64
gfx_target_version 90402
vendor_id 4098
device_id 29857
location_id 29952
domain 0
drm_render_minor 128
hive_id 11638818706288400384
local_mem_size 206142726144
num_xcc 8
unique_id 9895604649984
"""
"""After the properties of an Instinct card in the tests of a ROCm exporter, and kfd_topology.c, node_show."""


def mi300x(address: str = "0000:75:00.0", **files: str) -> Layout:
    """One Instinct MI300X under amdgpu, as packaged by AMD (the kernel's own has no version)."""
    own = {
        "product_name": "AMD Instinct MI300X OAM\n",
        "vbios_version": "113-M3000100-102\n",
        "mem_info_vram_total": "206141652992\n",
        "current_compute_partition": "SPX\n",
        "ras__umc_err_count": "ue: 0\nce: 14\nde: 0\n",  # codespell:ignore ue
        "driver__module__version": "6.10.5\n",
    }
    return (
        function(address, "120000 1002 74a1", "amdgpu", **{**own, **files})
        | member("drm", "renderD128", address)
        | {
            "sys/class/kfd/kfd/topology/nodes/0/properties": "cpu_cores_count 96\ngfx_target_version 0\n",
            "sys/class/kfd/kfd/topology/nodes/1/properties": MI300X_PROPERTIES,
            "sys/module/amdgpu/version": "6.10.5\n",
            "dev/kfd": "",
        }
    )


@pytest.fixture
def accelerators(plant: Plant) -> Callable[[Layout], tuple[Instance, ...]]:
    """Reads the accelerators of a machine with these files; there must be some, and no fault."""

    def read(files: Layout) -> tuple[Instance, ...]:
        reading = AccelSource().read(plant(ANCHOR | files))
        found = reading.sets["accel.device"]
        assert isinstance(found, FeatureSet)
        assert found.instances is not None
        assert reading.faults == ()
        return found.instances

    return read
