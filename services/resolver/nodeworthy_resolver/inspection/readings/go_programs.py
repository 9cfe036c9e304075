"""Programs written in Go: what their build has left in them, and what that asks of a node.

The header of the build information (:mod:`nodeworthy.formats.go_builds`) stands at a multiple of 16; before Go 1.18 it holds
two pointers to the texts.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nodeworthy.formats.go_builds import (
    FLAGS_AT,
    HEADER_BYTES,
    INLINE,
    MAGIC,
    MAX_LIST_BYTES,
    GoBuild,
    parse_list,
    read_texts,
)
from nodeworthy.requirements import Effect, Evidence, Information, Layer, Requirement, Software, Sureness
from nodeworthy_resolver.inspection.elf import Elf
from nodeworthy_resolver.inspection.elf.records import WRITABLE
from nodeworthy_resolver.inspection.readings.compiler_flags import baselines_of
from nodeworthy_resolver.inspection.readings.findings import Findings, reach, search
from nodeworthy_resolver.inspection.readings.levels import BASELINES
from nodeworthy_resolver.inspection.subject import Outcome, Subject

_HEADER = re.compile(re.escape(MAGIC))
_ALIGN = 16
_POINTER_SIZE_AT = 14
_BIG_ENDIAN = 1
_VERSION = re.compile(r"(?:go|devel )[^\n\0]{1,120}")

_TOLD = ("CGO_ENABLED", "-buildmode", "GOARCH", "GOAMD64", "GOARM64", "GOARM", "GOPPC64", "GORISCV64", "GO386")
"""Settings that tell on what the program runs."""

_CGO = ("CGO_CFLAGS", "CGO_CXXFLAGS")
"""Options of the C compiler for what is built in of C (cmd/cgo); the code of Go programs is not decoded."""

_AMD64 = re.compile(r"v([2-4])")
_LSE_AT = re.compile(r"v(?:8\.[1-9]|9\.[0-9])|.*,lse\b")


class GoProgram(NamedTuple):
    """A Go program of the image."""

    version: str
    """Of Go, as ``go1.22.3``."""
    build: GoBuild
    offset: int
    """Of the header in the file."""


def read_go_programs(subject: Subject) -> Outcome:
    """Every Go program of the image, and the processors that its build asks for."""
    findings = Findings()
    for path, program in find_go_programs(subject, findings):
        name = program.build.module or program.build.path or path.rpartition("/")[2]
        findings.software.append(Software(name, program.build.version, "go", path))
        text = f"built with {program.version}" + "".join(
            f", {key}={program.build.settings[key]}" for key in _TOLD if key in program.build.settings
        )
        findings.information.append(Information("go-build", text, (_evidence(path, program, program.version),)))
        findings.requirements.extend(_requirements(path, program, reach(subject, path) or Sureness.ADVISORY))
    return findings.outcome()


def find_go_programs(subject: Subject, findings: Findings) -> Iterator[tuple[str, GoProgram]]:
    """The programs that are Go's, by path; of others only those that start are searched without a section to go by."""
    for path, elf in subject.elves.items():
        is_marked = elf.section(".go.buildinfo") is not None
        if not is_marked and (elf.section(".text") is not None or reach(subject, path) is None):
            continue
        with findings.content(subject, path) as view:
            program = parse_go_program(elf, view)
        if program is not None:
            yield path, program


def parse_go_program(elf: Elf, view: memoryview) -> GoProgram | None:
    """What the build has left; ``None`` where there is nothing of the kind."""
    section = elf.section(".go.buildinfo")
    start = section.offset if section else next((one.offset for one in elf.loads() if one.flags & WRITABLE), 0)
    for found in search(_HEADER, view, start):
        header = bytes(view[found.offset : found.offset + HEADER_BYTES])
        if found.offset % _ALIGN or len(header) < HEADER_BYTES:
            continue
        texts = read_texts(view, found.offset) if header[FLAGS_AT] & INLINE else _pointed(elf, view, header)
        version = texts[0].decode("utf-8", "replace")
        if _VERSION.fullmatch(version):
            return GoProgram(version, parse_list(texts[1]), found.offset)
    return None


def _pointed(elf: Elf, view: memoryview, header: bytes) -> tuple[bytes, bytes]:
    """Until Go 1.17: behind the flags two addresses of Go strings, each an address and a length."""
    size = header[_POINTER_SIZE_AT]
    order = ">" if header[FLAGS_AT] & _BIG_ENDIAN else "<"
    if size not in {4, 8}:
        return b"", b""
    first, second = (
        _go_string(elf, view, _number(header[at : at + size], order), size, order) for at in (_ALIGN, _ALIGN + size)
    )
    return first, second


def _go_string(elf: Elf, view: memoryview, address: int, size: int, order: str) -> bytes:
    at = elf.offset_of(address)
    if at is None:
        return b""
    record = bytes(view[at : at + 2 * size])
    start, length = elf.offset_of(_number(record[:size], order)), _number(record[size:], order)
    return b"" if start is None else bytes(view[start : start + min(length, MAX_LIST_BYTES)])


def _number(data: bytes, order: str) -> int:
    return int.from_bytes(data, "big" if order == ">" else "little")


def _evidence(path: str, program: GoProgram, seen: str) -> Evidence:
    return Evidence(path, seen, program.offset, rule="Go build information (debug/buildinfo)")


def _requirements(path: str, program: GoProgram, sureness: Sureness) -> Iterator[Requirement]:
    for key, baseline, is_checked in _asked(program.build.settings):
        if baseline not in BASELINES:
            continue
        wanted = BASELINES[baseline]
        yield Requirement(
            code=wanted.code,
            text=wanted.text,
            layer=Layer.INSTRUCTION_SET,
            effect=Effect.DOES_NOT_START if is_checked else Effect.CRASHES,
            sureness=sureness if is_checked or sureness is not Sureness.CERTAIN else Sureness.PROBABLE,
            match_any=wanted.ways,
            evidence=(_evidence(path, program, f"{key}={program.build.settings[key]}"),),
            remedy=f"a build with a lower {'-march in ' if key in _CGO else ''}{key}",
        )


def _asked(settings: Mapping[str, str]) -> Iterator[tuple[str, str, bool]]:
    """Setting, baseline, and whether Go's own start refuses a lesser processor.

    runtime/asm_amd64.s (``This program can only be run on AMD64 processors with …``), asm_arm64.s (LSE), and os_linux_arm.go
    (``this CPU has no VFPv3 hardware``) do. Others just use the instructions.
    """
    architecture = settings.get("GOARCH", "")
    if architecture in {"", "amd64"} and (level := _AMD64.fullmatch(settings.get("GOAMD64", ""))):
        yield "GOAMD64", f"x86-64-v{level[1]}", True
    if architecture == "arm64" and _LSE_AT.match(settings.get("GOARM64", "")):
        yield "GOARM64", "arm64-lse", True
    if architecture == "arm" and settings.get("GOARM", "").partition(",")[0] in {"6", "7"}:
        yield "GOARM", f"armv{settings['GOARM'][0]}", True
    if architecture == "ppc64le":
        yield "GOPPC64", settings.get("GOPPC64", ""), False
    if architecture == "riscv64" and settings.get("GORISCV64") == "rva23u64":
        yield "GORISCV64", "rva23", False
    for key in _CGO:
        for baseline in baselines_of(settings.get(key, "").encode()):
            yield key, baseline, False
