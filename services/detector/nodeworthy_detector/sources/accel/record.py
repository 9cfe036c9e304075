"""One accelerator as it was found, and what its driver tells of it."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources import device_files
from nodeworthy_detector.sources.accel.knowledge import Kind
from nodeworthy_detector.sources.reading import Faults

_NUMBER = re.compile(r"[0-9]{1,20}")
"""Up to what 64 bits can hold."""

HealthWord: TypeAlias = Literal["ok", "degraded", "failed", "unknown"]


class Health(msgspec.Struct, frozen=True):
    """How a device is, and why that is thought."""

    word: HealthWord
    reason: str = ""


class Device(msgspec.Struct, frozen=True):
    """One accelerator, whoever drives it."""

    kind: Kind
    folder: str
    """Its folder in sysfs."""
    vendor: str | None = None
    """A word, or the vendor's number."""
    address: str | None = None
    """On the PCI bus; others have none."""
    vendor_id: str | None = None
    device_id: str | None = None
    driver: str | None = None
    """Empty where no driver is bound, ``None`` where nothing tells."""
    form: str = "physical"
    """``physical``, or ``virtual-function`` of a device of this machine."""
    is_asleep: bool = False
    """Suspended by power management: some files would wake it."""
    nodes: tuple[str, ...] = ()
    """Device nodes that belong to it, below /dev."""


class Told(msgspec.Struct, frozen=True):
    """What the driver's own files tell of one device; it goes before what is known by numbers."""

    attributes: Mapping[str, str | None] = {}
    nodes: tuple[str, ...] = ()
    health: Health | None = None


ReadTold: TypeAlias = Callable[[Host, Sequence[Device], Faults], Mapping[str, Told]]
"""Reads what a vendor's drivers tell of its devices, by their folders; it never raises."""


def read_fact(host: Host, path: str, faults: Faults) -> str | None:
    """The value in a file; ``None`` where there is none now, or where it cannot be read, which is a fault."""
    folder, _, name = path.rpartition("/")
    return device_files.read_optional(host, folder, (name,), faults).get(name) or None


def read_number(host: Host, path: str, faults: Faults) -> int | None:
    """The decimal number in a file; ``None`` where there is none, or something else."""
    text = read_fact(host, path, faults)
    return int(text) if text is not None and _NUMBER.fullmatch(text) else None


def list_optional(host: Host, path: str, faults: Faults) -> tuple[str, ...]:
    """The names in a folder; none where it is not there, or where it cannot be listed, which is a fault."""
    try:
        return host.list_names(path) or ()
    except HostReadError as error:
        faults.add(error)
        return ()


def exists_optional(host: Host, path: str, faults: Faults) -> bool:
    """Whether a file is there; not being able to look is a fault."""
    try:
        return host.exists(path)
    except HostReadError as error:
        faults.add(error)
        return False


def link_name_optional(host: Host, path: str, faults: Faults) -> str | None:
    """What a symbolic link names; not being able to look is a fault."""
    try:
        return host.link_name(path)
    except HostReadError as error:
        faults.add(error)
        return None


def only_node(host: Host, devices: Sequence[Device], pattern: re.Pattern[str], faults: Faults) -> tuple[str, ...]:
    """The device node of a driver that does not say which node is whose: known only where there is one of each."""
    names = [name for name in list_optional(host, "dev", faults) if pattern.fullmatch(name)]
    return (names[0],) if len(devices) == len(names) == 1 else ()
