"""The source ``accel``: what its three sets are read by."""

import msgspec

from nodeworthy.features import FeatureSet
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.accel.devices import read_devices
from nodeworthy_detector.sources.accel.drivers import judge_conflicts, read_drivers
from nodeworthy_detector.sources.reading import Reading, read_sets


class AccelSource(msgspec.Struct, frozen=True):
    """Accelerators, every version of their drivers, and versions that do not fit each other.

    A conflict of drivers is a set, for rules, and a fault as well, so that people see it where they see a node's health.
    """

    name: str = "accel"
    sets: tuple[str, ...] = ("accel.conflict", "accel.device", "accel.driver")

    def read(self, host: Host) -> Reading:
        """Read devices and drivers, then compare the drivers."""
        reading = read_sets(host, {"accel.device": read_devices, "accel.driver": read_drivers})
        conflict = judge_conflicts(reading.sets["accel.driver"])
        instances = conflict.instances if isinstance(conflict, FeatureSet) else None
        sentences = tuple(instance["text"] for instance in instances or ())
        return Reading({"accel.conflict": conflict, **reading.sets}, (*sentences, *reading.faults))
