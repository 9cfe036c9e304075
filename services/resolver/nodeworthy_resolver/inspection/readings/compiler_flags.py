"""What compilers have written down of their options, and programs of what their build counted on.

GCC records its options in DWARF's DW_AT_producer (``GNU C17 12.2.0 -mtune=generic -march=x86-64 -O2``; DWARF 5, 3.1.1)
and, with ``-frecord-gcc-switches``, in section ``.GCC.command.line``. ``-march=native`` stands there as the builder's own.
"""

import re
from collections.abc import Iterator, Mapping

from nodeworthy.requirements import Effect, Evidence, Information, Layer, Requirement, Sureness
from nodeworthy.requirements.conditions import has_flags
from nodeworthy_resolver.inspection.elf import Elf
from nodeworthy_resolver.inspection.readings.findings import Findings, Found, printable, reach, search, weaker
from nodeworthy_resolver.inspection.readings.levels import BASELINES
from nodeworthy_resolver.inspection.subject import Outcome, Subject

_SECTIONS = (".GCC.command.line", ".debug_str", ".debug_line_str", ".comment")
_OPTION = re.compile(rb"-march=([A-Za-z0-9.+_-]{2,60})")
_MAX_SECTION = 256 * 1024 * 1024

_CHECKED = re.compile(rb"cpu feature ([A-Z0-9_]{2,20}) was required at build time")
"""llamafile's and Cosmopolitan's check at the start of a program."""
_CHECKED_FLAGS = {"SSE4_1": "SSE4", "SSE4_2": "SSE42", "FMA": "FMA3", "BMI": "BMI1", "AES": "AESNI", "PCLMUL": "CLMUL"}

_LEVELS: Mapping[str, tuple[str, ...]] = {
    "x86-64-v2": ("x86-64-v2", "nehalem", "westmere", "silvermont", "goldmont", "goldmont-plus", "tremont", "corei7"),
    "x86-64-v3": (
        *(
            "x86-64-v3",
            "haswell",
            "broadwell",
            "skylake",
            "alderlake",
            "raptorlake",
            "meteorlake",
            "arrowlake",
            "gracemont",
        ),
        *("core-avx2", "znver1", "znver2", "znver3", "bdver4", "sierraforest", "lunarlake"),
    ),
    "x86-64-v4": (
        *("x86-64-v4", "skylake-avx512", "cascadelake", "cooperlake", "icelake-client", "icelake-server", "rocketlake"),
        *("tigerlake", "sapphirerapids", "emeraldrapids", "graniterapids", "znver4", "znver5", "cannonlake"),
    ),
    "arm64-lse": (
        "armv9-a",
        *(
            f"armv{level}-a"
            for level in ("8.1", "8.2", "8.3", "8.4", "8.5", "8.6", "8.7", "8.8", "8.9", "9.1", "9.2", "9.3")
        ),
    ),
    "power9": ("power9",),
    "power10": ("power10", "power11"),
    "z14": ("z14", "arch12"),
    "z15": ("z15", "arch13", "z16", "arch14"),
}
"""Processors for which GCC compiles (GCC manual, "Submodel Options"), by what they need at least."""
_BASELINE_OF = {name: baseline for baseline, names in _LEVELS.items() for name in names}


def baselines_of(options: bytes) -> frozenset[str]:
    """The keys of :data:`levels.BASELINES` for which a compiler's options ask; empty where they name no known processor."""
    found = (_BASELINE_OF.get(_processor(one[1])) for one in _OPTION.finditer(options))
    return frozenset(baseline for baseline in found if baseline)


def read_compiler_flags(subject: Subject) -> Outcome:
    """The processors for which the programs and libraries that start were compiled, as far as it is written down."""
    findings = Findings()
    for path, elf in subject.elves.items():
        runs = reach(subject, path)
        if runs is None:
            continue
        with findings.content(subject, path) as view:
            options = find_options(elf, view)
            checks = search(_CHECKED, view)
        if options:
            findings.information.append(_information(path, options))
            findings.requirements.extend(_compiled(path, options, runs))
        if checks:
            findings.requirements.append(_checked(path, checks, runs))
    return findings.outcome()


def find_options(elf: Elf, view: memoryview) -> tuple[Found, ...]:
    """One place for each processor that is named, in order."""
    found: dict[bytes, Found] = {}
    for section in map(elf.section, _SECTIONS):
        if section is not None:
            for one in search(_OPTION, view[section.offset : section.offset + min(section.size, _MAX_SECTION)]):
                found.setdefault(one.groups[0], one._replace(offset=one.offset + section.offset))
    return tuple(found.values())


def _processor(name: bytes) -> str:
    """Without the extensions that an option adds: ``armv8.2-a+crypto``."""
    return name.decode("ascii", "replace").partition("+")[0]


def _information(path: str, options: tuple[Found, ...]) -> Information:
    words = ", ".join(printable(option.text) for option in options)
    evidence = tuple(Evidence(path, printable(option.text), option.offset) for option in options)
    return Information("compiled-for", f"{path} was compiled with {words}", evidence)


def _compiled(path: str, options: tuple[Found, ...], runs: Sureness) -> Iterator[Requirement]:
    """A requirement only where all that was written down asks for it: units for later processors are chosen at run time."""
    baselines = {_BASELINE_OF.get(_processor(option.groups[0])) for option in options}
    if len(baselines) != 1 or (baseline := baselines.pop()) is None:
        return
    wanted = BASELINES[baseline]
    yield Requirement(
        code=wanted.code,
        text=wanted.text,
        layer=Layer.INSTRUCTION_SET,
        effect=Effect.CRASHES,
        # What is compiled for a processor need not use all that it has.
        sureness=weaker(Sureness.PROBABLE, runs),
        match_any=wanted.ways,
        evidence=tuple(
            Evidence(path, printable(option.text), option.offset, rule="options that the compiler recorded")
            for option in options
        ),
        remedy="a build for a fixed, lower -march",
    )


def _checked(path: str, checks: tuple[Found, ...], runs: Sureness) -> Requirement:
    names = sorted({check.groups[0].decode() for check in checks})
    return Requirement(
        code="build-time-features",
        text=f"a CPU with {', '.join(names)}, without which the program ends at its start",
        layer=Layer.INSTRUCTION_SET,
        effect=Effect.DOES_NOT_START,
        sureness=weaker(Sureness.PROBABLE, runs),
        match_features=(has_flags("cpu.cpuid", (_CHECKED_FLAGS.get(name, name) for name in names)),),
        evidence=tuple(
            Evidence(path, printable(check.text), check.offset, rule="the program's own check") for check in checks
        ),
        remedy="a build for a lower processor",
    )
