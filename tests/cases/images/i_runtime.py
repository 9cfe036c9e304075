"""Category I: seccomp profiles and container runtimes."""

from tests.cases.images import nodes
from tests.cases.images.hosts import nobody_knows, recorded, with_facts
from tests.cases.images.parts import app, glibc, library, musl, musl_app, static
from tests.cases.images.records import Case, Image, Trial, Truth
from tests.cases.images.software import go, image

from nodeworthy.features import FeatureSet
from nodeworthy.verdicts import Answer, NodeFacts

YES, NO, UNKNOWN = Answer.COMPATIBLE, Answer.INCOMPATIBLE, Answer.UNKNOWN
RUNS, OPEN = Truth.RUNS, Truth.OPEN

RECORDED = recorded("linux-ubuntu24.04-kvm_node")


def _node(kernel: str = "5.4.0-81-generic", settings: dict[str, str] | None = None, **runtime: str) -> NodeFacts:
    given = {"system_runtime": FeatureSet(attributes={name.replace("_", "-"): text for name, text in runtime.items()})}
    if settings is not None:
        given["kernel_sysctl"] = FeatureSet(attributes=settings)
    return with_facts(nodes.amd64(kernel_version=nodes.kernel(kernel)), **given)


def _arm(**runtime: str) -> NodeFacts:
    """A Raspberry Pi of Raspbian 10."""
    return with_facts(
        nodes.arm("armv7l"),
        system_runtime=FeatureSet(attributes=runtime),
        kernel_version=FeatureSet(attributes={"full": "4.19.97-v7+"}),
    )


OLD_DOCKER = _node(docker="20.10.5", libseccomp="2.5.1", containerd="1.4.4", runc="1.0.0-rc93")
NEW_DOCKER = _node(docker="20.10.10", libseccomp="2.5.1", containerd="1.4.11", runc="1.0.2")
NOBODY_KNOWS = nobody_knows(nodes.amd64(kernel_version=nodes.kernel("5.4.0-81-generic")), "system.runtime")
URING_ON, URING_OFF = {"kernel.io_uring_disabled": "0"}, {"kernel.io_uring_disabled": "2"}


def _debian(version: str, imports: tuple[str, ...] = ("pthread_create", "puts"), machine: str = "amd64") -> Image:
    exports = ("pthread_create", "puts", "posix_spawn")
    files = {**glibc(machine, version, exports=exports), "/app": app(machine, imports=imports)}
    return image(files, platform=f"linux/{machine}")


def _alpine(version: str, machine: str = "amd64") -> Image:
    return image(musl(machine, version) | {"/app": musl_app(machine)}, platform=f"linux/{machine}")


def _uring(name: str = "/usr/bin/tigerbeetle") -> Image:
    return image({name: static()}, name, "start")


def _liburing() -> Image:
    files = {**glibc("amd64", "2.31"), "/app": app(needed=("libc.so.6", "liburing.so.2"))}
    return image(files | {"/lib/x86_64-linux-gnu/liburing.so.2": library(name="liburing.so.2")})


