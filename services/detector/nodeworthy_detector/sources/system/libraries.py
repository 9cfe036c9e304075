"""Libraries of the host that images load or get mounted: which there are, their versions and architectures.

Everything is read from files: the version in a file's name, the versions that a library's symbols have. Nothing is executed.
"""

import os.path
import re
from collections.abc import Iterator, Sequence

import msgspec

from nodeworthy.features import FeatureSet
from nodeworthy_detector.architecture import Architecture
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.reading import Answer, Faults, unknown
from nodeworthy_detector.sources.system.elf import newest_version, read_elf, read_versions
from nodeworthy_detector.sources.system.packages import read_packages

_TRIPLETS = (
    "x86_64-linux-gnu",
    "i386-linux-gnu",
    "aarch64-linux-gnu",
    "arm-linux-gnueabihf",
    "powerpc64le-linux-gnu",
    "riscv64-linux-gnu",
    "s390x-linux-gnu",
)
"""Debian's folders (Multiarch/Tuples); a host may have those of several architectures."""

FOLDERS = (
    "usr/lib64",
    "usr/lib",
    "usr/lib32",
    *(f"usr/lib/{triplet}" for triplet in _TRIPLETS),
    "lib64",
    "lib",
    *(f"lib/{triplet}" for triplet in _TRIPLETS),
    "usr/local/lib",
    "usr/local/lib64",
    "usr/lib64/openmpi/lib",  # Fedora and RHEL: an MPI each in a folder of its own
    "usr/lib64/mpich/lib",
    "opt/amazon/efa/lib64",  # AWS's installer for EFA: libfabric; its own Open MPI
    "opt/amazon/openmpi/lib64",
    "run/nvidia/driver/usr/lib64",  # NVIDIA's GPU operator: the driver's own root
    "run/nvidia/driver/usr/lib/x86_64-linux-gnu",
    "run/nvidia/driver/usr/lib/aarch64-linux-gnu",
    "home/kubernetes/bin/nvidia/lib64",  # Container-Optimized OS
    "usr/local/glibc/usr/lib",  # Talos: system extensions that need glibc
    "usr/lib/wsl/lib",  # WSL: what Windows offers
)
"""Where distributions and installers keep shared libraries."""

_ROCM_FOLDER = "opt"
_ROCM_VERSION = ".info/version"
"""AMD's packages write it below /opt/rocm, and below /opt/rocm-6.1.2 where several are installed."""


_VERSION = re.compile(r"\.so\.([0-9]+(?:\.[0-9]+)+)\Z")


class Library(msgspec.Struct, frozen=True):
    """A library to look for."""

    name: str
    file: str
    """The beginning of its files' names; ``*`` stands for anything, and numbers such as ``.6.0.30`` may follow."""
    symbols: str = ""
    """The word before the version of its symbols: ``GLIBC`` of ``GLIBC_2.36``. Empty: these tell nothing."""
    package: str = ""
    """The package that tells its version where the file's name does not; empty: none."""


_GLIBC = "GLIBC"

LIBRARIES = (
    Library("glibc", "libc.so.6", symbols=_GLIBC),
    Library("musl", "ld-musl-*.so.1", package="musl"),
    Library("libstdc++", "libstdc++.so", symbols="GLIBCXX"),
    Library("libcuda", "libcuda.so"),
    Library("libnvidia-ml", "libnvidia-ml.so"),
    Library("libibverbs", "libibverbs.so"),
    Library("librdmacm", "librdmacm.so"),
    Library("libfabric", "libfabric.so"),
    Library("openmpi", "libmpi.so.40"),  # the ABI of Open MPI 2 and newer
    Library("mpich", "libmpi.so.12"),  # the ABI that MPICH, Intel MPI and MVAPICH have agreed on
    Library("mpich", "libmpich.so"),  # MPICH on Debian
    Library("libseccomp", "libseccomp.so"),
)
"""What images are known to load from their host, or to need in a version that suits the host's."""


def read_libraries(host: Host, libraries: Sequence[Library], folders: Sequence[str], faults: Faults) -> Answer:
    """One instance per library file, by name and path; several versions are several instances."""
    if not host.is_folder("usr/lib") and not host.is_folder("lib"):
        return unknown("neither usr/lib nor lib is there")
    found = [*_find_files(host, libraries, folders, faults), *_find_rocm(host, faults)]
    return FeatureSet(instances=tuple(sorted(found, key=lambda one: (one["name"], one["path"]))))


def _find_files(
    host: Host, libraries: Sequence[Library], folders: Sequence[str], faults: Faults
) -> Iterator[dict[str, str]]:
    patterns = [(library, compile_pattern(library.file)) for library in libraries]
    seen: set[str] = set()
    for folder in folders:
        try:
            names = host.list_names(folder) if _is_new(host, folder, seen) else None
        except HostReadError as error:
            faults.add(error)
            continue
        for library, pattern in patterns:
            # The longest name first: the links to a file are shorter, and its version is in the file's own name.
            for name in sorted(filter(pattern.fullmatch, names or ()), key=len, reverse=True):
                path = f"{folder}/{name}"
                try:
                    if _is_new(host, path, seen):
                        yield _describe(host, library, path)
                except HostReadError as error:
                    faults.add(error)


def compile_pattern(file: str) -> re.Pattern[str]:
    """The names of a library's files."""
    return re.compile(re.escape(file).replace(r"\*", ".*") + r"(?:\.[0-9]+)*")


def version_in(name: str) -> str | None:
    """The version at the end of a file's name; a single number there is that of its interface.

    >>> version_in("libstdc++.so.6.0.30"), version_in("libcuda.so.1")
    ('6.0.30', None)
    """
    found = _VERSION.search(name)
    return found[1] if found else None


def _is_new(host: Host, path: str, seen: set[str]) -> bool:
    """Whether a file or folder is there and was not seen under another name."""
    if not host.exists(path):
        return False
    try:
        place = os.path.realpath(host.locate(path))
    except OSError as error:
        raise HostReadError(path, "cannot be followed") from error
    is_new = place not in seen
    seen.add(place)
    return is_new


def _describe(host: Host, library: Library, path: str) -> dict[str, str]:
    elf = read_elf(host, path)
    if elf is None:
        raise HostReadError(path, "has vanished")
    symbols = newest_version(read_versions(host, elf), library.symbols) if library.symbols else None
    machine = elf.header.machine
    told = {
        "version": _read_version(host, library, path, symbols),
        "symbol_version": symbols,
        "architecture": Architecture(machine).name if machine else None,
    }
    return {"name": library.name, "path": f"/{path}"} | {name: value for name, value in told.items() if value}


def _read_version(host: Host, library: Library, path: str, symbols: str | None) -> str | None:
    if library.package:
        return (read_packages(host, [library.package]) or {}).get(library.package)
    # The number in the name of glibc's file is that of its interface, and never changes.
    return symbols if library.symbols == _GLIBC else version_in(path)


def _find_rocm(host: Host, faults: Faults) -> Iterator[dict[str, str]]:
    seen: set[str] = set()
    try:
        folders = [name for name in host.list_names(_ROCM_FOLDER) or () if name.startswith("rocm")]
    except HostReadError as error:
        faults.add(error)
        return
    for folder in folders:
        path = f"{_ROCM_FOLDER}/{folder}/{_ROCM_VERSION}"
        try:
            version = (host.read_value(path) or "") if _is_new(host, path, seen) else ""
        except HostReadError as error:
            faults.add(error)
            continue
        if version:
            yield {"name": "rocm", "path": f"/{_ROCM_FOLDER}/{folder}", "version": version}
