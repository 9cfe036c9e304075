"""The set ``accel.device``: what the buses, the classes and the drivers say, in one instance per device."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from nodeworthy.features import FeatureSet, Instance
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.accel import amd, ascend, fpga, habana, intel, neuron, nvidia
from nodeworthy_detector.sources.accel.functions import read_functions
from nodeworthy_detector.sources.accel.knowledge import known_model
from nodeworthy_detector.sources.accel.members import read_members
from nodeworthy_detector.sources.accel.record import (
    Device,
    Health,
    ReadTold,
    Told,
    exists_optional,
    read_fact,
)
from nodeworthy_detector.sources.reading import Answer, Faults, absent, unknown

_VENDORS: Mapping[str, ReadTold] = {
    "amd": amd.read_told,
    "aws": neuron.read_told,
    "habana": habana.read_told,
    "huawei": ascend.read_told,
    "intel": intel.read_told,
    "nvidia": nvidia.read_told,
}
"""Who tells more than every driver does."""

_GIVEN_AWAY = ("vfio", "pci-stub", "pciback", "xen-pciback")
"""Drivers that keep a device for virtual machines or programs in user space; names of variants hold ``vfio`` somewhere."""

_OUTSIDE_OF_BUSES = ("nvgpu", "nvidia", "habanalabs", "neuron")
"""Modules that no machine without a device of theirs loads; boards like Jetson have theirs on no bus that is looked at."""

_GONE = b"\xff\xff\xff\xff"
"""What a read from a device that does not answer gives (PCI Express Base Specification, completion timeouts)."""


def read_devices(host: Host, faults: Faults) -> Answer:
    """Every accelerator: PCI functions by address, then those outside of PCI."""
    functions = read_functions(host, faults)
    members = read_members(host, faults)
    on_bus = tuple(
        msgspec.structs.replace(device, nodes=members.nodes.get(device.address or "", ()))
        for device in functions.devices
    )
    devices = (*on_bus, *members.others)
    told = _read_told(host, devices, faults)
    found = [(device, told.get(device.folder, Told())) for device in devices]
    found.extend(fpga.read_managers(host, faults))
    if not found:
        if functions.unread:
            return unknown(f"{functions.unread} of the PCI functions could not be read, and no other is an accelerator")
        driver = next((name for name in _OUTSIDE_OF_BUSES if exists_optional(host, f"sys/module/{name}", faults)), None)
        if driver is not None:
            return unknown(f"the module {driver} is loaded, and no file tells which device it drives")
        return absent("this machine has no accelerator")
    has_nodes = _has_nodes(host, faults)
    return FeatureSet(instances=tuple(_instance(host, *one, faults, has_nodes=has_nodes) for one in found))


def _read_told(host: Host, devices: Sequence[Device], faults: Faults) -> dict[str, Told]:
    told: dict[str, Told] = {}
    for vendor, read in _VENDORS.items():
        own = [device for device in devices if device.vendor == vendor]
        if own:
            told.update(read(host, own, faults))
    return told


def _has_nodes(host: Host, faults: Faults) -> bool:
    try:
        host.require("dev")
    except HostReadError as error:
        faults.add(f"{error}; device nodes of accelerators are not known")
        return False
    return True


def _instance(host: Host, device: Device, told: Told, faults: Faults, *, has_nodes: bool) -> Instance:
    health = judge_health(device, told, answers=_answers(host, device, faults))
    nodes = _existing(host, (*told.nodes, *device.nodes), faults) if has_nodes else ()
    values = {
        "kind": device.kind,
        "vendor": device.vendor,
        "vendor_id": device.vendor_id,
        "device_id": device.device_id,
        "model": known_model(device.vendor_id or "", device.device_id or ""),
        "driver": device.driver or None,
        "driver_version": _driver_version(host, device, faults),
        "address": device.address,
        "form": device.form,
        "numa_node": _numa_node(host, device, faults),
        "device_nodes": " ".join(nodes) or None,
        "health": health.word,
        "health_reason": health.reason or None,
    }
    values |= {name: value for name, value in told.attributes.items() if value is not None}
    return {name: value for name, value in values.items() if value is not None}


def _driver_version(host: Host, device: Device, faults: Faults) -> str | None:
    """That of the module behind the driver; where the link to it leads nowhere, of the module of the driver's name."""
    version = read_fact(host, f"{device.folder}/driver/module/version", faults)
    if version is None and device.driver:
        return read_fact(host, f"sys/module/{device.driver.replace('-', '_')}/version", faults)
    return version


def judge_health(device: Device, told: Told, *, answers: bool | None) -> Health:
    """How a device is: what speaks against it first, then what its driver says.

    A driver binds a device only after it has initialised it, so a bound one against which nothing speaks is ``ok``.
    """
    if answers is False:
        return Health("failed", "the device does not answer on its bus")
    if told.health is not None:
        return told.health
    if device.driver is None:
        return Health("unknown", "nothing tells which driver it has")
    if not device.driver:
        return Health("unknown", "no driver is bound to it")
    if any(word in device.driver for word in _GIVEN_AWAY):
        return Health("unknown", f"{device.driver} keeps it for virtual machines or programs of its own")
    return Health("ok")


def _answers(host: Host, device: Device, faults: Faults) -> bool | None:
    """Whether the device answers on its bus; ``None`` if that was not asked.

    A sleeping one would be woken (``pci_config_pm_runtime_get`` in drivers/pci/pci-sysfs.c), and a virtual function's own
    numbers always read as this (SR-IOV specification, 3.4.1).
    """
    if device.address is None or device.is_asleep or device.form != "physical":
        return None
    try:
        start = host.read_start(f"{device.folder}/config", len(_GONE))
    except HostReadError as error:
        if not error.has_no_value:
            faults.add(error)
        return None
    return None if start is None else start != _GONE


def _numa_node(host: Host, device: Device, faults: Faults) -> str | None:
    node = read_fact(host, f"{device.folder}/numa_node", faults)
    return node if node is not None and node.isdecimal() else None  # -1: the firmware does not say


def _existing(host: Host, nodes: Iterable[str], faults: Faults) -> tuple[str, ...]:
    return tuple(f"/dev/{node}" for node in nodes if exists_optional(host, f"dev/{node}", faults))
