"""Adapters for remote direct memory access, InfiniBand's and Ethernet's: the set ``network.rdma``.

The files are those of Linux, ABI/stable/sysfs-class-infiniband; ``device/uevent`` is the driver core's.
"""

import re
from collections.abc import Iterator

from nodeworthy.features import FeatureSet, Instance, clean_text
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.device_files import read_instances, read_optional
from nodeworthy_detector.sources.reading import Answer, Faults, absent

_ADAPTERS = "sys/class/infiniband"

_RATE = re.compile(r"([0-9]{1,7})(?:\.([0-9]))? Gb/sec\b.*")


def read_rdma(host: Host, faults: Faults) -> Answer:
    """One instance for each port of each adapter whose driver is loaded, software ones too."""
    names = host.list_names(_ADAPTERS)
    if names is None:
        host.require("sys/bus/platform")  # every Linux has this bus; a recording without it says nothing of adapters
        return absent("the kernel's InfiniBand core is not loaded")
    if not names:
        return FeatureSet(instances=())
    return read_instances(names, lambda name: _read_adapter(host, name, faults), faults, "RDMA adapters")


def _read_adapter(host: Host, name: str, faults: Faults) -> Iterator[Instance]:
    """The ports; an adapter that shows none is one instance, so that it does not go unseen.

    Left out are identifiers (GUIDs, node_desc): they are each adapter's own and say nothing of what it can do.
    """
    folder = f"{_ADAPTERS}/{name}"
    host.require(folder)  # an adapter that has just vanished has none any more
    values = read_optional(host, folder, ("node_type", "fw_ver", "hca_type"), faults)
    known = {
        "name": clean_text(name),
        "node_type": parse_state(values.get("node_type", "")),
        "firmware": values.get("fw_ver"),
        "hca_type": values.get("hca_type"),
        "driver": parse_driver(read_optional(host, f"{folder}/device", ("uevent",), faults).get("uevent", ""))
        or host.link_name(f"{folder}/device/driver"),
    }
    adapter = {attribute: value for attribute, value in known.items() if value}
    ports = sorted(
        (port for port in host.list_names(f"{folder}/ports") or () if re.fullmatch("[0-9]{1,9}", port)), key=int
    )
    if not ports:
        yield adapter
    for port in ports:
        yield adapter | {"port": port} | _read_port(host, f"{folder}/ports/{port}", faults)


def _read_port(host: Host, folder: str, faults: Faults) -> dict[str, str]:
    values = read_optional(host, folder, ("link_layer", "rate", "state"), faults)
    known = {
        "link_layer": values.get("link_layer"),
        "rate": parse_rate(values.get("rate", "")),
        "state": parse_state(values.get("state", "")),
    }
    return {attribute: value for attribute, value in known.items() if value}


def parse_state(text: str) -> str:
    """The word behind a number.

    >>> parse_state("4: ACTIVE"), parse_state("1: CA")
    ('ACTIVE', 'CA')
    """
    number, colon, word = text.partition(":")
    return word.strip() if colon and number.strip().isdigit() else text.strip()


def parse_rate(text: str) -> str | None:
    """A port's rate in Mbit/s, the unit of an interface's ``speed``; ``None`` if it is no rate.

    >>> parse_rate("56 Gb/sec (4X FDR)"), parse_rate("2.5 Gb/sec (1X SDR)")
    ('56000', '2500')
    """
    found = _RATE.fullmatch(text)
    return str(int(found[1]) * 1000 + int(found[2] or 0) * 100) if found else None


def parse_driver(uevent: str) -> str | None:
    """The driver that a device's ``uevent`` names in a line such as ``DRIVER=mlx5_core``."""
    found = re.search(r"^DRIVER=(\S+)$", uevent, re.MULTILINE)
    return found[1] if found else None
