"""The source ``kernel``: release, configuration and modules of the running kernel, and two of its services."""

import re

import msgspec

from nodeworthy.features import FeatureSet
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources import kernel_config
from nodeworthy_detector.sources.reading import Answer, Faults, Reading, absent, attributes, read_sets, unknown

_MAX_MODULES_BYTES = 4 * 1024 * 1024
"""/proc/modules and modules.builtin: distributions have about 6,000 modules, 100 bytes each."""

_RELEASE = re.compile(r"[-A-Za-z0-9_.+~^:]{1,128}")
"""A release that may stand in a path; the kernel limits it to 64 letters (struct new_utsname)."""

_COMPONENTS = re.compile(r"v?([0-9]+)(?:\.([0-9]+)(?:\.([0-9]+))?)?(?![0-9])")
"""The numeric part that every distribution's release starts with; what follows is the distribution's own."""


class KernelSource(msgspec.Struct, frozen=True):
    """Release, configuration, modules, SELinux and KVM."""

    config_file: str = ""
    """A kernel configuration below the host root that is looked at before the usual places; none by default."""
    name: str = "kernel"
    sets: tuple[str, ...] = (
        "kernel.config",
        "kernel.enabledmodule",
        "kernel.kvm",
        "kernel.loadedmodule",
        "kernel.module",
        "kernel.selinux",
        "kernel.version",
    )

    def read(self, host: Host) -> Reading:
        """Read each set on its own."""
        return read_sets(
            host,
            {
                "kernel.config": self._read_config,
                "kernel.enabledmodule": read_enabled_modules,
                "kernel.kvm": read_kvm,
                "kernel.loadedmodule": read_loaded_modules,
                "kernel.module": read_modules,
                "kernel.selinux": read_selinux,
                "kernel.version": read_version,
            },
        )

    def _read_config(self, host: Host, faults: Faults) -> Answer:
        return kernel_config.read_config(host, _release_for_paths(host), self.config_file, faults)


def read_release(host: Host) -> str | None:
    """What ``uname -r`` says: /proc/sys/kernel/osrelease, or the third word of /proc/version.

    Raises:
        HostReadError: the files are there and cannot be read.
    """
    release = host.read_value("proc/sys/kernel/osrelease")
    if release is None:
        words = (host.read_value("proc/version") or "").split()
        release = words[2] if words[:2] == ["Linux", "version"] and len(words) > 2 else None  # noqa: PLR2004 # third
    return release or None


def _release_for_paths(host: Host) -> str | None:
    release = read_release(host)
    return release if release and _RELEASE.fullmatch(release) and release.strip(".") else None


def read_version(host: Host, _faults: Faults) -> Answer:
    """The release and its numeric components."""
    release = read_release(host)
    if release is None:
        return unknown("neither proc/sys/kernel/osrelease nor proc/version is there")
    return attributes(parse_release(release))


def parse_release(release: str) -> dict[str, str | None]:
    """The components of a release such as ``5.14.0-427.13.1.el9_4.x86_64``.

    ``full`` is NFD's form, a legal label value; ``raw`` is what the kernel says. A component that the release does not have
    is ``None``; NFD writes an empty text, and nothing at all for releases with four numbers.
    """
    full = re.sub(r"[^-A-Za-z0-9_.]", "_", release).strip("-_.")
    found = _COMPONENTS.match(release)
    major, minor, revision = found.groups() if found else (None, None, None)
    return {"full": full, "raw": release, "major": major, "minor": minor, "revision": revision}


def read_loaded_modules(host: Host, _faults: Faults) -> Answer:
    """The modules that are loaded now."""
    loaded = _loaded(host)
    return absent("this kernel has no loadable modules") if loaded is None else FeatureSet(flags=loaded)


def read_enabled_modules(host: Host, _faults: Faults) -> Answer:
    """NFD's union of what is loaded and what is built in, the latter as its files are spelt."""
    return FeatureSet(flags=frozenset((_loaded(host) or frozenset()) | _built_in(host)))


def read_modules(host: Host, _faults: Faults) -> Answer:
    """The same union in the kernel's own spelling: it knows ``vfio-pci.ko`` as ``vfio_pci``."""
    names = (_loaded(host) or frozenset()) | _built_in(host)
    return FeatureSet(flags=frozenset(name.replace("-", "_") for name in names))


def _loaded(host: Host) -> frozenset[str] | None:
    host.require(
        "proc/sys/vm"
    )  # every Linux has it; a recording without it is too thin for what is missing to say anything
    text = host.read_text("proc/modules", _MAX_MODULES_BYTES)
    return None if text is None else parse_loaded(text)


def _built_in(host: Host) -> frozenset[str]:
    release = _release_for_paths(host)
    if release is None:
        raise HostReadError("lib/modules", "cannot be searched: the kernel's release is not known")
    for folder in ("lib/modules", "usr/lib/modules"):
        path = f"{folder}/{release}/modules.builtin"
        text = host.read_text(path, _MAX_MODULES_BYTES)
        if text is not None:
            return parse_built_in(text)
    raise HostReadError(f"lib/modules/{release}/modules.builtin", "is not there")


def parse_loaded(text: str) -> frozenset[str]:
    """The names in /proc/modules (proc(5)): the first word of lines as ``vfio_pci 16384 0 - Live 0x0``."""
    return frozenset(line.split(None, 1)[0] for line in text.splitlines() if line.strip())


def parse_built_in(text: str) -> frozenset[str]:
    """The names in modules.builtin: lines as ``kernel/drivers/gpu/drm/i915/i915.ko``."""
    files = (line.strip().rpartition("/")[2] for line in text.splitlines())
    return frozenset(file.removesuffix(".ko") for file in files if file.endswith(".ko"))


def read_selinux(host: Host, _faults: Faults) -> Answer:
    """Whether SELinux enforces its policy."""
    host.require("sys/fs")
    enforce = host.read_text("sys/fs/selinux/enforce")
    return attributes({"enabled": "true" if (enforce or "").startswith("1") else "false"})


def read_kvm(host: Host, _faults: Faults) -> Answer:
    """Whether the kernel offers KVM."""
    host.require("sys/devices/virtual/misc")
    return attributes({"enabled": "true" if host.exists("sys/devices/virtual/misc/kvm") else "false"})
