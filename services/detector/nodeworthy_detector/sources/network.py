"""The source ``network``: interfaces with a device behind them, virtual ones, and adapters for RDMA."""

import msgspec

from nodeworthy.features import Instance, clean_text
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.device_files import read_instances, read_optional
from nodeworthy_detector.sources.rdma import read_rdma
from nodeworthy_detector.sources.reading import Answer, Faults, Reading, read_sets, unknown

_INTERFACES = "sys/class/net"
_OF_ALL = ("operstate", "speed", "mtu")
_OF_DEVICES = ("sriov_numvfs", "sriov_totalvfs")

_NO_INTERFACE = "bonding_masters"
"""A file of the bonding module."""

_NO_SPEED = frozenset({"-1", ""})
"""What drivers write as the speed of a link that is down or has none, and what a recording keeps of their refusal."""


class NetworkSource(msgspec.Struct, frozen=True):
    """The interfaces of the host's network namespace, as far as sysfs shows it."""

    name: str = "network"
    sets: tuple[str, ...] = ("network.device", "network.rdma", "network.virtual")

    def read(self, host: Host) -> Reading:
        """Read each set on its own."""
        return read_sets(
            host, {"network.device": read_devices, "network.rdma": read_rdma, "network.virtual": read_virtual}
        )


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

    def read(name: str) -> tuple[Instance, ...]:
        folder = f"{_INTERFACES}/{name}"
        # Pods come and go: an interface that is not there any more is no fault.
        if not host.is_folder(folder) or host.exists(f"{folder}/device") is not has_device:
            return ()
        return (_read_interface(host, name, faults, has_device=has_device),)

    return read_instances([name for name in names if name != _NO_INTERFACE], read, faults, "interfaces")


def _read_interface(host: Host, name: str, faults: Faults, *, has_device: bool) -> Instance:
    folder = f"{_INTERFACES}/{name}"
    found = {"name": clean_text(name)} | read_optional(host, folder, _OF_ALL, faults)
    if found.get("speed") in _NO_SPEED:
        del found["speed"]
    return found | (read_optional(host, f"{folder}/device", _OF_DEVICES, faults) if has_device else {})
