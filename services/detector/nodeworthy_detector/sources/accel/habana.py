"""What habanalabs tells of its devices in sysfs (Documentation/ABI/testing/sysfs-driver-habanalabs)."""

import re
from collections.abc import Sequence

from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.accel.record import Device, Health, Told, list_optional, read_fact
from nodeworthy_detector.sources.reading import Faults

_CLASS = "sys/class/habanalabs"
"""Until Linux 6.7 and in the vendor's own driver; since then the files are those of the class accel."""

_LEGACY, _ACCEL = re.compile(r"hl([0-9]+)"), re.compile(r"accel[0-9]+")
_FAILED = frozenset({"malfunction", "disabled"})


def judge_status(status: str) -> Health:
    """The driver's word for the device's state (``drivers/accel/habanalabs/common/habanalabs_drv.c``, hl_device_status_str).

    >>> judge_status("Operational").word, judge_status("malfunction").word, judge_status("in reset").word
    ('ok', 'failed', 'degraded')
    """
    word = status.lower()
    if word == "operational":
        return Health("ok")
    return Health("failed" if word in _FAILED else "degraded", f"the driver says: {status}")


def read_told(host: Host, devices: Sequence[Device], faults: Faults) -> dict[str, Told]:
    """What each device's files tell."""
    legacy = _read_legacy(host, faults)
    told: dict[str, Told] = {}
    for device in devices:
        number = legacy.get(device.address or "")
        if number is not None:
            told[device.folder] = _read_one(
                host, f"{_CLASS}/hl{number}", (f"hl{number}", f"hl_controlD{number}"), faults
            )
            continue
        names = list_optional(host, f"{device.folder}/accel", faults)
        folder = next((f"{device.folder}/accel/{name}" for name in names if _ACCEL.fullmatch(name)), None)
        if folder is not None:
            told[device.folder] = _read_one(host, folder, (), faults)
    return told


def _read_legacy(host: Host, faults: Faults) -> dict[str, str]:
    """Numbers of devices by PCI address: their folders are no children of the PCI function's."""
    numbers: dict[str, str] = {}
    for found in map(_LEGACY.fullmatch, list_optional(host, _CLASS, faults)):
        address = read_fact(host, f"{_CLASS}/{found[0]}/pci_addr", faults) if found else None
        if found and address:
            numbers[address] = found[1]
    return numbers


def _read_one(host: Host, folder: str, nodes: tuple[str, ...], faults: Faults) -> Told:
    def read(name: str) -> str | None:
        return read_fact(host, f"{folder}/{name}", faults)

    device_type, status = read("device_type"), read("status")
    attributes = {
        "model": device_type.capitalize() if device_type else None,  # GAUDI2 is Gaudi2 everywhere else
        "firmware": read("cpucp_ver") or read("armcp_ver"),  # the second until Linux 5.10
    }
    return Told(attributes, nodes, judge_status(status) if status else None)
