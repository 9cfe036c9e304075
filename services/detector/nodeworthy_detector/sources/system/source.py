"""The source ``system``: its sets, and which module reads each."""

import msgspec

from nodeworthy_detector.architecture import read_architecture
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.reading import Answer, Faults, Reading, attributes, read_sets, unknown
from nodeworthy_detector.sources.system.device_nodes import read_device_nodes
from nodeworthy_detector.sources.system.dmi import read_dmi
from nodeworthy_detector.sources.system.init import read_init
from nodeworthy_detector.sources.system.libraries import FOLDERS, LIBRARIES, Library, read_libraries
from nodeworthy_detector.sources.system.os_release import read_os_release
from nodeworthy_detector.sources.system.runtimes import read_runtimes


class SystemSource(msgspec.Struct, frozen=True):
    """Name, operating system and its libraries, programs that run containers, firmware tables, architecture."""

    node_name: str = ""
    """The name that the cluster gave this node; empty where there is no cluster."""
    libraries: tuple[Library, ...] = LIBRARIES
    """The libraries that ``system.library`` looks for."""
    library_folders: tuple[str, ...] = FOLDERS
    """Where it looks for them, below the host root."""
    name: str = "system"
    sets: tuple[str, ...] = (
        "system.architecture",
        "system.device",
        "system.dmiid",
        "system.init",
        "system.library",
        "system.name",
        "system.osrelease",
        "system.runtime",
    )

    def read(self, host: Host) -> Reading:
        """Read each set on its own."""
        return read_sets(
            host,
            {
                "system.architecture": read_architecture_set,
                "system.device": read_device_nodes,
                "system.dmiid": read_dmi,
                "system.init": read_init,
                "system.library": self._read_libraries,
                "system.name": lambda _host, _faults: attributes({"nodename": self.node_name}),
                "system.osrelease": read_os_release,
                "system.runtime": read_runtimes,
            },
        )

    def _read_libraries(self, host: Host, faults: Faults) -> Answer:
        return read_libraries(host, self.libraries, self.library_folders, faults)


def read_architecture_set(host: Host, _faults: Faults) -> Answer:
    """The architecture that images are compared with; NFD leaves it to Kubernetes."""
    found = read_architecture(host)
    if found is None:
        return unknown("neither the kernel nor a program of this root tells its architecture")
    return attributes(
        {
            "architecture": found.name,
            "machine": found.machine,
            "bits": found.bits,
            "endianness": found.endianness,
        }
    )
