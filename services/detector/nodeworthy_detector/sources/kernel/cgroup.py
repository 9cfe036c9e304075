"""Control groups: which version is mounted, and the controllers that containers can be limited by."""

from nodeworthy.features import FeatureSet
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.reading import Answer, Faults, unknown

_FOLDER = "sys/fs/cgroup"
_UNIFIED = "cgroup.controllers"
"""The file that the root of a version 2 hierarchy has (Linux, Documentation/admin-guide/cgroup-v2.rst)."""

_LIST = "proc/cgroups"


def read_cgroups(host: Host, _faults: Faults) -> Answer:
    """The controllers as flags, and ``version``: ``2``, ``1``, or ``hybrid``, 1 with a version 2 hierarchy beside it.

    A controller that the kernel has and the boot options switch off (``cgroup_disable=memory``) is none of them.
    """
    host.require("sys/fs")
    unified = host.read_text(f"{_FOLDER}/{_UNIFIED}")
    if unified is not None:
        return FeatureSet(flags=frozenset(unified.split()), attributes={"version": "2"})
    folders = host.list_names(_FOLDER)
    if not folders:
        return unknown(f"no control groups are mounted at {_FOLDER}")
    listed = host.read_text(_LIST)
    if listed is None:
        return unknown(f"{_LIST} is not there, which names the controllers of version 1")
    mounted = frozenset(name for folder in folders for name in folder.split(","))
    version = "hybrid" if host.exists(f"{_FOLDER}/unified/{_UNIFIED}") else "1"
    return FeatureSet(flags=parse_enabled(listed) & mounted, attributes={"version": version})


def parse_enabled(text: str) -> frozenset[str]:
    """The controllers in /proc/cgroups whose last column is not 0 (cgroups(7)).

    The text::

        #subsys_name	hierarchy	num_cgroups	enabled
        cpuset	3	96	1
    """
    rows = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return frozenset(row[0] for row in rows if len(row) == 4 and row[3] != "0")  # noqa: PLR2004 # columns
