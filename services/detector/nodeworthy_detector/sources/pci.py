"""The source ``pci``: PCI functions."""

import msgspec

from nodeworthy.features import Instance
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.device_files import read_instances, read_optional, read_required
from nodeworthy_detector.sources.reading import Answer, Faults, Reading, absent, read_sets

_DEVICES = "sys/bus/pci/devices"
_MANDATORY = ("class", "vendor", "device", "subsystem_vendor", "subsystem_device")
_OPTIONAL = ("sriov_totalvfs", "iommu_group/type", "iommu/intel-iommu/version")
"""Paths below the device's folder; NFD's attribute names keep their slashes."""

_CLASS_DIGITS = 4
"""Base class and subclass; the programming interface is cut off."""


class PciSource(msgspec.Struct, frozen=True):
    """PCI functions in the order of their addresses."""

    name: str = "pci"
    sets: tuple[str, ...] = ("pci.device",)

    def read(self, host: Host) -> Reading:
        """Read the one set."""
        return read_sets(host, {"pci.device": read_devices})


def read_devices(host: Host, faults: Faults) -> Answer:
    """Every function that can be read; one that vanishes meanwhile, or hides a mandatory file, is left out.

    No element tells a function from its like, as an address would: equal neighbours are one run in the canonical form, so
    that 256 virtual functions cost as much as one.
    """
    names = host.list_names(_DEVICES)
    if names is None:
        host.require("sys/bus/platform")  # every Linux has this bus; a recording without it says nothing of buses
        return absent("this machine has no PCI bus")
    return read_instances(names, lambda name: (_read_device(host, name, faults),), faults, "PCI functions")


def _read_device(host: Host, name: str, faults: Faults) -> Instance:
    folder = f"{_DEVICES}/{name}"
    values = read_required(host, folder, _MANDATORY) | read_optional(host, folder, _OPTIONAL, faults)
    return {attribute: parse_value(attribute, text) for attribute, text in values.items()}


def parse_value(attribute: str, text: str) -> str:
    """NFD's form of a value: without ``0x``, the class without its programming interface.

    >>> parse_value("class", "0x030200"), parse_value("vendor", "0x10de")
    ('0302', '10de')
    """
    value = text.strip().removeprefix("0x")
    return value[:_CLASS_DIGITS] if attribute == "class" else value
