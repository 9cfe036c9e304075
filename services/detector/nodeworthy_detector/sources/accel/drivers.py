"""The sets ``accel.driver`` and ``accel.conflict``: every driver version of the machine, and where they do not fit."""

from collections.abc import Iterable, Mapping, Sequence

from nodeworthy.features import FeatureSet, Instance, clean_text
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.accel import ascend, nvidia
from nodeworthy_detector.sources.accel.libraries import Library, find_libraries
from nodeworthy_detector.sources.accel.record import exists_optional, read_fact
from nodeworthy_detector.sources.reading import Answer, Faults, absent

_MODULES = "sys/module"

_VENDOR_OF_MODULE: Mapping[str, str] = {
    "amdgpu": "amd",
    "amdxdna": "amd",
    "apex": "google",
    "drv_pcie_host": "huawei",
    "habanalabs": "habana",
    "i915": "intel",
    "intel_vpu": "intel",
    "neuron": "aws",
    "nouveau": "nvidia",
    "nvidia": "nvidia",
    "qaic": "qualcomm",
    "xclmgmt": "xilinx",
    "xe": "intel",
    "xocl": "xilinx",
}
"""Kernel modules that drive accelerators; those of the kernel itself have no version of their own."""

MODULE, LIBRARY, COMPATIBILITY, PACKAGE = "module", "library", "compatibility-library", "package"
"""Where a version was seen; a compatibility library may be newer than the module (NVIDIA, "CUDA Compatibility")."""


def read_drivers(host: Host, faults: Faults) -> Answer:
    """Every driver: the loaded modules, then the files that were found."""
    host.require(_MODULES)
    found = [
        _module(host, name, vendor, faults)
        for name, vendor in _VENDOR_OF_MODULE.items()
        if exists_optional(host, f"{_MODULES}/{name}", faults)
    ]
    found.extend(map(_library, find_libraries(host, faults)))
    version = ascend.read_version(host, faults)
    if version is not None:
        found.append(
            {
                "vendor": "huawei",
                "where": PACKAGE,
                "name": "driver",
                "version": version,
                "path": f"/{ascend.VERSION_FILE}",
            }
        )
    return FeatureSet(instances=tuple(found)) if found else absent("no driver of an accelerator was found")


def _module(host: Host, name: str, vendor: str, faults: Faults) -> Instance:
    values = {"vendor": vendor, "where": MODULE, "name": name}
    version = read_fact(host, f"{_MODULES}/{name}/version", faults)
    if name == "nvidia":
        told = nvidia.parse_version(read_fact(host, nvidia.VERSION_FILE, faults) or "")
        if told is not None:
            values["flavor"] = told.flavor
            version = version or told.version
    return values | ({"version": version} if version else {})


def _library(library: Library) -> Instance:
    return {
        "vendor": "nvidia",
        "where": COMPATIBILITY if library.is_compatibility else LIBRARY,
        "name": library.name,
        "version": library.version,
        "path": clean_text(library.path),
    }


def judge_conflicts(drivers: Answer) -> Answer:
    """The set ``accel.conflict``, made of what ``accel.driver`` says."""
    if not isinstance(drivers, FeatureSet):
        return drivers
    conflicts = find_conflicts(drivers.instances or ())
    return FeatureSet(instances=conflicts) if conflicts else absent("the versions of all drivers agree")


def find_conflicts(drivers: Iterable[Instance]) -> tuple[Instance, ...]:
    """Libraries that do not have the version of the loaded module; where none is loaded, that of the first library."""
    by_vendor: dict[str, list[Instance]] = {}
    for driver in drivers:
        if "version" in driver:
            by_vendor.setdefault(driver["vendor"], []).append(driver)
    return tuple(conflict for found in by_vendor.values() for conflict in _conflicts_of(found))


def _conflicts_of(found: Sequence[Instance]) -> list[Instance]:
    libraries = [driver for driver in found if driver["where"] == LIBRARY]
    references = [driver for driver in found if driver["where"] == MODULE] + libraries
    return [_conflict(references[0], one) for one in libraries if one["version"] != references[0]["version"]]


def _conflict(reference: Instance, library: Instance) -> Instance:
    is_loaded = reference["where"] == MODULE
    other = f"the loaded module {reference['name']}" if is_loaded else reference["path"]
    why = "programs that load it cannot use the driver" if is_loaded else "not both can fit the module"
    return {
        "vendor": library["vendor"],
        "module" if is_loaded else "other_library": reference["version"],
        "library": library["version"],
        "path": library["path"],
        "text": f"{library['path']} has version {library['version']}, {other} has {reference['version']}: {why}",
    }
