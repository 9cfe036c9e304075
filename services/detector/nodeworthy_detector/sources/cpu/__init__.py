"""The source ``cpu``: everything about processors.

Belongs here: asking the processor (``execution``), decoding what it, the auxiliary vector or /proc/cpuinfo says (pure), and
what Linux tells of topology, power, security and 32-bit programs. Does not belong here: judging whether an image runs; that
is knowledge about images and lives in the shared library.
"""

from nodeworthy_detector.sources.cpu.source import CpuSource

__all__ = ["CpuSource"]
