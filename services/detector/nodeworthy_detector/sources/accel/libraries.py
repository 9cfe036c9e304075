"""NVIDIA's user-space driver: which versions of its libraries are installed, by the names of their files."""

import os
import re
from collections.abc import Iterator

import msgspec

from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.accel.record import exists_optional, list_optional
from nodeworthy_detector.sources.reading import Faults

_LIBRARY = re.compile(r"(lib(?:cuda|nvidia-ml)\.so)\.([0-9]{2,5}(?:\.[0-9]+)+)")
"""The file behind the links ``libcuda.so.1`` and ``libnvidia-ml.so.1`` is named after the driver's version."""

_LINKS = ("libcuda.so.1", "libnvidia-ml.so.1")
"""What programs load: a folder without either of them is not listed, so that a pass costs two looks at each folder."""

_TRIPLETS = ("x86_64-linux-gnu", "aarch64-linux-gnu", "powerpc64le-linux-gnu", "i386-linux-gnu")
_SYSTEM = (
    "usr/lib64",
    "usr/lib",
    "usr/lib32",
    *(f"usr/lib/{triplet}" for triplet in _TRIPLETS),
    *(f"usr/lib/{triplet}/nvidia/current" for triplet in _TRIPLETS),  # Debian
)

_ROOTS = ("", "run/nvidia/driver/")
"""The host itself, and the driver container of NVIDIA's GPU operator."""

_FOLDERS = (
    *(root + folder for root in _ROOTS for folder in _SYSTEM),
    "home/kubernetes/bin/nvidia/lib64",  # Container-Optimized OS on GKE
    "opt/nvidia/lib64",
    "run/opengl-driver/lib",  # NixOS
    "usr/local/glibc/usr/lib",  # Talos
    "usr/local/nvidia/lib64",
    "var/lib/nvidia/lib64",  # Container-Optimized OS
)

_LOCAL, _TOOLKIT = "usr/local", re.compile(r"cuda(?:-[0-9.]+)?")


class Library(msgspec.Struct, frozen=True):
    """One file of the user-space driver."""

    name: str
    version: str
    path: str
    is_compatibility: bool = False
    """Of CUDA's forward compatibility package, which is meant to be newer than the loaded module."""


def parse_library_name(name: str) -> tuple[str, str] | None:
    """Library and driver version of a file's name.

    >>> parse_library_name("libcuda.so.550.54.15"), parse_library_name("libcuda.so.1"), parse_library_name("libcuda.so.1.1")
    (('libcuda.so', '550.54.15'), None, None)
    """
    found = _LIBRARY.fullmatch(name)
    return (found[1], found[2]) if found else None


def find_libraries(host: Host, faults: Faults) -> tuple[Library, ...]:
    """Every library of the driver in the folders where distributions and NVIDIA's packages put it."""
    found: list[Library] = []
    seen: set[str] = set()
    # A folder of libraries has thousands of names: without the link it is only read where the driver is loaded.
    has_driver = exists_optional(host, "sys/module/nvidia", faults)
    for folder, is_compatibility in _folders(host, faults):
        if not has_driver and not any(exists_optional(host, f"{folder}/{link}", faults) for link in _LINKS):
            continue
        place = _place(host, folder)
        if place in seen:  # usr/lib64 is a link to usr/lib on some systems
            continue
        seen.add(place)
        for name in list_optional(host, folder, faults):
            parsed = parse_library_name(name)
            if parsed is not None:
                found.append(Library(*parsed, f"/{folder}/{name}", is_compatibility))
    return tuple(found)


def _folders(host: Host, faults: Faults) -> Iterator[tuple[str, bool]]:
    yield from ((folder, False) for folder in _FOLDERS)
    for name in list_optional(host, _LOCAL, faults):
        if _TOOLKIT.fullmatch(name):
            yield f"{_LOCAL}/{name}/compat", True


def _place(host: Host, folder: str) -> str:
    try:
        return os.path.realpath(host.locate(folder))
    except (OSError, HostReadError):
        return folder
