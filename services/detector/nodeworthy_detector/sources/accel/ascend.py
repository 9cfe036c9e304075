"""What Huawei's driver for Ascend tells in files: the version of its package; more is told by its library alone."""

import re
from collections.abc import Sequence

from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.accel.record import Device, Told, only_node, read_fact
from nodeworthy_detector.sources.reading import Faults

VERSION_FILE = "usr/local/Ascend/driver/version.info"
"""Where the driver's installer writes it; images mount the folder."""

_NODE = re.compile(r"davinci[0-9]+")
_SHARED_NODES = ("davinci_manager", "devmm_svm", "hisi_hdc")
"""Nodes that every program opens beside the device's own (Huawei, "Ascend Docker Runtime")."""

_ASSIGNMENT = re.compile(r"(\w+)=(\S+)", re.ASCII)


def parse_version_info(text: str) -> str | None:
    r"""The driver's version; ``package_version`` where there is one, since the other may be a component's then.

    >>> parse_version_info("Version=24.1.rc1\nascendhal_version=7.35.19\n")
    '24.1.rc1'
    """
    lines = (_ASSIGNMENT.fullmatch(line.strip()) for line in text.splitlines())
    values = {found[1]: found[2] for found in lines if found}
    return values.get("package_version") or values.get("Version")


def read_version(host: Host, faults: Faults) -> str | None:
    """The version of the installed driver."""
    return parse_version_info(read_fact(host, VERSION_FILE, faults) or "")


def read_told(host: Host, devices: Sequence[Device], faults: Faults) -> dict[str, Told]:
    """The one version for all devices; which ``davinci`` node is whose is told by the library alone."""
    npus = [device for device in devices if device.kind == "npu"]
    if not npus:
        return {}
    version, nodes = read_version(host, faults), (*only_node(host, npus, _NODE, faults), *_SHARED_NODES)
    return {device.folder: Told({"driver_version": version}, nodes) for device in npus}
