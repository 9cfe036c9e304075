"""The source ``system``: the operating system beside its kernel, and the machine that it runs on.

Belongs here: what files of the host say of its operating system, libraries, container runtimes, device nodes and firmware,
one module per kind of facts; nothing is executed. Does not belong here: which of it an image needs.
"""

from nodeworthy_detector.sources.system.libraries import Library
from nodeworthy_detector.sources.system.source import SystemSource

__all__ = ["Library", "SystemSource"]
