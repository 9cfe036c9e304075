"""Default labels of the source ``storage`` (NFD, source/storage/storage.go)."""

from nodeworthy.labels.defaults.makers import LabelMaker, true_for_any


def makers() -> tuple[LabelMaker, ...]:
    """The maker of this source: some disk does not rotate. The detector lists no loop, ram, zram and dm devices."""
    conditions = {"nonrotationaldisk": lambda disk: disk.get("rotational") == "0"}
    return (true_for_any("storage.block", conditions),)
