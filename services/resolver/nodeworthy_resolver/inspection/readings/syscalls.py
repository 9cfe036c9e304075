"""What the C library expects of kernel and container runtime: system calls that older ones do not have, or refuse.

A runtime's seccomp profile that is older than a system call answers EPERM, for which the library has no way round.
Floors: moby, profiles/seccomp (statx 18.04, time64 19.03.9, faccessat2 20.10.0, clone3 answered with ENOSYS 20.10.10)
and the release notes of libseccomp; getrandom(2) is of Linux 3.17.
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from nodeworthy.requirements import Effect, Evidence, Layer, Requirement, Sureness, Unexplored
from nodeworthy.requirements.conditions import has_value, has_version
from nodeworthy.rules import Operator
from nodeworthy_resolver.inspection.elf import Elf, ElfError, Symbol, read_dynamic_symbols
from nodeworthy_resolver.inspection.readings.findings import Findings, architecture, weaker
from nodeworthy_resolver.inspection.readings.levels import Ways
from nodeworthy_resolver.inspection.readings.libcs import GLIBC, MUSL, Libc, running_libc
from nodeworthy_resolver.inspection.subject import Outcome, Subject

_RANDOM = frozenset({"getrandom", "getentropy", "arc4random", "arc4random_buf", "arc4random_uniform"})
_RANDOM_KERNEL = "3.17"
_ALWAYS_RANDOM = (2, 36)
"""glibc whose arc4random knows no other source, and ends the program (stdlib/arc4random.c)."""
_32_BIT = frozenset({"386", "arm"})


class Profile(NamedTuple):
    """A system call that runtimes let through only from a version on."""

    name: str
    docker: str
    libseccomp: str
    kernel: str
    """A kernel that is newer than this runtime: the runtime is then taken to be too, where nothing tells its version."""
    effect: Effect
    what: str


_CLONE3 = Profile("clone3", "20.10.10", "2.3", "5.14", Effect.CRASHES, "starting threads and programs")
_FACCESSAT2 = Profile("faccessat2", "20.10", "2.4.4", "5.10", Effect.CRASHES, "asking whether a file may be executed")
_TIME64 = Profile("clock_gettime64", "19.03.9", "2.4.2", "5.7", Effect.WRONG_RESULTS, "reading the clock")
_STATX = Profile("statx", "18.04", "2.3.3", "4.17", Effect.CRASHES, "asking for a file's attributes")


def read_syscalls(subject: Subject) -> Outcome:
    """What the C library that starts expects beneath it."""
    findings = Findings()
    libc = running_libc(subject)
    if libc is not None:
        sureness = weaker(Sureness.PROBABLE, subject.start.sureness(libc.path))
        for profile in _profiles(libc, architecture(subject)):
            findings.requirements.append(_runtime(profile, libc, sureness))
    findings.requirements.extend(_random(subject, libc, findings))
    return findings.outcome()


def _profiles(libc: Libc, machine: str) -> Iterator[Profile]:
    """The calls that this library makes without another way."""
    if libc.kind == GLIBC and libc.numbers >= (2, 34):
        yield _CLONE3
    if libc.kind == MUSL and libc.numbers >= (1, 2, 2):
        yield _FACCESSAT2
    if machine in _32_BIT and (libc.numbers >= (1, 2) if libc.kind == MUSL else libc.numbers >= (2, 31)):
        yield _TIME64
    if machine in _32_BIT and libc.kind == GLIBC and libc.numbers >= (2, 33):
        yield _STATX


def _runtime(profile: Profile, libc: Libc, sureness: Sureness) -> Requirement:
    floors = {"docker": profile.docker, "libseccomp": profile.libseccomp}
    terms = [
        (has_version("system.runtime", name, floor), has_value("system.runtime", name, Operator.DOES_NOT_EXIST))
        for name, floor in floors.items()
    ]
    ways: Ways = (*product(*terms), (has_version("kernel.version", "full", profile.kernel),))
    return Requirement(
        code="seccomp-profile",
        text=f"Docker {profile.docker} and libseccomp {profile.libseccomp} or later, where these run containers: "
        f"older ones refuse {profile.name}, which {libc.kind} {libc.version} uses for {profile.what}",
        layer=Layer.KERNEL_AND_LIBRARIES,
        effect=profile.effect,
        sureness=sureness,
        match_any=ways,
        evidence=(libc.evidence,),
        remedy="a newer Docker and libseccomp on the node, or an image with an older C library",
    )


def _random(subject: Subject, libc: Libc | None, findings: Findings) -> Iterator[Requirement]:
    """Programs that start and ask the kernel for random bytes by a call that old kernels do not have."""
    for one in subject.start.loaded:
        elf = subject.elves.get(one.path)
        if elf is None or (libc is not None and one.path == libc.path) or not elf.needed:
            continue
        with findings.content(subject, one.path) as view:
            symbols = _symbols(view, elf, one.path, findings)
        names = sorted({symbol.name for symbol in symbols if symbol.is_imported} & _RANDOM)
        if not names:
            continue
        is_fatal = libc is not None and libc.kind == GLIBC and libc.numbers >= _ALWAYS_RANDOM
        evidence = [Evidence(one.path, f"imports {name}", symbol=name, rule="getrandom(2)") for name in names]
        yield Requirement(
            code="getrandom",
            text=f"Linux {_RANDOM_KERNEL} for {names[0]}, which {one.path} imports",
            layer=Layer.KERNEL_AND_LIBRARIES,
            effect=Effect.DOES_NOT_START if is_fatal else Effect.CRASHES,
            sureness=weaker(Sureness.PROBABLE if is_fatal or "getrandom" in names else Sureness.ADVISORY, one.sureness),
            match_features=(has_version("kernel.version", "full", _RANDOM_KERNEL),),
            evidence=(*evidence, *((libc.evidence,) if libc else ())),
            remedy="a newer kernel, or an image of an older distribution",
        )
        return


def _symbols(view: memoryview, elf: Elf, path: str, findings: Findings) -> tuple[Symbol, ...]:
    try:
        return read_dynamic_symbols(view, elf)
    except ElfError as error:
        findings.unexplored.append(Unexplored(path, f"its symbols cannot be read: {error}", decides=False))
        return ()
