"""The source ``kernel``: its sets, and which module reads each."""

import msgspec

from nodeworthy.features import FeatureSet
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import kernel_config
from nodeworthy_detector.sources.kernel.binfmt import read_handlers
from nodeworthy_detector.sources.kernel.cgroup import read_cgroups
from nodeworthy_detector.sources.kernel.modules import (
    ASKED_BY_IMAGES,
    ModuleLists,
    read_loaded_modules,
    read_module_info,
    unify,
)
from nodeworthy_detector.sources.kernel.release import read_release_for_paths, read_version
from nodeworthy_detector.sources.kernel.security import read_security, read_selinux
from nodeworthy_detector.sources.kernel.sysctls import SYSCTLS, read_sysctls
from nodeworthy_detector.sources.reading import Answer, Faults, Reading, attributes, read_sets


class KernelSource(msgspec.Struct, frozen=True):
    """Release, configuration, modules and settings of the running kernel."""

    config_file: str = ""
    """A kernel configuration below the host root that is looked at before the usual places; none by default."""
    modules: frozenset[str] = ASKED_BY_IMAGES
    """Modules that ``kernel.moduleinfo`` tells of also where they are only there to be loaded; ``-`` and ``_`` are one."""
    sysctls: tuple[str, ...] = SYSCTLS
    """The settings that ``kernel.sysctl`` tells, as sysctl(8) names them."""
    name: str = "kernel"
    sets: tuple[str, ...] = (
        "kernel.availablemodule",
        "kernel.binfmt",
        "kernel.cgroup",
        "kernel.config",
        "kernel.enabledmodule",
        "kernel.kvm",
        "kernel.loadedmodule",
        "kernel.module",
        "kernel.moduleinfo",
        "kernel.security",
        "kernel.selinux",
        "kernel.sysctl",
        "kernel.version",
    )

    def read(self, host: Host) -> Reading:
        """Read each set on its own."""
        lists = ModuleLists(host)
        return read_sets(
            host,
            {
                "kernel.availablemodule": lambda _host, _faults: FeatureSet(flags=lists.available),
                "kernel.binfmt": read_handlers,
                "kernel.cgroup": read_cgroups,
                "kernel.config": self._read_config,
                "kernel.enabledmodule": lambda _host, _faults: FeatureSet(flags=lists.enabled),
                "kernel.kvm": read_kvm,
                "kernel.loadedmodule": lambda _host, _faults: read_loaded_modules(lists),
                "kernel.module": lambda _host, _faults: FeatureSet(flags=unify(lists.enabled)),
                "kernel.moduleinfo": lambda _host, faults: read_module_info(host, lists, self.modules, faults),
                "kernel.security": read_security,
                "kernel.selinux": read_selinux,
                "kernel.sysctl": lambda _host, faults: read_sysctls(host, self.sysctls, faults),
                "kernel.version": read_version,
            },
        )

    def _read_config(self, host: Host, faults: Faults) -> Answer:
        return kernel_config.read_config(host, read_release_for_paths(host), self.config_file, faults)


def read_kvm(host: Host, _faults: Faults) -> Answer:
    """Whether the kernel offers KVM; whether a program can open it is ``kvm`` in ``system.device``."""
    host.require("sys/devices/virtual/misc")
    return attributes({"enabled": "true" if host.exists("sys/devices/virtual/misc/kvm") else "false"})