CASES = (
    Case(
        "I01",
        "glibc from 2.34 on starts threads with clone3, which older profiles refuse",
        (
            Trial("Docker 20.10.5", lambda: _debian("2.36"), OLD_DOCKER, UNKNOWN, "seccomp-profile"),
            Trial("Docker 20.10.10", lambda: _debian("2.36"), NEW_DOCKER, YES, truth=RUNS),
            Trial(
                "Docker 20.10.9",
                lambda: _debian("2.35"),
                _node(docker="20.10.9", libseccomp="2.5.1"),
                UNKNOWN,
                "seccomp-profile",
            ),
            Trial(
                "a runtime that nobody knows",
                lambda: _debian("2.36"),
                NOBODY_KNOWS,
                UNKNOWN,
                "seccomp-profile",
                truth=OPEN,
            ),
            Trial("glibc 2.31 under it", lambda: _debian("2.31"), OLD_DOCKER, YES, truth=RUNS),
            Trial(
                "containerd 1.4.4 without Docker",
                lambda: _debian("2.36"),
                _node(containerd="1.4.4", libseccomp="2.5.1"),
                UNKNOWN,
                "seccomp-profile",
            ),
            Trial(
                "containerd 1.5.8 without Docker",
                lambda: _debian("2.36"),
                _node(containerd="1.5.8", libseccomp="2.5.1"),
                YES,
                truth=RUNS,
            ),
            Trial(
                "a program that starts no thread",
                lambda: _debian("2.36", ("puts",)),
                OLD_DOCKER,
                UNKNOWN,
                "seccomp-profile",
                truth=OPEN,
            ),
            Trial(
                "a static program of Go on that base",
                lambda: image(glibc("amd64", "2.36") | {"/app": go("GOAMD64=v1")}),
                OLD_DOCKER,
                YES,
                truth=RUNS,
            ),
            Trial("on a node of this year", lambda: _debian("2.41"), RECORDED, YES, truth=RUNS),
            Trial(
                "CRI-O of this year",
                lambda: _debian("2.41"),
                _node(cri_o="1.30.4", libseccomp="2.5.5"),
                YES,
                truth=RUNS,
            ),
        ),
    ),
    Case(
        "I02",
        "a base moved to Debian 12 inside a minor version",
        (
            Trial(
                "qdrant 1.3",
                lambda: _debian("2.36"),
                _node(docker="20.10.7", libseccomp="2.5.1"),
                UNKNOWN,
                "seccomp-profile",
            ),
            Trial("qdrant 1.2", lambda: _debian("2.31"), _node(docker="20.10.7", libseccomp="2.5.1"), YES, truth=RUNS),
        ),
    ),
    Case(
        "I03",
        "musl from 1.2.2 on asks with faccessat2",
        (
            Trial(
                "Alpine 3.14 under Docker 19.03",
                lambda: _alpine("1.2.2"),
                _node(docker="19.03.15", libseccomp="2.4.3"),
                UNKNOWN,
                "seccomp-profile",
            ),
            Trial(
                "Alpine 3.14 under Docker 20.10",
                lambda: _alpine("1.2.2"),
                _node(docker="20.10.24", libseccomp="2.5.1"),
                YES,
                truth=RUNS,
            ),
            Trial(
                "Alpine 3.12 under Docker 19.03",
                lambda: _alpine("1.1.24"),
                _node(docker="19.03.15", libseccomp="2.4.3"),
                YES,
                truth=RUNS,
            ),
            Trial(
                "an old libseccomp alone",
                lambda: _alpine("1.2.2"),
                _node(docker="20.10.24", libseccomp="2.3.3"),
                UNKNOWN,
                "seccomp-profile",
            ),
        ),
    ),
    Case(
        "I04",
        "32-bit programs ask for time with 64 bits",
        (
            Trial(
                "Alpine 3.13 on Raspbian 10",
                lambda: _alpine("1.2.2", "arm"),
                _arm(docker="20.10.5", libseccomp="2.3.3"),
                UNKNOWN,
                "seccomp-profile",
            ),
            Trial(
                "Alpine 3.12 on it",
                lambda: _alpine("1.1.24", "arm"),
                _arm(docker="20.10.5", libseccomp="2.3.3"),
                YES,
                truth=RUNS,
            ),
            Trial(
                "with a libseccomp of backports",
                lambda: _alpine("1.2.2", "arm"),
                _arm(docker="20.10.5", libseccomp="2.5.1"),
                YES,
                truth=RUNS,
            ),
        ),
    ),
    Case(
        "I05",
        "statx under Docker before 18.04",
        (
            Trial(
                "a 32-bit program of glibc 2.33",
                lambda: _debian("2.33", machine="386"),
                _node("4.4.0", docker="17.12.1", libseccomp="2.3.1"),
                UNKNOWN,
                "seccomp-profile",
            ),
            Trial(
                "of glibc 2.28",
                lambda: _debian("2.28", machine="386"),
                _node("4.4.0", docker="17.12.1", libseccomp="2.3.1"),
                YES,
                truth=RUNS,
            ),
        ),
    ),
    Case(
        "I06",
        "io_uring under a runtime's own profile",
        (
            Trial(
                "Docker 25",
                _uring,
                _node("6.1.0", URING_ON, docker="25.0.4", libseccomp="2.5.4"),
                UNKNOWN,
                "io-uring-profile",
            ),
            Trial("Docker 24", _uring, _node("6.1.0", URING_ON, docker="24.0.7", libseccomp="2.5.4"), YES, truth=RUNS),
            Trial(
                "containerd 2.0",
                _uring,
                _node("6.1.0", URING_ON, containerd="2.0.0", libseccomp="2.5.4"),
                UNKNOWN,
                "io-uring-profile",
            ),
            Trial(
                "a program linked to liburing",
                _liburing,
                _node("6.1.0", URING_ON, docker="25.0.4", libseccomp="2.5.4"),
                YES,
                "io-uring-profile",
                truth=OPEN,
            ),
        ),
    ),
    Case(
        "I07",
        "io_uring switched off by a setting of the kernel",
        (
            Trial(
                "set to 2", _uring, _node("6.8.0", URING_OFF, docker="24.0.7", libseccomp="2.5.4"), UNKNOWN, "io-uring"
            ),
            Trial("set to 0", _uring, _node("6.8.0", URING_ON, docker="24.0.7", libseccomp="2.5.4"), YES, truth=RUNS),
            Trial("Linux 5.4", _uring, _node("5.4.0", {}, docker="24.0.7", libseccomp="2.5.4"), UNKNOWN, "io-uring"),
            Trial(
                "a program linked to liburing",
                _liburing,
                _node("6.8.0", URING_OFF, docker="24.0.7", libseccomp="2.5.4"),
                UNKNOWN,
                "io-uring",
            ),
        ),
    ),
)
