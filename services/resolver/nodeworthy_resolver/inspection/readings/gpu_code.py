"""Code for GPUs inside ELF files: for which of NVIDIA's it was compiled.

Section ``.nv_fatbin`` holds containers: magic 0xba55ed50, version, bytes of the header, bytes of what follows. In one, each
entry has a kind (1 PTX, 2 machine code), bytes of its header and its content, and at byte 28 the architecture, as 86 for
compute capability 8.6. This was found in files and held against ``cuobjdump``; NVIDIA publishes no description.

Machine code runs on its own major capability from its own minor on; PTX is compiled by the driver for every later one (CUDA
C++ Programming Guide, "Application Compatibility").
"""

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from nodeworthy.requirements import Effect, Evidence, Information, Layer, Requirement, Sureness
from nodeworthy_resolver.inspection.elf import Elf
from nodeworthy_resolver.inspection.readings.findings import Findings, reach, weaker
from nodeworthy_resolver.inspection.readings.nvidia_facts import WITHOUT_DRIVER, known_capabilities, with_capability
from nodeworthy_resolver.inspection.readings.python_environments import find_site_folders
from nodeworthy_resolver.inspection.subject import Outcome, Subject

_SECTIONS = (".nv_fatbin", "__nv_relfatbin")
_CONTAINER = struct.Struct("<IHHQ")
_MAGIC = 0xBA55ED50
_ENTRY = struct.Struct("<HHIQIIHHI")
_PTX, _CODE = 1, 2
_ALIGN = 8
_FRAMEWORKS = (
    "libtorch_cuda",
    "libtensorflow_cc",
    "_pywrap_tensorflow",
    "libonnxruntime_providers_cuda",
    "libggml-cuda",
)
"""Beginnings of the names of libraries through which all of a framework's work on GPUs goes."""
_MAX_ENTRIES = 1_000_000
"""Of one file; PyTorch's largest library has some 60,000."""


class GpuCode(NamedTuple):
    """For what a file has code."""

    machine_code: frozenset[int]
    """Architectures, as 86."""
    ptx: frozenset[int]

    def supports(self, capability: str) -> bool:
        """Whether a GPU of this compute capability finds something to run."""
        major, _, minor = capability.partition(".")
        number = int(major) * 10 + int(minor)
        runs = any(one // 10 == int(major) and one <= number for one in self.machine_code)
        return runs or any(one <= number for one in self.ptx)

    def __str__(self) -> str:
        return " ".join(
            [*(f"sm_{one}" for one in sorted(self.machine_code)), *(f"compute_{one}" for one in sorted(self.ptx))]
        )


def read_gpu_code(subject: Subject) -> Outcome:
    """The libraries with code for NVIDIA's GPUs; those of the Python that starts run as surely as it does."""
    findings = Findings()
    # What cannot be read of the environment is told by wheels.py.
    imported = {one.path: one.sureness for one in find_site_folders(subject, Findings()) if one.sureness}
    for path, elf in subject.elves.items():
        if not any(elf.section(name) for name in _SECTIONS):
            continue
        with findings.content(subject, path) as view:
            code = parse_gpu_code(elf, view)
        if not code.machine_code and not code.ptx:
            continue
        evidence = (Evidence(path, str(code), rule="CUDA C++ Programming Guide, Application Compatibility"),)
        findings.information.append(Information("gpu-code", f"{path} has code for {code}", evidence))
        below = next((sureness for folder, sureness in imported.items() if path.startswith(f"{folder}/")), None)
        missing = [one for one in known_capabilities() if not code.supports(one)]
        if missing:
            findings.requirements.extend(_requirements(path, code, reach(subject, path), below, evidence))
    return findings.outcome()


def parse_gpu_code(elf: Elf, view: memoryview) -> GpuCode:
    """The architectures of all entries; what is no container is passed over."""
    code: set[int] = set()
    ptx: set[int] = set()
    left = _MAX_ENTRIES
    for section in (one for name in _SECTIONS if (one := elf.section(name))):
        end = min(section.offset + section.size, len(view))
        position = section.offset
        while left and position + _CONTAINER.size <= end:
            magic, _, header, size = _CONTAINER.unpack_from(view, position)
            left -= 1
            if magic != _MAGIC or header < _CONTAINER.size:
                position += _ALIGN
                continue
            stop = min(position + header + size, end)
            for kind, architecture in _entries(view, position + header, stop):
                (ptx if kind == _PTX else code).add(architecture)
            position = stop + -stop % _ALIGN
    return GpuCode(frozenset(code), frozenset(ptx))


def _entries(view: memoryview, position: int, end: int) -> Iterable[tuple[int, int]]:
    while position + _ENTRY.size <= end:
        kind, _, header, size, *_, architecture = _ENTRY.unpack_from(view, position)
        if header < _ENTRY.size:
            return
        if kind in {_PTX, _CODE}:
            yield kind, architecture
        position += header + size


def _requirements(
    path: str, code: GpuCode, runs: Sureness | None, imported: Sureness | None, evidence: tuple[Evidence, ...]
) -> Iterator[Requirement]:
    """Certain is only what is asked of known chips. A later chip than those runs PTX, and most likely nothing else."""
    supported = [one for one in known_capabilities() if code.supports(one)]
    is_framework = path.rpartition("/")[2].startswith(_FRAMEWORKS)
    sure = runs or (imported if is_framework else None) or (Sureness.PROBABLE if imported else Sureness.ADVISORY)
    asked = Requirement(
        code="gpu-code",
        text=f"an NVIDIA GPU of compute capability {', '.join(supported) or '(none that is known)'}, wherever one is used",
        layer=Layer.ACCELERATOR,
        effect=Effect.CRASHES,
        sureness=sure,
        match_any=(*with_capability(supported, others=True), *WITHOUT_DRIVER),
        evidence=evidence,
        remedy="a build with code for this GPU: for a newer GPU of a newer CUDA, for an older GPU of an older one",
    )
    if code.ptx or sure is Sureness.CERTAIN:
        yield asked
    if not code.ptx:
        ways = (*with_capability(supported, others=False), *WITHOUT_DRIVER)
        yield msgspec.structs.replace(asked, sureness=weaker(Sureness.PROBABLE, sure), match_any=ways)
