"""What NVIDIA's driver tells of its devices in procfs.

Files and lines are those of ``kernel-open/nvidia/nv-procfs.c`` of the driver; ``capabilities`` is described in NVIDIA's
"Multi-Instance GPU User Guide". Memory size, compute capability and error counts are told by NVML alone, which is a library
of the vendor and is not loaded.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec

from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.accel.record import (
    Device,
    Health,
    Told,
    exists_optional,
    list_optional,
    read_fact,
)
from nodeworthy_detector.sources.reading import Faults

_PROC = "proc/driver/nvidia"
VERSION_FILE = f"{_PROC}/version"
_CAPABILITIES = f"{_PROC}/capabilities"

_SHARED_NODES = ("nvidiactl", "nvidia-uvm")
"""Nodes that every CUDA program opens beside the device's own."""

_VERSION = re.compile(r"^NVRM version:.*?\bKernel Module(?: for \S+)?\s+([0-9]{2,5}(?:\.[0-9]+)+)", re.MULTILINE)
_MINOR = re.compile(r"[0-9]{1,5}")
_GPU_INSTANCE, _COMPUTE_INSTANCE = re.compile(r"gi[0-9]+"), re.compile(r"ci[0-9]+")
_VGPU_MODEL = re.compile(r".*-[0-9]+[ABCQ]")
"""A virtual GPU's name ends in its frame buffer's size and its series (NVIDIA "Virtual GPU Software User Guide"): A40-8Q."""

_NOT_TOLD = frozenset({"", "N/A", "Unknown"})


class ModuleVersion(msgspec.Struct, frozen=True):
    """Version and flavour of the loaded kernel module."""

    version: str
    flavor: str
    """``open`` or ``proprietary``; NVIDIA's word for it is flavor."""


def parse_version(text: str) -> ModuleVersion | None:
    r"""The module's version, in both forms of the first line.

    >>> parse_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n")
    ModuleVersion(version='550.54.15', flavor='proprietary')
    >>> parse_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.57.01  Release Build  (dvs)\n")
    ModuleVersion(version='565.57.01', flavor='open')
    """
    found = _VERSION.search(text)
    if found is None:
        return None
    return ModuleVersion(found[1], "open" if "Open Kernel Module" in found[0] else "proprietary")


def parse_information(text: str) -> dict[str, str]:
    r"""The lines of a GPU's ``information``.

    >>> parse_information("Model: \t\t NVIDIA H100 80GB HBM3\nDevice Minor: \t 5\nGPU Excluded:\t No\n")
    {'Model': 'NVIDIA H100 80GB HBM3', 'Device Minor': '5', 'GPU Excluded': 'No'}
    """
    pairs = (line.partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, colon, value in pairs if colon}


def judge_health(information: Mapping[str, str]) -> Health | None:
    """What ``information`` says of the device's health; ``None`` if nothing speaks against it.

    Until the driver has initialised a device (it does when the first program opens it, or for persistence mode), the driver
    has question marks for what the device would have to tell.
    """
    excluded = information.get("GPU Excluded", information.get("GPU Blacklisted", ""))  # the older name was until 455
    if excluded == "Yes":
        return Health("failed", "the driver's settings exclude this device")
    if "?" in information.get("GPU UUID", ""):
        return Health("unknown", "the driver has not initialised this device yet")
    return None


def read_told(host: Host, devices: Sequence[Device], faults: Faults) -> dict[str, Told]:
    """What each device's files tell; a device of another driver, such as nouveau or vfio-pci, has none."""
    return {device.folder: _read_one(host, device, faults) for device in devices if device.address is not None}


def _read_one(host: Host, device: Device, faults: Faults) -> Told:
    text = read_fact(host, f"{_PROC}/gpus/{device.address}/information", faults)
    vgpu = "true" if _hosts_vgpus(host, device, faults) else None
    if text is None:
        return Told({"vgpu_host": vgpu})
    information = parse_information(text)
    model = _told(information, "Model")
    minor = information.get("Device Minor", "")
    minors = (minor,) if _MINOR.fullmatch(minor) else ()
    attributes = {
        "model": model,
        "firmware": _told(information, "GPU Firmware"),
        "form": "virtual-gpu" if model is not None and _VGPU_MODEL.fullmatch(model) else None,
        "vgpu_host": vgpu,
        "mig_devices": next((count_mig_devices(host, one, faults) for one in minors), None),
    }
    nodes = (*(f"nvidia{one}" for one in minors), *_SHARED_NODES)
    return Told(attributes, nodes, judge_health(information))


def _told(information: Mapping[str, str], name: str) -> str | None:
    value = information.get(name, "")
    return None if value in _NOT_TOLD or "?" in value else value


def _hosts_vgpus(host: Host, device: Device, faults: Faults) -> bool:
    """Mediated devices until the driver's branch 16; from 17 on newer kernels files of the virtual functions."""
    places = ("mdev_supported_types", "virtfn0/nvidia/creatable_vgpu_types")
    return any(exists_optional(host, f"{device.folder}/{place}", faults) for place in places)


def count_mig_devices(host: Host, minor: str, faults: Faults) -> str | None:
    """How many MIG devices a GPU is divided into: compute instances of GPU instances; ``None`` where there are none.

    The layout is ``capabilities/gpu0/mig/gi1/ci0/access``.
    """
    folder = f"{_CAPABILITIES}/gpu{minor}/mig"
    instances = [name for name in list_optional(host, folder, faults) if _GPU_INSTANCE.fullmatch(name)]
    names = (name for instance in instances for name in list_optional(host, f"{folder}/{instance}", faults))
    count = sum(1 for name in names if _COMPUTE_INSTANCE.fullmatch(name))
    return str(count) if count else None
