"""The source ``accel``: accelerators of every kind, and their drivers.

Belongs here: finding the devices (``functions``, ``members``), what each vendor's driver tells of its own in files (one
file per vendor), and every driver version of the machine (``drivers``, ``libraries``). Nothing is executed and no vendor
library is loaded: what only such a library tells is not told here. Does not belong here: names of devices from pci.ids,
which are for people's views and no facts, and judging which driver an image needs.
"""

from nodeworthy_detector.sources.accel.source import AccelSource

__all__ = ["AccelSource"]
