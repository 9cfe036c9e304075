"""CUDA's libraries in an image: the runtime's oldest driver, and parts of a driver that have to fit the node's.

Rules: NVIDIA, "CUDA Compatibility": from 11 on a runtime runs on every driver of its major version's first branch or later
(error 35 below it); a driver library is for its own kernel module, but for those of package cuda-compat, which run on older
modules with data-centre GPUs (error 804 on others) and not on newer modules (error 803).
"""

import re
from collections.abc import Iterator
from posixpath import basename, dirname

from nodeworthy.requirements import Effect, Evidence, Layer, Requirement, Software, Sureness
from nodeworthy.requirements.conditions import has_value
from nodeworthy.rules import Operator
from nodeworthy_resolver.inspection.readings.findings import Findings, reach, weaker
from nodeworthy_resolver.inspection.readings.nvidia_facts import (
    WITHOUT_DRIVER,
    brand_terms,
    cuda_rows,
    driver_term,
    runtime_driver,
)
from nodeworthy_resolver.inspection.readings.python_environments import find_site_folders
from nodeworthy_resolver.inspection.readings.ranges import numbers_of
from nodeworthy_resolver.inspection.subject import Outcome, Subject
from nodeworthy_resolver.inspection.tree import resolve

_RUNTIME = re.compile(r"libcudart(?:-[0-9a-f]+)?\.so\.([0-9]+(?:\.[0-9]+)*)")
_DRIVER = re.compile(r"(?:libcuda|libnvidia-ml)\.so\.([0-9]{3}\.[0-9]+(?:\.[0-9]+)?)")
_COMPATIBILITY = re.compile(r"/compat(?:/|_|$)|/cuda-compat")
_USUAL = ("/usr/lib", "/lib", "/usr/local/nvidia", "/usr/local/lib")
"""Below these the loader looks by itself, or images of the driver have it look."""
_TEGRA = ("/etc/nv_tegra_release", "/usr/lib/aarch64-linux-gnu/tegra")
"""What images for Jetson (L4T) have: the release's file, and the folder of its own driver libraries."""


def read_cuda_libraries(subject: Subject) -> Outcome:
    """What CUDA's own libraries ask of the node's driver."""
    findings = Findings()
    # What cannot be read of the environment is told by wheels.py.
    imported = {one.path: one.sureness for one in find_site_folders(subject, Findings()) if one.sureness}
    searched = _searched_folders(subject, findings)
    helped = any(_DRIVER.fullmatch(basename(path)) and _COMPATIBILITY.search(path) for path in subject.elves)
    for path in subject.elves:
        runtime, driver = _RUNTIME.fullmatch(basename(path)), _DRIVER.fullmatch(basename(path))
        if runtime:
            findings.software.append(Software("cudart", runtime[1], "cuda", path))
            below = any(path.startswith(f"{folder}/") for folder in imported)
            runs = reach(subject, path)
            # With a compatibility library an older driver may do: the container runtime puts it in place by itself.
            # A framework of Python runs without a GPU too.
            most = Sureness.PROBABLE if helped or below else Sureness.CERTAIN
            sure = weaker(most, runs or (Sureness.PROBABLE if below else None))
            findings.requirements.extend(_runtime(path, runtime[1], sure))
        elif driver and _COMPATIBILITY.search(path):
            findings.software.append(Software("cuda-compat", driver[1], "cuda", path))
            findings.requirements.append(_compatibility(path, driver[1], is_used=dirname(path) in searched))
        elif driver and "/stubs/" not in path:
            findings.software.append(Software("nvidia-driver", driver[1], "cuda", path))
            findings.requirements.append(_driver(path, driver[1], is_used=path.startswith(_USUAL)))
    for place in _TEGRA:
        if subject.tree.entry(place) is not None:
            findings.requirements.append(_tegra(place))
            break
    return findings.outcome()


def _searched_folders(subject: Subject, findings: Findings) -> frozenset[str]:
    """The folders that the loader searches because config or ``ld.so.conf.d`` say so."""
    named = subject.config.environment.get("LD_LIBRARY_PATH", "").split(":")
    for name in subject.tree.names("/etc/ld.so.conf.d"):
        named += (findings.text(subject, f"/etc/ld.so.conf.d/{name}") or "").split()
    resolved = (resolve(subject.tree, folder) for folder in named if folder.startswith("/"))
    return frozenset(folder for folder in resolved if folder is not None)


def _runtime(path: str, version: str, sureness: Sureness) -> Iterator[Requirement]:
    numbers = numbers_of(version) or (0,)
    oldest = runtime_driver(numbers)
    newest = cuda_rows()[-1]
    if oldest is None and numbers > (numbers_of(newest.cuda) or (0,)):
        # Later than the table: surely for no driver before the newest that it has, and most likely for later ones alone.
        oldest, sureness = newest.driver, weaker(Sureness.PROBABLE, sureness)
    if oldest is None:
        return
    yield Requirement(
        code="cuda-runtime",
        text=f"an NVIDIA driver of {oldest} or later for CUDA {version}, wherever one is loaded",
        layer=Layer.ACCELERATOR,
        effect=Effect.CRASHES,
        sureness=sureness,
        match_any=((driver_term(Operator.GE, oldest),), *WITHOUT_DRIVER),
        evidence=(Evidence(path, f"libcudart {version}", rule="CUDA Compatibility, minor version compatibility"),),
        remedy="a newer driver on the node, or an image with an older CUDA",
    )


def _compatibility(path: str, version: str, *, is_used: bool) -> Requirement:
    same = (driver_term(Operator.GE, version), driver_term(Operator.LE, version))
    older = driver_term(Operator.LE, version)
    ways = tuple((older, term) for term in brand_terms("tesla") or ())
    return Requirement(
        code="cuda-compat",
        text=f"a data-centre GPU with a driver not above {version}, for the compatibility library of the image",
        layer=Layer.ACCELERATOR,
        effect=Effect.CRASHES,
        sureness=Sureness.PROBABLE if is_used else Sureness.ADVISORY,
        match_any=(same, *ways, *WITHOUT_DRIVER),
        evidence=(Evidence(path, f"libcuda {version}", rule="CUDA Compatibility, forward compatibility"),),
        remedy="take the folder compat out of LD_LIBRARY_PATH, or a driver that has this CUDA itself",
    )


def _driver(path: str, version: str, *, is_used: bool) -> Requirement:
    return Requirement(
        code="nvidia-driver-library",
        text=f"just NVIDIA's driver {version}, of which the image has libraries, wherever one is loaded",
        layer=Layer.ACCELERATOR,
        effect=Effect.CRASHES,
        sureness=Sureness.PROBABLE if is_used else Sureness.ADVISORY,
        match_any=((driver_term(Operator.GE, version), driver_term(Operator.LE, version)), *WITHOUT_DRIVER),
        evidence=(Evidence(path, version, rule="NVIDIA's driver libraries fit one version of its kernel module"),),
        remedy="an image without driver libraries: the container runtime brings the node's own",
    )


def _tegra(place: str) -> Requirement:
    return Requirement(
        code="jetson",
        text="a Jetson: the image is made for L4T, whose driver other Arm servers do not have",
        layer=Layer.ACCELERATOR,
        effect=Effect.CRASHES,
        sureness=Sureness.PROBABLE,
        match_features=(has_value("kernel.version", "full", Operator.IN_REGEXP, "tegra"),),
        evidence=(Evidence(place, rule="Jetson Linux Developer Guide"),),
        remedy="the image for Arm servers (SBSA), or a node with the same L4T",
    )
