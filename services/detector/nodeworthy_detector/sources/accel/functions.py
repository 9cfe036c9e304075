"""Accelerators on the PCI bus."""

import msgspec

from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.accel import knowledge
from nodeworthy_detector.sources.accel.record import Device, exists_optional, link_name_optional, read_fact
from nodeworthy_detector.sources.accel.uevent_file import parse_uevent_file
from nodeworthy_detector.sources.device_files import read_required
from nodeworthy_detector.sources.reading import Faults

DEVICES = "sys/bus/pci/devices"

MAX_DEVICES = 1000
"""Accelerators of one machine: eight cards with all their virtual functions are about 200, and a set has at most 512 KiB."""


class Functions(msgspec.Struct, frozen=True):
    """The accelerators among the PCI functions, by address."""

    devices: tuple[Device, ...]
    unread: int = 0
    """Functions of which not even class and numbers could be read: some of them may be accelerators."""


def read_functions(host: Host, faults: Faults) -> Functions:
    """Every PCI function that is an accelerator.

    Raises:
        HostReadError: the bus cannot be listed, or the host root holds no sysfs.
    """
    names = host.list_names(DEVICES)
    if names is None:
        host.require("sys/bus/platform")  # every Linux has this bus; a recording without it says nothing of buses
        return Functions(())
    devices: list[Device] = []
    unread = 0
    for name in names:
        try:
            device = _read_function(host, name, faults)
        except HostReadError as error:
            faults.add(f"{error}; whether it is an accelerator is not known")
            unread += 1
            continue
        if device is not None:
            devices.append(device)
    if len(devices) > MAX_DEVICES:
        faults.add(f"{len(devices):,} accelerators; only the first {MAX_DEVICES:,} are listed")
    return Functions(tuple(devices[:MAX_DEVICES]), unread)


def _read_function(host: Host, name: str, faults: Faults) -> Device | None:
    folder = f"{DEVICES}/{name}"
    pci_class = _read_number(host, folder, "class")
    if not knowledge.may_be_accelerator(pci_class):
        return None
    vendor, device = _read_number(host, folder, "vendor"), _read_number(host, folder, "device")
    kind = knowledge.classify(pci_class, vendor, device)
    if kind is None:
        return None
    # Not to be told from a physical one inside a virtual machine, where the host's side of it is not seen.
    is_virtual = exists_optional(host, f"{folder}/physfn", faults)
    return Device(
        kind=kind,
        folder=folder,
        vendor=knowledge.vendor_word(vendor),
        address=name,
        vendor_id=vendor,
        device_id=device,
        driver=_read_driver(host, folder, faults),
        form="virtual-function" if is_virtual else "physical",
        is_asleep=read_fact(host, f"{folder}/power/runtime_status", faults) == "suspended",
    )


def _read_driver(host: Host, folder: str, faults: Faults) -> str | None:
    """The driver that is bound, empty if none is; ``None`` if neither ``uevent`` nor the link to it is there."""
    uevent = read_fact(host, f"{folder}/uevent", faults)
    if uevent is not None:
        return parse_uevent_file(uevent).get("DRIVER", "")
    return link_name_optional(host, f"{folder}/driver", faults)


def _read_number(host: Host, folder: str, name: str) -> str:
    return read_required(host, folder, (name,))[name].removeprefix("0x").lower()
