"""Baselines that Python packages have written into themselves: exact, whatever a table says of their version.

numpy writes into its core the features that it was compiled for and tests at import (numpy/_core/src/common/
npy_cpu_features.c); polars has them as a line of Python (``BUILD_FEATURE_FLAGS``, before 1.35 ``_POLARS_FEATURE_FLAGS``).
"""

import re
from collections.abc import Iterable, Mapping

from nodeworthy.requirements import Effect, Evidence, Layer, Requirement, Sureness, Unexplored
from nodeworthy.requirements.conditions import has_flags
from nodeworthy_resolver.inspection.readings.findings import Findings, search
from nodeworthy_resolver.inspection.readings.levels import X86_FLAGS, Ways, x86_level
from nodeworthy_resolver.inspection.readings.python_environments import SiteFolder, find_module
from nodeworthy_resolver.inspection.subject import Subject

_NUMPY_FOLDERS = ("numpy/_core", "numpy/core")
"""Since 2.0, and before."""
_NUMPY_TEXT = re.compile(rb"NumPy was built with baseline optimizations:\s*\(([A-Z0-9_ ]{0,400})\)")

_POLARS_FILES = ("_polars_runtime_compat", "_polars_runtime_64", "_polars_runtime_32")
"""In the order in which polars takes what is installed (polars/_plr.py)."""
_POLARS_TEXT = re.compile(r"^_?(?:BUILD|POLARS)_FEATURE_FLAGS *= *[\"']([^\"'\n]{0,400})[\"']", re.MULTILINE)

_FLAGS: Mapping[str, str] = {
    "SSE": "SSE",
    "SSE2": "SSE2",
    "SSE3": "SSE3",
    "SSSE3": "SSSE3",
    "SSE41": "SSE4",
    "SSE42": "SSE42",
    "POPCNT": "POPCNT",
    "AVX": "AVX",
    "F16C": "F16C",
    "FMA": "FMA3",
    "FMA3": "FMA3",
    "AVX2": "AVX2",
    "BMI1": "BMI1",
    "BMI2": "BMI2",
    "LZCNT": "LZCNT",
    "MOVBE": "MOVBE",
    "CMPXCHG16B": "CX16",
    "PCLMULQDQ": "CLMUL",
    "AVX512F": "AVX512F",
    "AVX512CD": "AVX512CD",
    "AVX512BW": "AVX512BW",
    "AVX512DQ": "AVX512DQ",
    "AVX512VL": "AVX512VL",
}
"""The words of numpy and of rustc, without dots and in capitals, to the flags of ``cpu.cpuid``."""
_ALWAYS = frozenset({"", "NEON", "NEON_FP16", "NEON_VFPV4", "ASIMD", "VSX", "VSX2", "VX", "CRT-STATIC", "CTR-STATIC"})
"""What every processor of its architecture has (arm64, ppc64le from POWER8), or what is no feature."""
_LEVEL = re.compile(r"X86_V([2-4])")


def read_baseline(
    subject: Subject, folder: SiteFolder, name: str, findings: Findings
) -> tuple[Requirement, ...] | None:
    """What the files of a package ask for; ``None`` where they do not say, or it is not known where they do."""
    if name == "numpy":
        return _numpy(subject, folder, findings)
    if name == "polars" or name.startswith(("polars-lts-", "polars-u64-", "polars-runtime-")):
        return _polars(subject, folder, name, findings)
    return None


def _numpy(subject: Subject, folder: SiteFolder, findings: Findings) -> tuple[Requirement, ...] | None:
    for part in _NUMPY_FOLDERS:
        inner = f"{folder.path}/{part}"
        for file in subject.tree.names(inner):
            if file.startswith(("_multiarray_umath.", "multiarray.")) and file.endswith(".so"):
                path = f"{inner}/{file}"
                with findings.content(subject, path) as view:
                    found = search(_NUMPY_TEXT, view, limit=1)
                if found:
                    words = found[0].groups[0].decode().split()
                    evidence = Evidence(path, f"baseline ({' '.join(words)})", found[0].offset, rule="numpy tests it")
                    return _requirement("numpy", words, folder.sureness, evidence, findings)
    return None


def _polars(subject: Subject, folder: SiteFolder, name: str, findings: Findings) -> tuple[Requirement, ...] | None:
    """What polars imports; its packages with one name each are asked only for what polars takes of them."""
    runtimes = [one for one in _POLARS_FILES if find_module(subject, folder.path, f"{one}/build_feature_flags.py")]
    if runtimes and name.startswith("polars-runtime-"):
        chosen = name == runtimes[0].lstrip("_").replace("_", "-")
        path = f"{folder.path}/{runtimes[0]}/build_feature_flags.py"
        return _polars_flags(subject, folder, path, findings) if chosen else ()
    return None if runtimes else _polars_flags(subject, folder, f"{folder.path}/polars/_cpu_check.py", findings)


def _polars_flags(
    subject: Subject, folder: SiteFolder, path: str, findings: Findings
) -> tuple[Requirement, ...] | None:
    found = _POLARS_TEXT.search(findings.text(subject, path) or "")
    if found is None:
        return None
    words = [word[1:] for word in found[1].split(",") if word.startswith("+")]
    evidence = Evidence(path, found[1], found.start(), rule="polars tests it")
    return _requirement("polars", words, folder.sureness, evidence, findings)


def _requirement(
    name: str, words: Iterable[str], sureness: Sureness | None, evidence: Evidence, findings: Findings
) -> tuple[Requirement, ...]:
    """What all words ask for together; nothing where every processor has them."""
    given = [word.upper().replace(".", "") for word in words]
    unknown = [word for word in given if word not in _FLAGS and word not in _ALWAYS and not _LEVEL.fullmatch(word)]
    if unknown:
        why = f"{name} was compiled for {', '.join(unknown)}, for which no flag is known"
        findings.unexplored.append(Unexplored(evidence.file, why, decides=sureness is Sureness.CERTAIN))
    levels = [int(level[1]) for word in given if (level := _LEVEL.fullmatch(word))]
    flags = {_FLAGS[word] for word in given if word in _FLAGS} - {"SSE", "SSE2"}
    if levels:
        flags -= set(X86_FLAGS[max(levels)])
    # Outside the levels stands PCLMULQDQ, which every CPU with AVX2 has: a node that hides it is told, not refused.
    beyond = flags - set(X86_FLAGS[max(X86_FLAGS)])
    flags -= beyond
    found: list[Requirement] = []
    if levels or flags:
        wanted = [f"level x86-64-v{max(levels)}"] if levels else []
        ways: Ways = x86_level(max(levels)) if levels else ()
        text = ", ".join([*wanted, *sorted(flags)])
        found.append(_asked(name, text, flags, ways, sureness or Sureness.ADVISORY, evidence))
    if beyond:
        found.append(_asked(name, ", ".join(sorted(beyond)), beyond, (), Sureness.ADVISORY, evidence))
    return tuple(found)


def _asked(
    name: str, text: str, flags: Iterable[str], ways: Ways, sureness: Sureness, evidence: Evidence
) -> Requirement:
    return Requirement(
        code="python-package-baseline",
        text=f"a CPU with {text}, for which {name} was compiled",
        layer=Layer.INSTRUCTION_SET,
        effect=Effect.CRASHES,
        sureness=sureness,
        match_features=(has_flags("cpu.cpuid", flags),) if flags else (),
        match_any=ways,
        evidence=(evidence,),
        remedy=f"a build of {name} with a lower baseline, or a CPU type that shows these flags",
    )
