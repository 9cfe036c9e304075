"""The source ``kernel``: release, configuration, modules, settings and services of the running kernel.

Belongs here: what the kernel or the files installed with it say of it, one module per kind of facts, thinking in pure
``parse_…`` functions. Does not belong here: whether a release is new enough for an image, and what the processor can do.
"""

from nodeworthy_detector.sources.kernel.release import read_release, read_release_for_paths
from nodeworthy_detector.sources.kernel.source import KernelSource

__all__ = ["KernelSource", "read_release", "read_release_for_paths"]
