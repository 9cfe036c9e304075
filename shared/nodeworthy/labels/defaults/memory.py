"""Default labels of the source ``memory`` (NFD, source/memory/memory.go); huge pages give none."""

from nodeworthy.features import Instance
from nodeworthy.labels.defaults.makers import LabelMaker, true_attribute, true_for_any


def makers() -> tuple[LabelMaker, ...]:
    """The makers of this source. The label of swap is ``memory-swap``, whatever NFD's documentation says."""
    return (
        true_attribute("memory.numa", "numa", "is_numa"),
        true_for_any("memory.nv", {"nv.present": lambda _device: True, "nv.dax": _is_dax}),
        true_attribute("memory.swap", "swap", "enabled"),
    )


def _is_dax(device: Instance) -> bool:
    return device.get("devtype") == "nd_dax"
