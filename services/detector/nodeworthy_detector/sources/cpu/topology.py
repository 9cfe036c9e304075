"""Sockets, threads, and groups of unlike cores."""

from collections import defaultdict

import msgspec

from nodeworthy.features import FeatureSet
from nodeworthy_detector.cpuinfo import Cpuinfo, cpu_list, parse_cpu_list
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.cpu import midr
from nodeworthy_detector.sources.reading import Answer, Faults, attributes, unknown

_CPUS = "sys/devices/system/cpu"

_X86_KINDS = ("core", "atom", "lowpower")
"""Linux names the performance counters of hybrid Intel machines cpu_core, cpu_atom and cpu_lowpower."""


_ONE_KIND = "sys/devices/cpu"
"""The performance counters of a machine whose cores are all of one kind."""

_MAX_DIGITS = 9
"""Of a frequency in kHz."""


class _Place(msgspec.Struct, frozen=True):
    package: str
    siblings: frozenset[int]


def read_topology(host: Host, faults: Faults) -> Answer:
    """Sockets, and whether two running threads share a core.

    A CPU that is switched off has no topology: it is not counted, and its siblings stand alone.
    """
    host.require(_CPUS)
    online = parse_cpu_list(host.read_value(f"{_CPUS}/online") or "")
    places: list[_Place] = []
    for name in host.list_names(_CPUS) or ():
        number = name.removeprefix("cpu")
        if number.isdigit() and (not online or int(number) in online):
            place = _read_place(host, f"{_CPUS}/{name}/topology", faults)
            places += [place] if place else []
    if not places:
        return unknown(f"no CPU below {_CPUS} tells its topology")
    running = [place.siblings & online if online else place.siblings for place in places]
    return attributes(
        {
            "hardware_multithreading": "true" if any(len(siblings) > 1 for siblings in running) else "false",
            "socket_count": str(len({place.package for place in places})),
        }
    )


def _read_place(host: Host, folder: str, faults: Faults) -> _Place | None:
    try:
        package = host.read_value(f"{folder}/physical_package_id")
        text = host.read_value(f"{folder}/thread_siblings_list")
    except HostReadError as error:
        faults.add(error)
        return None
    siblings = None if text is None else parse_cpu_list(text)
    if package is None or siblings is None:
        if package is not None or text is not None:
            faults.add(f"{folder}: physical_package_id or thread_siblings_list is missing or damaged")
        return None
    return _Place(package, siblings)


def read_groups(host: Host, info: Cpuinfo | None, faults: Faults) -> Answer:
    """The groups of like CPUs on a machine that mixes them, one instance each; one group on every other machine.

    NFD has nothing of the kind and takes the one CPU that it happens to run on for all.
    """
    kinds = {kind: host.read_value(f"sys/devices/cpu_{kind}/cpus") for kind in _X86_KINDS}
    hybrid = tuple({"kind": kind, "cpus": cpus} for kind, cpus in kinds.items() if cpus)
    if hybrid:
        return FeatureSet(instances=hybrid)
    if info is None or not info.blocks:
        return unknown("proc/cpuinfo is not there")
    groups = _kinds_by_topology(host, info, faults) or group(info)
    return FeatureSet(instances=groups) if groups else unknown("proc/cpuinfo does not tell its processors apart")


def _kinds_by_topology(host: Host, info: Cpuinfo, faults: Faults) -> tuple[dict[str, str], ...]:
    """The two kinds of cores of a hybrid Intel machine where the kernel does not name them; empty for all other machines.

    Performance cores run two threads, the efficient ones one, and these are slower, each and every one. Machines that name
    their performance counters ``cpu`` have cores of one kind, and need not be looked through.
    """
    if info.only("vendor_id") != "GenuineIntel" or host.is_folder(_ONE_KIND):
        return ()
    fast: dict[int, int] = {}
    slow: dict[int, int] = {}
    for block in info.blocks:
        number = int(block["processor"]) if block.get("processor", "").isdecimal() else -1
        try:
            frequency = host.read_value(f"{_CPUS}/cpu{number}/cpufreq/base_frequency") or ""
            siblings = parse_cpu_list(host.read_value(f"{_CPUS}/cpu{number}/topology/thread_siblings_list") or "")
        except HostReadError as error:
            faults.add(error)
            return ()
        if not siblings or not frequency.isdecimal() or len(frequency) > _MAX_DIGITS:
            return ()
        (fast if len(siblings) > 1 else slow)[number] = int(frequency)
    if not slow or len(set(fast.values())) != 1 or max(slow.values()) >= min(fast.values()):
        return ()
    return {"kind": "core", "cpus": cpu_list(list(fast))}, {"kind": "atom", "cpus": cpu_list(list(slow))}


_IDENTITY = (
    ("vendor", "vendor_id"),
    ("family", "cpu family"),
    ("model", "model"),
    ("implementer", "CPU implementer"),
    ("part", "CPU part"),
    ("variant", "CPU variant"),
)
"""Attribute, and the key of /proc/cpuinfo that it is read from."""


def group(info: Cpuinfo) -> tuple[dict[str, str], ...]:
    """The CPUs of the file by what they are, in the order of their numbers."""
    members: dict[tuple[tuple[str, str], ...], list[int]] = defaultdict(list)
    for block in info.blocks:
        number = block.get("processor", "")
        if number.isascii() and number.isdigit() and len(number) <= 6:  # noqa: PLR2004 # digits of a CPU number
            identity = tuple((name, block[key]) for name, key in _IDENTITY if block.get(key))
            core = midr.core_name(block.get("CPU implementer"), block.get("CPU part")) or block.get("model name")
            identity += (("name", core),) if core else ()
            members[identity].append(int(number))
    return tuple({**dict(identity), "cpus": cpu_list(numbers)} for identity, numbers in members.items())
