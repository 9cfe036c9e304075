"""What is executed when an image is run, and what that loads: entrypoint, scripts, interpreters, link closure.

Belongs here: following the config's entrypoint and command through PATH, links, ``#!`` and the dynamic linker's search, and
the faults that show on the way. Does not belong here: reading ELF (elf/) and what the files need of a node (readings/).
"""

from nodeworthy_resolver.inspection.closure.finding import find_start
from nodeworthy_resolver.inspection.closure.records import Loaded, Role, Start

__all__ = ["Loaded", "Role", "Start", "find_start"]
