"""What amdgpu, its compute part amdkfd, and amdxdna tell of their devices in sysfs."""

import re
from collections.abc import Mapping, Sequence

from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.accel.record import Device, Health, Told, list_optional, read_fact, read_number
from nodeworthy_detector.sources.reading import Faults

_TOPOLOGY = "sys/class/kfd/kfd/topology/nodes"

_PROPERTY = re.compile(r"(\w+) ([0-9]{1,20})", re.ASCII)
_COUNT = re.compile(r"^ue: ([0-9]{1,20})$", re.MULTILINE)  # codespell:ignore ue # uncorrectable errors


def parse_properties(text: str) -> dict[str, int]:
    r"""The numbers of a topology node (``drivers/gpu/drm/amd/amdkfd/kfd_topology.c``, node_show).

    >>> parse_properties("simd_count 304\ngfx_target_version 90402\nlocation_id 29952\n")
    {'simd_count': 304, 'gfx_target_version': 90402, 'location_id': 29952}
    """
    return {found[1]: int(found[2]) for found in map(_PROPERTY.fullmatch, text.splitlines()) if found}


def format_gfx_target(version: int) -> str | None:
    """The compiler's name of an instruction set: minor version and stepping are two decimal digits, written as a hex digit.

    >>> format_gfx_target(90402), format_gfx_target(90010), format_gfx_target(110000), format_gfx_target(0)
    ('gfx942', 'gfx90a', 'gfx1100', None)
    """
    major, minor, stepping = version // 10_000, version // 100 % 100, version % 100
    if not 0 < major < 100 or minor > 15 or stepping > 15:  # noqa: PLR2004 # one hexadecimal digit each; 0 is a CPU
        return None
    return f"gfx{major}{minor:x}{stepping:x}"


def address_of(properties: Mapping[str, int]) -> str:
    """The PCI address of a topology node: bus, device and function are packed as the bus itself does.

    >>> address_of({"domain": 1, "location_id": 0x050B})
    '0001:05:01.3'
    """
    location = properties.get("location_id", 0)
    return f"{properties.get('domain', 0):04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7}"


def count_uncorrectable(text: str) -> int:
    r"""The uncorrectable errors in a block's counts (``amdgpu_ras.c``, amdgpu_ras_sysfs_read).

    >>> count_uncorrectable("ue: 3\nce: 120\nde: 0")  # codespell:ignore ue
    3
    """
    found = _COUNT.search(text)
    return int(found[1]) if found else 0


def read_told(host: Host, devices: Sequence[Device], faults: Faults) -> dict[str, Told]:
    """What each device's files tell."""
    targets = _read_targets(host, faults)
    return {device.folder: _read_one(host, device, targets.get(device.address or ""), faults) for device in devices}


def _read_targets(host: Host, faults: Faults) -> dict[str, str]:
    targets: dict[str, str] = {}
    for name in list_optional(host, _TOPOLOGY, faults):
        text = read_fact(host, f"{_TOPOLOGY}/{name}/properties", faults)
        properties = parse_properties(text or "")
        target = format_gfx_target(properties.get("gfx_target_version", 0))
        if target is not None:
            targets[address_of(properties)] = target
    return targets


def _read_one(host: Host, device: Device, target: str | None, faults: Faults) -> Told:
    def read(name: str) -> str | None:
        return read_fact(host, f"{device.folder}/{name}", faults)

    if device.kind == "npu":  # drivers/accel/amdxdna/amdxdna_sysfs.c
        return Told({"model": read("vbnv"), "firmware": read("fw_version")})
    # Documentation/gpu/amdgpu/driver-misc.rst
    memory = read_number(host, f"{device.folder}/mem_info_vram_total", faults)
    attributes = {
        "model": read("product_name"),
        "firmware": read("vbios_version"),
        "memory_bytes": None if memory is None else str(memory),
        "compute_partition": read("current_compute_partition"),
        "gfx_target": target,
    }
    return Told(attributes, ("kfd",) if target else (), _read_health(host, device, faults))


def _read_health(host: Host, device: Device, faults: Faults) -> Health | None:
    if device.is_asleep:  # the counts are asked of the hardware
        return None
    text = read_fact(host, f"{device.folder}/ras/umc_err_count", faults)
    errors = count_uncorrectable(text or "")
    return Health("degraded", f"{errors} uncorrectable memory errors") if errors else None
