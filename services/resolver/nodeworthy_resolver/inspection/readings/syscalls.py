"""What the C library expects of kernel and container runtime: system calls that older ones do not have, or refuse.

A runtime's seccomp profile that is older than a system call answers EPERM, for which the library has no way round.
Floors: moby, profiles/seccomp (statx 18.04, time64 19.03.9, faccessat2 20.10.0, clone3 answered with ENOSYS 20.10.10),
containerd, contrib/seccomp (time64 1.3.8 by #4561; clone3 1.4.10 and 1.5.6 by #6014 and #6013), and the release notes of
libseccomp; getrandom(2) is of Linux 3.17. Docker brings a profile of its own, whatever containerd lies below it.
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import msgspec

from nodeworthy.requirements import Effect, Evidence, Layer, Requirement, Sureness, Unexplored
from nodeworthy.requirements.conditions import has_value, has_version
from nodeworthy.rules import Operator, Term
from nodeworthy_resolver.inspection.elf import ElfError, read_dynamic_symbols
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
    containerd: tuple[tuple[str, str], ...] = ()
    """Where containerd itself runs containers: from a version on, up to before another; none: no such floor is known."""


_CLONE3 = Profile(
    "clone3",
    "20.10.10",
    "2.3",
    "5.14",
    Effect.CRASHES,
    "starting threads and programs",
    (("1.5.6", ""), ("1.4.10", "1.5")),
)
_FACCESSAT2 = Profile("faccessat2", "20.10", "2.4.4", "5.10", Effect.CRASHES, "asking whether a file may be executed")
_TIME64 = Profile(
    "clock_gettime64", "19.03.9", "2.4.2", "5.7", Effect.WRONG_RESULTS, "reading the clock", (("1.3.8", ""),)
)
_STATX = Profile("statx", "18.04", "2.3.3", "4.17", Effect.CRASHES, "asking for a file's attributes")


def read_syscalls(subject: Subject) -> Outcome:
    """What the C library that starts expects beneath it."""
    findings = Findings()
    libc = running_libc(subject)
    if libc is not None:
        # Never certain: a container may be given a profile of its own, and not every program makes every call.
        sureness = weaker(Sureness.PROBABLE, subject.start.sureness(libc.path))
        for profile in _profiles(libc, architecture(subject)):
            findings.requirements.extend(_runtime(profile, libc, sureness))
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


def _runtime(profile: Profile, libc: Libc, sureness: Sureness) -> Iterator[Requirement]:
    """The floor of the runtime, which a newer kernel is a sign of; and the floor alone, where the runtime is told."""
    ways: Ways = tuple(
        (*runtime, term) for runtime, term in product(_runtimes(profile), _either("libseccomp", profile.libseccomp))
    )
    floors = [f"Docker {profile.docker}", *(f"containerd {floor}" for floor, _ in profile.containerd[:1])]
    wanted = Requirement(
        code="seccomp-profile",
        text=f"{', '.join(floors)} and libseccomp {profile.libseccomp} or later, where these run containers: older ones "
        f"refuse {profile.name}, which {libc.kind} {libc.version} uses for {profile.what}",
        layer=Layer.KERNEL_AND_LIBRARIES,
        effect=profile.effect,
        sureness=sureness,
        match_any=(*ways, (has_version("kernel.version", "full", profile.kernel),)),
        evidence=(libc.evidence,),
        remedy="a newer container runtime and libseccomp on the node, or an image with an older C library",
    )
    yield wanted
    yield msgspec.structs.replace(
        wanted,
        code="seccomp-profile-of-runtime",
        text=f"no older runtime in use than {', '.join(floors)} and libseccomp {profile.libseccomp}, whatever the kernel",
        match_any=ways,
        only_if_told=True,
    )


def _either(name: str, floor: str) -> tuple[Term, Term]:
    """A version from a floor on, or none."""
    return has_version("system.runtime", name, floor), has_value("system.runtime", name, Operator.DOES_NOT_EXIST)


def _runtimes(profile: Profile) -> Iterator[tuple[Term, ...]]:
    """Docker from its floor on; without Docker, containerd from its own on; or another runtime."""
    new_docker, no_docker = _either("docker", profile.docker)
    yield (new_docker,)
    if not profile.containerd:
        yield (no_docker,)
        return
    for floor, end in profile.containerd:
        new, none = _either("containerd", floor)
        before = (has_value("system.runtime", "containerd", Operator.LT, end, kind="version"),) if end else ()
        yield (no_docker, new, *before)
    yield (no_docker, none)


def _random(subject: Subject, libc: Libc | None, findings: Findings) -> Iterator[Requirement]:
    """Programs that start and ask the kernel for random bytes by a call that old kernels do not have."""
    for one in subject.start.loaded:
        elf = subject.elves.get(one.path)
        if elf is None or (libc is not None and one.path == libc.path) or not elf.needed:
            continue
        names = sorted(_imports(subject, one.path, findings) & _RANDOM)
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


def _imports(subject: Subject, path: str, findings: Findings) -> frozenset[str]:
    """The names that a file asks others for."""
    with findings.content(subject, path) as view:
        try:
            symbols = read_dynamic_symbols(view, subject.elves[path])
        except ElfError as error:
            unread = Unexplored(path, f"its symbols cannot be read: {error}", decides=False)
            if unread not in findings.unexplored:
                findings.unexplored.append(unread)
            return frozenset()
    return frozenset(symbol.name for symbol in symbols if symbol.is_imported)
