"""The C library: kind and version, and the processor that its loader insists on.

A loader of glibc that was compiled for more than the architecture's first processors says so before anything else runs
(glibc 2.34 and later: sysdeps/x86/dl-get-cpu-features.c, sysdeps/powerpc/powerpc64/le/dl-hwcap-check.h and
sysdeps/s390/s390-64/dl-hwcap-check.h). The check and its text are compiled in only then, so a loader without the text has
no check, whatever its distribution.
"""

import re
from posixpath import basename
from typing import NamedTuple

from nodeworthy.requirements import Effect, Evidence, Layer, Requirement, Software, Sureness
from nodeworthy_resolver.inspection.closure.records import Role
from nodeworthy_resolver.inspection.elf import Elf
from nodeworthy_resolver.inspection.readings.findings import Findings, search
from nodeworthy_resolver.inspection.readings.levels import BASELINES
from nodeworthy_resolver.inspection.subject import Outcome, Subject

GLIBC, MUSL = "glibc", "musl"

_GLIBC_BANNER = re.compile(rb"GNU C Library \(([^()\n\0]{0,120})\) [a-z]{1,20} release version (\d+\.\d+(?:\.\d+)?)")
"""What ``libc.so.6`` prints when it is executed (csu/version.c)."""
_MUSL_BANNER = re.compile(rb"musl libc \(")
_MUSL_VERSION = re.compile(rb"\0(\d+\.\d+\.\d{1,3})(?:[-_]git[^\0]{0,60})?\0")
"""The version stands by itself among the texts of ``ldso/dynlink.c`` (``Version %s``)."""

_LEVEL_TEXT = re.compile(rb"CPU does not support x86-64-v(%d|[2-4])")
_LEVEL_NUMBER = re.compile(rb"\xbe([\x02-\x04])\x00\x00\x00")
"""``mov esi, level``: the number that the text is printed with (System V ABI, second argument)."""
_ADDRESS_OF = re.compile(rb"\x48\x8d\x3d")
"""``lea rdi, [rip + distance]``: the text itself, the first argument."""
_LEA_BYTES = 7
_NEAR = 16
"""Bytes around it in which the compiler places the number."""
_MAX_CODE = 4 * 1024 * 1024
"""Of a loader; glibc's has 200 kB."""

_OTHER_TEXTS = (
    (re.compile(rb"CPU lacks ISA 3\.00 support"), "ppc64le", "power9"),
    (re.compile(rb"CPU lacks ISA 3\.10 support"), "ppc64le", "power10"),
    (re.compile(rb"CPU lacks VXE support"), "s390x", "z14"),
    (re.compile(rb"CPU lacks VXRS_EXT2 support"), "s390x", "z15"),
)


class Libc(NamedTuple):
    """One C library of an image."""

    kind: str
    """``glibc`` or ``musl``."""
    version: str
    """As ``2.36``."""
    path: str
    maker: str = ""
    """What the build calls itself, as ``Debian GLIBC 2.36-9+deb12u14``."""
    offset: int = 0
    """Where the version stands."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version, to be compared."""
        return tuple(map(int, self.version.split(".")))

    @property
    def evidence(self) -> Evidence:
        """Where it says so."""
        return Evidence(self.path, f"{self.kind} {self.version}", self.offset, rule="the C library's own banner")


class LoaderCheck(NamedTuple):
    """The processor that a loader insists on."""

    baseline: str
    """A key of :data:`levels.BASELINES`."""
    seen: str
    offset: int


def read_libcs(subject: Subject) -> Outcome:
    """The C libraries of the image, and what their loaders insist on."""
    findings = Findings()
    for libc in find_libcs(subject, findings):
        findings.software.append(Software(libc.kind, libc.version, "libc", libc.path))
    for path, elf in subject.elves.items():
        if is_glibc_loader(path):
            with findings.content(subject, path) as view:
                check = find_loader_check(elf, view)
            if check is not None:
                findings.requirements.append(_requirement(subject, path, check))
    return findings.outcome()


def find_libcs(subject: Subject, findings: Findings) -> tuple[Libc, ...]:
    """Every C library whose version can be read, those that run first."""
    found: list[Libc] = []
    for path, elf in subject.elves.items():
        name = basename(path)
        if (
            elf.soname == "libc.so.6"
            or name.startswith(("libc.so.6", "libc-2.", "ld-musl-"))
            or elf.soname == "libc.so"
        ):
            with findings.content(subject, path) as view:
                libc = parse_banner(view, path)
            if libc is not None:
                found.append(libc)
    return tuple(sorted(found, key=lambda libc: subject.start.sureness(libc.path) is None))


