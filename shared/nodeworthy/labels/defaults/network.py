"""Default labels of the source ``network`` (NFD, source/network/network.go)."""

from nodeworthy.features import Instance
from nodeworthy.labels.defaults.makers import LabelMaker, true_for_any

_MAX_DIGITS = 9
"""The PCI specification counts virtual functions in 16 bits; a longer text is no such count."""


def makers() -> tuple[LabelMaker, ...]:
    """The maker of this source: physical functions that can have virtual ones, and those that have (case P5)."""
    conditions = {
        "sriov.capable": lambda device: _count(device, "sriov_totalvfs") > 0,
        "sriov.configured": lambda device: _count(device, "sriov_numvfs") > 0,
    }
    return (true_for_any("network.device", conditions),)


def _count(device: Instance, attribute: str) -> int:
    text = device.get(attribute, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else 0
