"""FPGAs that the kernel programs (Documentation/ABI/testing/sysfs-class-fpga-manager)."""

import re

from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.accel.knowledge import tree_vendor
from nodeworthy_detector.sources.accel.record import Device, Health, Told, list_optional, read_fact
from nodeworthy_detector.sources.accel.uevent_file import parse_uevent_file
from nodeworthy_detector.sources.reading import Faults

_CLASS = "sys/class/fpga_manager"
_NAME = re.compile(r"fpga[0-9]+")
_CARD_DRIVER = "dfl-"
"""Managers inside of PCI cards (drivers/fpga/dfl-fme-mgr.c): the card is listed as a PCI function."""


def judge_state(state: str) -> Health:
    """What a manager's state says.

    >>> judge_state("operating").word, judge_state("write init error").word, judge_state("power up").word
    ('ok', 'failed', 'unknown')
    """
    if state == "operating":
        return Health("ok")
    return Health("failed" if state.endswith("error") else "unknown", f"the manager's state is: {state}")


def read_managers(host: Host, faults: Faults) -> tuple[tuple[Device, Told], ...]:
    """The FPGAs of this machine's own managers, and what these tell of them."""
    found = []
    for name in list_optional(host, _CLASS, faults):
        if not _NAME.fullmatch(name):
            continue
        folder = f"{_CLASS}/{name}"
        uevent = parse_uevent_file(read_fact(host, f"{folder}/device/uevent", faults) or "")
        driver = uevent.get("DRIVER", "")
        if driver.startswith(_CARD_DRIVER):
            continue
        state = read_fact(host, f"{folder}/state", faults)
        device = Device(
            kind="fpga",
            folder=folder,
            vendor=tree_vendor(uevent.get("OF_COMPATIBLE_0", "")),
            driver=driver or None,
            nodes=(name,),
        )
        model = read_fact(host, f"{folder}/name", faults)
        found.append((device, Told({"model": model}, health=judge_state(state) if state else None)))
    return tuple(found)
