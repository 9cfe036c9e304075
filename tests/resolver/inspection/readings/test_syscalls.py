"""What a C library expects of kernel and container runtime."""

import pytest
from tests.resolver.inspection.elves import Made, prepared
from tests.resolver.inspection.nodes import node, outcome
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.requirements import Requirement, Sureness
from nodeworthy.rules import Outcome
from nodeworthy_resolver.inspection.readings.syscalls import read_syscalls
from nodeworthy_resolver.inspection.subject import ImageConfig

LOADER, MUSL = "/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"


def glibc(version: str, *, imports: tuple[str, ...] = (), machine: int = 62, bits: int = 64) -> tuple[Requirement, ...]:
    banner = f"GNU C Library (GNU libc) stable release version {version}.\0".encode()
    app = Made(machine, bits, interpreter=LOADER, needed=("libc.so.6",), imports=imports, kind=2).bytes()
    files: dict[str, bytes | str] = {
        LOADER: Made(machine, bits, soname="ld-linux-x86-64.so.2").bytes(),
        "/lib64/libc.so.6": Made(machine, bits, soname="libc.so.6", tail=banner).bytes(),
        "/app": app,
    }
    environment = {"LD_LIBRARY_PATH": "/lib64"}
    return read_syscalls(prepared(MemoryTree(files), ImageConfig(("/app",), environment=environment))).requirements


def musl(version: str) -> tuple[Requirement, ...]:
    files: dict[str, bytes | str] = {
        MUSL: Made(soname="libc.so", tail=f"musl libc (x86_64)\0\0{version}\0".encode()).bytes(),
        "/app": Made(interpreter=MUSL, needed=("libc.so",), kind=2).bytes(),
        "/lib/libc.so": "-> ld-musl-x86_64.so.1",
    }
    return read_syscalls(prepared(MemoryTree(files), ImageConfig(("/app",)))).requirements


@pytest.mark.parametrize(
    ("runtime", "kernel", "expected"),
    [
        ({"docker": "20.10.5", "libseccomp": "2.5.1"}, "5.4.0-81-generic", Outcome.FALSE),
        ({"docker": "20.10.10", "libseccomp": "2.5.1"}, "5.4.0-81-generic", Outcome.TRUE),
        ({"containerd": "1.6.2"}, "5.4.0-81-generic", Outcome.TRUE),
        ({"containerd": "1.5.5"}, "5.4.0-81-generic", Outcome.FALSE),
        ({"containerd": "1.4.10"}, "5.4.0-81-generic", Outcome.TRUE),
        ({"containerd": "1.4.9"}, "5.4.0-81-generic", Outcome.FALSE),
        ({"containerd": "1.4.4", "docker": "20.10.10"}, "5.4.0-81-generic", Outcome.TRUE),
        ({"podman": "4.3.1"}, "5.4.0-81-generic", Outcome.TRUE),
        (None, "5.4.0-81-generic", Outcome.UNKNOWN),
        (None, "5.15.0-91-generic", Outcome.TRUE),
    ],
)
def test_clone3_wants_a_docker_that_knows_it(runtime: dict[str, str] | None, kernel: str, expected: Outcome) -> None:
    requirement, told = glibc("2.34")
    assert (requirement.only_if_told, told.only_if_told) == (False, True)
    assert requirement.sureness is Sureness.PROBABLE
    sets = {"kernel.version": {"full": kernel}} | ({"system.runtime": runtime} if runtime is not None else {})
    contents = {name: FeatureSet(attributes=values) for name, values in sets.items()}
    facts = Snapshot(contents, catalogue=frozenset({"kernel.version", "system.runtime"}))
    assert outcome(requirement, facts) is expected


def test_before_2_34_glibc_does_without_clone3() -> None:
    assert glibc("2.33") == ()


@pytest.mark.parametrize(("version", "asks"), [("1.2.2", True), ("1.2.1", False), ("1.2.5", True)])
def test_musl_from_1_2_2_on_uses_faccessat2(version: str, *, asks: bool) -> None:
    found = musl(version)
    assert bool(found) is asks
    if found:
        old = {"kernel.version": {"full": "4.19.0"}, "system.runtime": {"docker": "19.03.15", "libseccomp": "2.4.4"}}
        assert outcome(found[0], node(old)) is Outcome.FALSE


@pytest.mark.parametrize(
    ("version", "name", "sureness"),
    [
        ("2.36", "arc4random_buf", Sureness.PROBABLE),
        ("2.31", "getrandom", Sureness.PROBABLE),
        ("2.31", "getentropy", Sureness.ADVISORY),
    ],
)
def test_who_asks_for_random_bytes_wants_linux_3_17(version: str, name: str, sureness: Sureness) -> None:
    requirement = next(one for one in glibc(version, imports=(name,)) if one.code == "getrandom")
    assert requirement.sureness is sureness
    assert outcome(requirement, node({"kernel.version": {"full": "3.10.108"}})) is Outcome.FALSE
    assert outcome(requirement, node({"kernel.version": {"full": "4.4.302+"}})) is Outcome.TRUE


def test_who_does_not_ask_does_not_want_it() -> None:
    codes = [one.code for one in glibc("2.36", imports=("puts",))]
    assert codes == ["seccomp-profile", "seccomp-profile-of-runtime"]
