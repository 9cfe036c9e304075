"""The source ``cpu``: everything about processors.

Belongs here: asking the processor (``execution``), decoding what it or /proc/cpuinfo says (pure), and what Linux tells of
topology, power and security. Does not belong here: naming microarchitectures or judging which programs run; that is
knowledge about images and lives in the shared library.
"""

from nodeworthy_detector.sources.cpu.source import CpuSource

__all__ = ["CpuSource"]
