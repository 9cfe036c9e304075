"""Devices as sysfs shows them: a folder for each, with small files in it."""

from collections.abc import Callable, Iterable, Sequence

from nodeworthy.features import FeatureSet, Instance
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.reading import Answer, Faults, unknown


def read_required(host: Host, folder: str, names: Iterable[str]) -> dict[str, str]:
    """The values of files without which a device says nothing.

    Raises:
        HostReadError: one is not there, since the device has just vanished, or cannot be read.
    """
    return {name: _read_required(host, f"{folder}/{name}") for name in names}


def _read_required(host: Host, path: str) -> str:
    value = host.read_value(path)
    if value is None:
        raise HostReadError(path, "is not there")
    return value


def read_optional(host: Host, folder: str, names: Iterable[str], faults: Faults) -> dict[str, str]:
    """The values of files that not every device has; one that has no value now is left out as if it were not there."""
    found: dict[str, str] = {}
    for name in names:
        try:
            value = host.read_value(f"{folder}/{name}")
        except HostReadError as error:
            if not error.has_no_value:
                faults.add(error)
            continue
        if value is not None:
            found[name] = value
    return found


def read_instances(
    names: Sequence[str], read: Callable[[str], Iterable[Instance]], faults: Faults, kind: str
) -> Answer:
    """The instances of all devices in the order of their names; a device that cannot be read is left out and is a fault.

    Where there are devices of this ``kind`` (a plural) and not one of them can be read, the set is unknown. Equal instances
    are one object: 10,000 functions are of some ten kinds, and the last answer is kept between passes.
    """
    kinds: dict[tuple[tuple[str, str], ...], Instance] = {}
    found: list[Instance] = []
    failed = 0
    for name in names:
        try:
            found += [kinds.setdefault(tuple(one.items()), one) for one in read(name)]
        except HostReadError as error:
            failed += 1
            faults.add(f"{error}; the device is left out")
    if names and failed == len(names):
        return unknown(f"none of {failed} {kind} could be read")
    return FeatureSet(instances=tuple(found))
