"""The sources: one file per kind of facts, listed by hand in :data:`SOURCES`.

A new source is a frozen record with ``name``, ``sets`` and ``read`` (:class:`Source`): add its file, its name below, its
sets to docs and to nodeworthy/rules/known_sets.py, and a recorded machine that has it to tests/data/hosts. Does not belong
here: labels, rules, and anything that starts a program or needs a library beside msgspec.
"""

from nodeworthy_detector.sources.accel import AccelSource
from nodeworthy_detector.sources.cpu import CpuSource
from nodeworthy_detector.sources.custom import CustomSource
from nodeworthy_detector.sources.kernel import KernelSource
from nodeworthy_detector.sources.local import LocalSource
from nodeworthy_detector.sources.memory import MemorySource
from nodeworthy_detector.sources.network import NetworkSource
from nodeworthy_detector.sources.pci import PciSource
from nodeworthy_detector.sources.reading import Reading, Source
from nodeworthy_detector.sources.storage import StorageSource
from nodeworthy_detector.sources.system import SystemSource
from nodeworthy_detector.sources.usb import UsbSource

SOURCES: tuple[Source, ...] = (
    AccelSource(),
    CpuSource(),
    CustomSource(),
    KernelSource(),
    LocalSource(),
    MemorySource(),
    NetworkSource(),
    PciSource(),
    StorageSource(),
    SystemSource(),
    UsbSource(),
)
"""Every source, as it is without settings; a service that has settings builds its own tuple of the same records."""

__all__ = [
    "SOURCES",
    "AccelSource",
    "CpuSource",
    "CustomSource",
    "KernelSource",
    "LocalSource",
    "MemorySource",
    "NetworkSource",
    "PciSource",
    "Reading",
    "Source",
    "StorageSource",
    "SystemSource",
    "UsbSource",
]
