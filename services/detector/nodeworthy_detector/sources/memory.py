"""The source ``memory``: NUMA nodes, swap, non-volatile memory, sizes of pages."""

import re

import msgspec

from nodeworthy.features import Instance, clean_text
from nodeworthy_detector.cpuinfo import parse_cpu_list
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.device_files import read_instances, read_optional
from nodeworthy_detector.sources.page_size import read_page
from nodeworthy_detector.sources.reading import Answer, Faults, Reading, absent, attributes, read_sets

_NODES = "sys/devices/system/node"
_HUGEPAGES = "sys/kernel/mm/hugepages"
_NV_DEVICES = "sys/bus/nd/devices"

_MAX_SWAPS_BYTES = 1024 * 1024

_HUGEPAGES_FOLDER = re.compile(r"hugepages-([0-9]{1,15})kB")


class MemorySource(msgspec.Struct, frozen=True):
    """NUMA nodes, swap, non-volatile memory, sizes of pages."""

    name: str = "memory"
    sets: tuple[str, ...] = ("memory.hugepages", "memory.numa", "memory.nv", "memory.page", "memory.swap")

    def read(self, host: Host) -> Reading:
        """Read each set on its own."""
        return read_sets(
            host,
            {
                "memory.hugepages": read_hugepages,
                "memory.numa": read_numa,
                "memory.nv": read_nv,
                "memory.page": read_page,
                "memory.swap": read_swap,
            },
        )


def read_numa(host: Host, faults: Faults) -> Answer:
    """How many NUMA nodes are online and have CPUs.

    NFD counts every node that is listed, also those that are offline and those that are only memory (CXL, HBM, a GPU's
    own): programs that are pinned to nodes find no CPU there. The latter are counted in an attribute of their own.
    """
    names = host.list_names(_NODES)
    if names is None:
        host.require("sys/bus/platform")
        return absent("this kernel was built without NUMA")
    online = parse_cpu_list(host.read_value(f"{_NODES}/online") or "")
    if online is None:
        faults.add(f"{_NODES}/online is no list of nodes; every node counts")
    numbers = [name.removeprefix("node") for name in names if re.fullmatch(r"node[0-9]{1,6}", name)]
    kinds = [_has_cpus(host, number, faults) for number in numbers if not online or int(number) in online]
    count, memory_only, doubtful = (kinds.count(kind) for kind in (True, False, None))
    is_known = not doubtful or count > 1
    found = {
        "is_numa": ("true" if count > 1 else "false") if is_known else None,
        "node_count": None if doubtful else str(count),
        "memory_only_node_count": str(memory_only) if memory_only and not doubtful else None,
    }
    return attributes(found, found if doubtful else ())


def _has_cpus(host: Host, number: str, faults: Faults) -> bool | None:
    try:
        cpus = host.read_value(f"{_NODES}/node{number}/cpulist")
    except HostReadError as error:
        faults.add(error)
        return None
    return cpus is None or bool(cpus)


def read_swap(host: Host, _faults: Faults) -> Answer:
    """Whether some swap space is in use."""
    text = host.read_text("proc/swaps", _MAX_SWAPS_BYTES)
    if text is None:
        host.require("proc/sys/vm")
        return absent("this kernel was built without swap")
    return attributes({"enabled": "true" if has_swap(text) else "false"})


def has_swap(text: str) -> bool:
    """Whether /proc/swaps (proc(5)) lists anything below its heading; blank lines do not count."""
    return len([line for line in text.splitlines() if line.strip()]) > 1


def read_nv(host: Host, faults: Faults) -> Answer:
    """Devices of non-volatile memory, with the files of theirs that can be read."""
    names = host.list_names(_NV_DEVICES)
    if names is None:
        host.require("sys/bus/platform")  # every Linux has this bus; a recording without it says nothing of buses
    return read_instances(names or (), lambda name: (_read_nv_device(host, name, faults),), faults, "devices")


def _read_nv_device(host: Host, name: str, faults: Faults) -> Instance:
    folder = f"{_NV_DEVICES}/{name}"
    if not host.is_folder(folder):
        raise HostReadError(folder, "is not there")
    return {"name": clean_text(name)} | read_optional(host, folder, ("devtype", "mode"), faults)


def read_hugepages(host: Host, faults: Faults) -> Answer:
    """How many huge pages of each size are set aside; a count that cannot be read is unobserved."""
    host.require("sys/kernel/mm")
    counts: dict[str, str | None] = {}
    for folder in host.list_names(_HUGEPAGES) or ():
        found = _HUGEPAGES_FOLDER.fullmatch(folder)
        if found:
            count = _read_count(host, f"{_HUGEPAGES}/{folder}/nr_hugepages", faults)
            counts[f"hugepages-{quantity(int(found[1]))}"] = count
    enabled = "true" if any(int(count or 0) > 0 for count in counts.values()) else "false"
    missed = [name for name, count in counts.items() if count is None]
    if missed and enabled == "false":
        return attributes(counts, ["enabled", *missed])
    return attributes({"enabled": enabled, **counts}, missed)


def _read_count(host: Host, path: str, faults: Faults) -> str | None:
    try:
        count = host.read_value(path)
    except HostReadError as error:
        faults.add(error)
        return None
    if count is None or not re.fullmatch(r"[0-9]{1,18}", count):
        faults.add(f"{path} {'is not there' if count is None else 'is no number'}")
        return None
    return count


def quantity(kibibytes: int) -> str:
    """A size as Kubernetes writes it: in the largest unit that divides it.

    >>> quantity(2048), quantity(1048576), quantity(64), quantity(16777216)
    ('2Mi', '1Gi', '64Ki', '16Gi')
    """
    units = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
    step = 0
    while kibibytes and kibibytes % 1024 == 0 and step < len(units) - 1:
        kibibytes //= 1024
        step += 1
    return f"{kibibytes}{units[step]}"
