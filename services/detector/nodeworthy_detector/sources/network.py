"""The source ``network``: interfaces with a device behind them, and virtual ones."""

from collections.abc import Callable

import msgspec

from nodeworthy.features import FeatureSet, clean_text
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.reading import Answer, Faults, Reading, read_sets, unknown

_INTERFACES = "sys/class/net"
_OF_ALL = ("operstate", "speed", "mtu")
_OF_DEVICES = ("sriov_numvfs", "sriov_totalvfs")

_NO_SPEED = frozenset({"-1", ""})
"""What drivers write as the speed of a link that is down or has none, and what a recording keeps of their refusal."""


class NetworkSource(msgspec.Struct, frozen=True):
    """The interfaces of the host's network namespace, as far as sysfs shows it."""

    name: str = "network"
    sets: tuple[str, ...] = ("network.device", "network.virtual")

    def read(self, host: Host) -> Reading:
        """Read each set on its own."""
        return read_sets(host, {"network.device": read_devices, "network.virtual": read_virtual})


def read_devices(host: Host, faults: Faults) -> Answer:
    """Interfaces with a device behind them."""
    return _read(host, faults, has_device=True)


def read_virtual(host: Host, faults: Faults) -> Answer:
    """Interfaces without one: loopback, bridges, the ends of containers."""
    return _read(host, faults, has_device=False)


def _read(host: Host, faults: Faults, *, has_device: bool) -> Answer:
    names = host.list_names(_INTERFACES)
    if names is None:
        return unknown(f"{_INTERFACES} is not there")
    instances: list[dict[str, str]] = []
    failed = 0
    for name in names:
        try:
            # bonding_masters is a file of the bonding module, no interface.
            if not host.is_folder(f"{_INTERFACES}/{name}"):
                continue
            if host.exists(f"{_INTERFACES}/{name}/device") is has_device:
                instances.append(_read_interface(host, name, faults, has_device=has_device))
        except HostReadError as error:
            failed += 1
            faults.add(error)
    if names and failed == len(names):
        return unknown(f"none of {len(names)} interfaces could be read")
    return FeatureSet(instances=tuple(instances))


def _read_interface(host: Host, name: str, faults: Faults, *, has_device: bool) -> dict[str, str]:
    found = {"name": clean_text(name)}
    paths = [(attribute, attribute) for attribute in _OF_ALL]
    paths += [(attribute, f"device/{attribute}") for attribute in _OF_DEVICES if has_device]
    for attribute, path in paths:
        value = _read_attribute(host.read_value, f"{_INTERFACES}/{name}/{path}", faults)
        if value is not None and not (attribute == "speed" and value in _NO_SPEED):
            found[attribute] = value
    return found


def _read_attribute(read: Callable[[str], str | None], path: str, faults: Faults) -> str | None:
    try:
        return read(path)
    except HostReadError as error:
        if not error.has_no_value:
            faults.add(error)
        return None
