"""ROCm: for which of AMD's GPUs an image has code.

Two places tell: files of rocBLAS and hipBLASLt are named by target (``TensileLibrary_…_gfx90a.dat``), and section
``.hip_fatbin`` holds bundles of clang (https://clang.llvm.org/docs/ClangOffloadBundler.html): a magic, a number of entries,
and for each entry offset, size and name, as ``hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+``.
"""

import re
import struct
from posixpath import basename, dirname

from nodeworthy.requirements import Effect, Evidence, Information, Layer, Requirement, Sureness, Unexplored
from nodeworthy.requirements.conditions import has_instance
from nodeworthy.rules import Operator
from nodeworthy_resolver.inspection.elf import Elf
from nodeworthy_resolver.inspection.readings.findings import Findings, reach, search
from nodeworthy_resolver.inspection.readings.levels import without_module
from nodeworthy_resolver.inspection.readings.python_environments import find_site_folders
from nodeworthy_resolver.inspection.subject import Outcome, Subject

_LIBRARIES = {"librocblas.so": "rocblas/library", "libhipblaslt.so": "hipblaslt/library"}
"""Libraries and the folders beside them that hold their kernels."""
_TARGET = re.compile(r"gfx[0-9]{1,2}(?:-[0-9])?-generic|gfx[0-9a-f]{3,4}")
_BUNDLE = re.compile(rb"__CLANG_OFFLOAD_BUNDLE__")
_COMPRESSED = re.compile(rb"CCOB[\x01-\x04]\0")
_COUNT, _ENTRY = struct.Struct("<Q"), struct.Struct("<QQQ")
_MAGIC_BYTES = 24
_MAX_BUNDLES, _MAX_ENTRIES, _MAX_NAME = 100_000, 256, 256
_OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
_GENERIC = {
    "gfx9-generic": "gfx90[0-9a-c]",
    "gfx9-4-generic": "gfx94[0-9a-f]|gfx950",
    "gfx10-1-generic": "gfx101[0-9a-f]",
    "gfx10-3-generic": "gfx103[0-9a-f]",
    "gfx11-generic": "gfx11[0-9a-f]{2}",
    "gfx12-generic": "gfx12[0-9a-f]{2}",
}
"""LLVM, "User Guide for AMDGPU Backend", generic processors."""
_FRAMEWORKS = ("libtorch_hip", "librocblas")

WITHOUT_DRIVER = without_module("amdgpu")
"""A node without AMD's driver: nothing uses a GPU there."""


def read_rocm(subject: Subject) -> Outcome:
    """The libraries with code for AMD's GPUs."""
    findings = Findings()
    # What cannot be read of the environment is told by wheels.py.
    imported = {one.path: one.sureness for one in find_site_folders(subject, Findings()) if one.sureness}
    for path, elf in subject.elves.items():
        targets = _beside(subject, path)
        section = elf.section(".hip_fatbin")
        if section is not None:
            with findings.content(subject, path) as view:
                inside, is_whole = parse_bundles(elf, view)
            if not is_whole:
                findings.unexplored.append(Unexplored(path, "its code for AMD's GPUs is compressed", decides=False))
            targets |= inside if is_whole else set()
        if targets:
            below = next((sure for folder, sure in imported.items() if path.startswith(f"{folder}/")), None)
            sureness = reach(subject, path) or below
            findings.information.append(_information(path, targets))
            findings.requirements.append(_requirement(subject, path, targets, sureness))
    return findings.outcome()


def parse_bundles(elf: Elf, view: memoryview) -> tuple[set[str], bool]:
    """The targets in section ``.hip_fatbin``, and whether all of it could be read."""
    section = elf.section(".hip_fatbin")
    if section is None:
        return set(), True
    part = view[section.offset : section.offset + section.size]
    targets: set[str] = set()
    for bundle in search(_BUNDLE, part, limit=_MAX_BUNDLES):
        position = bundle.offset + _MAGIC_BYTES
        if position + _COUNT.size > len(part):
            break
        count = min(_COUNT.unpack_from(part, position)[0], _MAX_ENTRIES)
        position += _COUNT.size
        for _ in range(count):
            if position + _ENTRY.size > len(part):
                break
            length = min(_ENTRY.unpack_from(part, position)[2], _MAX_NAME)
            position += _ENTRY.size
            name = bytes(part[position : position + length]).decode("ascii", "replace")
            position += length
            if "amdgcn" in name and (found := _TARGET.search(name)):
                targets.add(found[0])
    return targets, not search(_COMPRESSED, part, limit=1)


def _beside(subject: Subject, path: str) -> set[str]:
    """The targets in the names of kernels beside a library."""
    folder = next((place for name, place in _LIBRARIES.items() if basename(path).startswith(name)), None)
    names = subject.tree.names(f"{dirname(path)}/{folder}") if folder else ()
    return {found[0] for name in names if (found := _TARGET.search(name))}


def _information(path: str, targets: set[str]) -> Information:
    text = f"{path} has code for AMD's {', '.join(sorted(targets))}"
    return Information("gpu-code", text, (Evidence(path, " ".join(sorted(targets))),))


def _requirement(subject: Subject, path: str, targets: set[str], sureness: Sureness | None) -> Requirement:
    pattern = "|".join(_GENERIC.get(target, target) for target in sorted(targets))
    evidence = [Evidence(path, " ".join(sorted(targets)), rule="AMD: code objects are for one target")]
    override = overridden(subject.config.environment.get(_OVERRIDE, ""))
    if override is not None:
        evidence.append(Evidence(seen=f"{_OVERRIDE}={subject.config.environment[_OVERRIDE]}", rule="ROCm, environment"))
        # The runtime then takes the code of this target on any GPU; of another family it only crashes later.
        family = override[:-2]
        pattern = f"{family}[0-9a-f]{{2}}" if re.fullmatch(pattern, override) else override
    is_framework = basename(path).startswith(_FRAMEWORKS)
    limit = sureness if is_framework and override is None else (Sureness.PROBABLE if sureness else None)
    wanted = has_instance(
        "accel.device", {"vendor": (Operator.IN, "amd"), "gfx_target": (Operator.IN_REGEXP, f"^({pattern})$")}
    )
    return Requirement(
        code="gpu-code",
        text=f"an AMD GPU of target {', '.join(sorted(targets))}, wherever one is used",
        layer=Layer.ACCELERATOR,
        effect=Effect.CRASHES,
        sureness=limit or Sureness.ADVISORY,
        match_any=((wanted,), *WITHOUT_DRIVER),
        evidence=tuple(evidence),
        remedy="a build with code for this GPU; HSA_OVERRIDE_GFX_VERSION only within one family",
    )


def overridden(text: str) -> str | None:
    """The target that ``HSA_OVERRIDE_GFX_VERSION`` names; ``None`` where it names none.

    >>> overridden("10.3.0"), overridden("9.0.10"), overridden("")
    ('gfx1030', 'gfx90a', None)
    """
    found = re.fullmatch(r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{1,2})", text.strip())
    return f"gfx{int(found[1])}{int(found[2]):x}{int(found[3]):x}" if found else None
