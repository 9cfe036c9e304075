"""From the kernel's notices to the sources that have to look again, and whether this process gets the notices at all."""

import asyncio
import fcntl
import os
import socket
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from nodeworthy.processes import EventLog
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.uevents import Heard, Uevent, UeventSocket

_LOG = EventLog("detector")

SOURCES_OF: Mapping[str, tuple[str, ...]] = {
    "accel": ("accel", "system"),
    "block": ("storage",),
    "cpu": ("cpu",),
    "dax": ("memory",),
    "drivers": ("accel", "kernel"),
    "drm": ("accel", "system"),
    "fpga_bridge": ("accel",),
    "fpga_manager": ("accel",),
    "fpga_region": ("accel",),
    "habanalabs": ("accel", "system"),
    "infiniband": ("network",),
    "infiniband_verbs": ("network", "system"),
    "memory": ("memory",),
    "misc": ("accel", "kernel", "system"),
    "module": ("accel", "kernel"),
    "nd": ("memory",),
    "neuron_device": ("accel", "system"),
    "net": ("network",),
    "node": ("cpu", "memory"),
    "nvme": ("storage",),
    "pci": ("accel", "network", "pci"),
    "usb": ("usb",),
    "vfio": ("system",),
}
"""The kernel's subsystem to the sources that read something of it."""

TOLD = frozenset({"accel", "network", "pci", "storage", "usb"})
"""Sources of which a notice tells nearly every change: without notices they are looked at every few seconds."""

_INITIAL_USER_NAMESPACE = 0xEFFF_FFFD
"""The inode number of the first user namespace's file (PROC_USER_INIT_INO, <linux/proc_ns.h>)."""
_NS_GET_USERNS = 0xB701
"""ioctl_ns(2): the user namespace that owns another namespace."""

_SEQUENCE = "sys/kernel/uevent_seqnum"
_INTERFACES = "sys/class/net"
_ROOT = Path("/")
_TRIES = 3
"""What changes between two readings is no difference between two machines."""


class DeviceEvents:
    """Listens to the kernel on the loop, and names the sources that have to look again."""

    def __init__(
        self,
        host: Host,
        on_change: Callable[[str], None],
        *,
        open_socket: Callable[[], UeventSocket] = UeventSocket,
        find_problem: Callable[[Host], str] | None = None,
    ) -> None:
        self._host = host
        self._on_change = on_change
        self._open_socket = open_socket
        self._find_problem = find_problem or why_silent
        self._listener: UeventSocket | None = None
        self._problem = "nobody listens yet"
        self._network_problem = ""
        self.heard = 0
        """Notices, of whatever subsystem."""
        self.lost = 0
        """How often notices were lost."""

    def open(self) -> None:
        """Begin to listen; where the kernel refuses, or tells this process nothing, it is logged."""
        try:
            self._listener = self._open_socket()
        except OSError as error:
            self._problem = f"the kernel gives no uevent socket: {error.strerror or error}"
        else:
            asyncio.get_running_loop().add_reader(self._listener.descriptor, self._drain, self._listener)
            self._problem = self._find_problem(self._host)
            self._network_problem = why_other_network(self._host)
        if self._problem:
            _LOG.warning("detector.no_device_events", why=self._problem)

    def close(self) -> None:
        """Listen no more."""
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener.descriptor)
            self._listener.close()
            self._listener = None

    def problem(self, source: str) -> str:
        """Why changes of a source that notices would tell of may go unnoticed; empty if they do not."""
        if source not in TOLD:
            return ""
        return self._problem or (self._network_problem if source == "network" else "")

    def _drain(self, listener: UeventSocket) -> None:
        try:
            heard = listener.read()
        except OSError as error:
            self.close()
            self._problem = f"the uevent socket failed: {error.strerror or error}"
            _LOG.error("detector.no_device_events", why=self._problem)
            heard = Heard((), is_lost=True)
        self.heard += len(heard.events)
        if heard.is_lost:
            self.lost += 1
            _LOG.warning("detector.device_events_lost")
        for source in sources_of(heard):
            self._on_change(source)


def sources_of(heard: Heard) -> Collection[str]:
    """The sources that have to look again: all that there are notices for, if some of them were lost."""
    if heard.is_lost:
        return {source for sources in SOURCES_OF.values() for source in sources}
    return _sources_of(heard.events)


def _sources_of(events: Iterable[Uevent]) -> set[str]:
    return {source for event in events for source in SOURCES_OF.get(event.subsystem, ())}


def why_silent(host: Host) -> str:
    """Why the kernel tells this process nothing of the host's devices; empty if it does.

    Notices go to the network namespaces of the first user namespace only (lib/kobject_uevent.c, uevent_net_broadcast).
    """
    try:
        with open("/proc/self/ns/net", "rb") as own:  # noqa: PTH123 # a file of the kernel
            owner = fcntl.ioctl(own, _NS_GET_USERNS)
        try:
            number = os.fstat(owner).st_ino
        finally:
            os.close(owner)
    except OSError as error:
        return f"whose network namespace this is cannot be found out: {error.strerror or error}"
    if number != _INITIAL_USER_NAMESPACE:
        return "this process is in a user namespace, which the kernel sends no device events to"
    return _why_other_kernel(host)


def _why_other_kernel(host: Host) -> str:
    """A copy of another machine's files changes without notice; a sysfs of this kernel counts as this kernel does."""
    if host.is_this_machine:
        return ""
    try:
        for _ in range(_TRIES):
            theirs = host.read_value(_SEQUENCE)
            ours = Host(_ROOT).read_value(_SEQUENCE)
            if theirs is not None and theirs == ours:
                return ""
    except HostReadError as error:
        return str(error)
    return f"{_SEQUENCE} below the host root is not this kernel's"


def why_other_network(host: Host) -> str:
    """Why notices of network interfaces are another network namespace's than sysfs shows; empty if they are not.

    A container has interfaces of its own; a sysfs that is mounted into it shows those of whoever mounted it. Interfaces have
    the same numbers and names in both only if both are one.
    """
    try:
        for _ in range(_TRIES):
            shown = {(_number(host, name), name) for name in host.list_names(_INTERFACES) or ()}
            own = {(str(number), name) for number, name in socket.if_nameindex()}
            if own == {pair for pair in shown if pair[0]}:
                return ""
    except HostReadError as error:
        return str(error)
    return "this process is not in the network namespace that sysfs shows"


def _number(host: Host, name: str) -> str:
    try:
        return host.read_value(f"{_INTERFACES}/{name}/ifindex") or ""
    except HostReadError:
        return ""  # it went in between