def running_libc(subject: Subject) -> Libc | None:
    """The C library that what starts is linked to; ``None`` where nothing says which, or its version cannot be read."""
    # What could not be read of it is told by read_libcs.
    found = find_libcs(subject, Findings())
    return next((libc for libc in found if subject.start.sureness(libc.path) is not None), None)


def parse_banner(view: memoryview, path: str) -> Libc | None:
    """Kind and version by the library's own texts; ``None`` where it has none of them."""
    glibc = search(_GLIBC_BANNER, view, limit=1)
    if glibc:
        maker, version = (group.decode("utf-8", "replace") for group in glibc[0].groups)
        return Libc(GLIBC, version, path, maker, glibc[0].offset)
    if not search(_MUSL_BANNER, view, limit=1):
        return None
    musl = search(_MUSL_VERSION, view, limit=1)
    return Libc(MUSL, musl[0].groups[0].decode(), path, "", musl[0].offset + 1) if musl else None


def is_glibc_loader(path: str) -> bool:
    """Whether a file is named as the loader of glibc: ``ld-linux-x86-64.so.2``, ``ld64.so.2``, ``ld-2.31.so``."""
    return re.fullmatch(r"ld(?:-linux[a-z0-9_-]*|64|)(?:-2\.[0-9.]+\.so|\.so\.[0-9]+)", basename(path)) is not None


def find_loader_check(elf: Elf, view: memoryview) -> LoaderCheck | None:
    """What a loader insists on; ``None`` where it insists on nothing."""
    if elf.architecture == "amd64":
        return _x86_check(elf, view)
    found = [
        LoaderCheck(baseline, places[0].text.decode(), places[0].offset)
        for pattern, machine, baseline in _OTHER_TEXTS
        if elf.architecture == machine and (places := search(pattern, view, limit=1))
    ]
    return found[-1] if found else None


def unused_sureness(subject: Subject) -> Sureness:
    """How sure it is that a loader runs that nothing which starts is known to need.

    A shell or an init system starts other programs of the image; a static program of Go's is most often all that runs.
    """
    programs = [subject.elves.get(one.path) for one in subject.start.loaded if one.role is Role.PROGRAM]
    is_alone = bool(programs) and all(elf and elf.is_static and elf.section(".go.buildinfo") for elf in programs)
    return Sureness.ADVISORY if is_alone else Sureness.PROBABLE


def _x86_check(elf: Elf, view: memoryview) -> LoaderCheck | None:
    places = search(_LEVEL_TEXT, view)
    if not places:
        return None
    levels = [int(place.groups[0]) for place in places if place.groups[0] != b"%d"]
    for place in places:
        levels += _printed_numbers(elf, view, place.offset)
    # Code of another shape: the text is there from the second level on.
    level = max(levels, default=2)
    return LoaderCheck(f"x86-64-v{level}", f"CPU does not support x86-64-v{level}", places[0].offset)


def _printed_numbers(elf: Elf, view: memoryview, offset: int) -> list[int]:
    """The numbers with which the code prints the text at an offset: one for each level that is checked."""
    begin = bytes(view[max(0, offset - 64) : offset]).rfind(b"\0")
    address = elf.address_of(offset if begin < 0 else offset - min(offset, 64) + begin + 1)
    numbers = []
    for segment in elf.loads():
        if not segment.is_executable:
            continue
        code = bytes(view[segment.offset : segment.offset + min(segment.file_size, _MAX_CODE)])
        for found in _ADDRESS_OF.finditer(code):
            at = found.start()
            distance = int.from_bytes(code[at + 3 : at + _LEA_BYTES], "little", signed=True)
            if segment.address + at + _LEA_BYTES + distance == address:
                around = code[max(0, at - _NEAR) : at] + code[at + _LEA_BYTES : at + _LEA_BYTES + _NEAR]
                numbers += [number[1][0] for number in _LEVEL_NUMBER.finditer(around)]
    return numbers


def _requirement(subject: Subject, path: str, check: LoaderCheck) -> Requirement:
    baseline = BASELINES[check.baseline]
    is_loader = any(one.path == path and one.role is Role.LOADER for one in subject.start.loaded)
    sureness = subject.start.sureness(path) if is_loader else unused_sureness(subject)
    return Requirement(
        code=baseline.code,
        text=baseline.text,
        layer=Layer.INSTRUCTION_SET,
        effect=Effect.DOES_NOT_START,
        sureness=sureness or Sureness.PROBABLE,
        match_any=baseline.ways,
        evidence=(Evidence(path, check.seen, check.offset, rule="glibc's loader checks the processor first"),),
        remedy="an image of a distribution with a lower baseline; in a virtual machine, a CPU type that shows the flags",
    )
