"""Accelerators by the classes of their drivers: which device nodes are whose, and devices that are on no PCI bus."""

import re
from collections.abc import Iterator, Mapping

import msgspec

from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.accel.knowledge import Kind, tree_vendor
from nodeworthy_detector.sources.accel.record import Device, list_optional, read_fact
from nodeworthy_detector.sources.accel.uevent_file import parse_uevent_file, slot_of
from nodeworthy_detector.sources.reading import Faults


class _Class(msgspec.Struct, frozen=True):
    """A class of devices in sys/class whose members are accelerators."""

    folder: str
    names: str
    """A regular expression for the names of members; a class also lists connectors, regions and the like."""
    nodes: str
    """Where its device nodes are, below dev."""
    kind: Kind
    computes: str = ""
    """A device outside of PCI counts if a member's name begins so: cards without a render node only show pictures."""


_RENDER = "renderD"  # codespell:ignore
_CLASSES = (
    _Class(
        "sys/class/drm", rf"(?:card|{_RENDER})[0-9]+", "dri/", "gpu", computes=_RENDER
    ),  # drivers/gpu/drm/drm_sysfs.c
    _Class("sys/class/accel", r"accel[0-9]+", "accel/", "npu", computes="accel"),  # drivers/accel/drm_accel.c
    _Class("sys/class/apex", r"apex_[0-9]+", "", "npu"),  # drivers/staging/gasket/apex_driver.c
)


class Members(msgspec.Struct, frozen=True):
    """What the classes say."""

    nodes: Mapping[str, tuple[str, ...]]
    """Device nodes by PCI address."""
    others: tuple[Device, ...]
    """Devices that are on no PCI bus."""


def read_members(host: Host, faults: Faults) -> Members:
    """Everything that the classes of accelerators list; a class that is not there has no members."""
    nodes: dict[str, tuple[str, ...]] = {}
    others: dict[str, Device] = {}
    for one in _CLASSES:
        for name, uevent in _read_class(host, one, faults):
            slot = slot_of(uevent)
            if slot is not None:
                nodes[slot] = (*nodes.get(slot, ()), one.nodes + name)
            elif one.computes and name.startswith(one.computes) and "OF_FULLNAME" in uevent:
                # Only what a device tree describes is hardware: virtual machines and tests have render nodes too.
                key = uevent["OF_FULLNAME"]
                found = others.get(key) or _outside_pci(one, name, uevent)
                others[key] = msgspec.structs.replace(found, nodes=(*found.nodes, one.nodes + name))
    return Members(nodes, tuple(others.values()))


def _read_class(host: Host, one: _Class, faults: Faults) -> Iterator[tuple[str, dict[str, str]]]:
    names = re.compile(one.names)
    for name in list_optional(host, one.folder, faults):
        if names.fullmatch(name):
            text = read_fact(host, f"{one.folder}/{name}/device/uevent", faults)
            if text is not None:
                yield name, parse_uevent_file(text)


def _outside_pci(one: _Class, name: str, uevent: Mapping[str, str]) -> Device:
    return Device(
        kind=one.kind,
        folder=f"{one.folder}/{name}/device",
        vendor=tree_vendor(uevent.get("OF_COMPATIBLE_0", "")),
        driver=uevent.get("DRIVER", ""),
    )
