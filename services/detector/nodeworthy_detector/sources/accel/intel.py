"""What xe tells of its devices in sysfs; i915 and the NPU's driver have no more there than their device nodes."""

import re
from collections.abc import Sequence

from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.accel.record import Device, Health, Told, list_optional, read_fact, read_number
from nodeworthy_detector.sources.reading import Faults

_TILE = re.compile(r"tile[0-9]+")


def read_told(host: Host, devices: Sequence[Device], faults: Faults) -> dict[str, Told]:
    """What each device's files tell."""
    return {device.folder: _read_one(host, device, faults) for device in devices if device.driver == "xe"}


def _read_one(host: Host, device: Device, faults: Faults) -> Told:
    tiles = [name for name in list_optional(host, device.folder, faults) if _TILE.fullmatch(name)]
    # drivers/gpu/drm/xe/xe_tile_sysfs.c: one size for each tile of a card
    sizes = [read_number(host, f"{device.folder}/{tile}/physical_vram_size_bytes", faults) for tile in tiles]
    # The file is there only while the card waits for new firmware: drivers/gpu/drm/xe/xe_survivability_mode.c.
    survival = read_fact(host, f"{device.folder}/survivability_mode", faults)
    health = Health("failed", "the driver is in survivability mode: the firmware needs repair") if survival else None
    known = [size for size in sizes if size is not None]
    return Told({"memory_bytes": str(sum(known)) if known and len(known) == len(sizes) else None}, health=health)
