"""Category D: instruction sets of Arm and RISC-V."""

from tests.cases.images import nodes
from tests.cases.images.hosts import attributes, flags, recorded, with_facts, with_flags
from tests.cases.images.parts import app, made
from tests.cases.images.records import Case, Image, Trial, Truth
from tests.cases.images.software import go, image, program, python, wheel
from tests.resolver.inspection.instructions.test_arm64 import LDADD, LDAXR, MRS, NOP, RET, SDOT, STLXR, skip_if_zero
from tests.resolver.inspection.instructions.test_arm64 import program as words
from tests.resolver.inspection.readings.test_isa_notes import riscv
from tests.resolver.inspection.real_files import debian

from nodeworthy.verdicts import Answer

YES, NO, UNKNOWN = Answer.COMPATIBLE, Answer.INCOMPATIBLE, Answer.UNKNOWN
RUNS, OPEN = Truth.RUNS, Truth.OPEN
ARM64 = "linux/arm64"

V80 = nodes.arm64(version="8.0")
"""Cortex-A53, A57 and A72; Graviton 1."""
V82 = nodes.arm64()
PI5, GB10 = recorded("linux-debian12-cortex_a76"), recorded("linux-ubuntu24.04-dgx_gb10")
_NAS_FLAGS = ("fp", "asimd", "evtstrm", "aes", "pmull", "sha1", "sha2", "crc32")
NAS = with_facts(
    V80,
    cpu_hwcap=flags(*_NAS_FLAGS),
    cpu_cpuid=flags(*map(str.upper, _NAS_FLAGS)),
    kernel_version=attributes(full="4.4.59+"),
)
"""A Realtek board: Armv8.0 under a kernel that does not emulate ID registers."""
KERNEL_4_19 = with_facts(V80, kernel_version=attributes(full="4.19.0-rk3399"))
M4 = with_facts(
    with_flags(with_flags(V82, "SVE", "SVE2"), "sve", "sve2", of="cpu.hwcap"), cpu_model=attributes(vendor="Apple")
)
"""A virtual machine on Apple's M4, which shows SVE."""
SVE = with_flags(with_flags(V82, "SVE"), "sve", of="cpu.hwcap")
RVA20 = with_facts(nodes.other("riscv64"), cpu_hwcap=flags(*"imafdc"))
RVA23 = with_facts(nodes.other("riscv64"), cpu_hwcap=flags(*"imafdcv"))

_OUTLINED = (skip_if_zero(3), LDADD, RET, LDAXR, STLXR, RET)
"""As libgcc's outline atomics: the new instruction only where a variable says so."""
_ADDVL = 0x04605020
"""``addvl``: reads SVE's vector length."""
_PACIASP = 0xD503233F


def _mongo(version: str) -> Image:
    files = program("/usr/bin/mongod", platform=ARM64) | {"/bin/sh": app("arm64"), "/entry": b'#!/bin/sh\nexec "$@"\n'}
    return image(files, "/entry", "mongod", platform=ARM64, environment=(f"MONGO_VERSION={version}",))


def _code(*functions: tuple[int, ...]) -> Image:
    return image({"/app": words((), *functions)}, platform=ARM64)


def _extension(*functions: tuple[int, ...], name: str = "cryptography", version: str = "47.0.0") -> Image:
    return python(
        wheel(name, version, "manylinux_2_28_aarch64", extensions={f"{name}/core": words((), *functions)}),
        platform=ARM64,
    )


def _jemalloc() -> Image:
    package = debian(
        "pool/main/j/jemalloc/libjemalloc2_5.3.0-1_arm64.deb",
        "866eba7688ec5cbb98200a05540c4909df6320557371b634b5d394cd32b9f252",
    )
    content = next(content for path, content in package.items() if path.endswith("libjemalloc.so.2"))
    return python(
        wheel("fast", "1.0", "manylinux_2_28_aarch64", extensions={"fast/core": content}), platform=ARM64, libc="2.36"
    )


def _clickhouse(version: str) -> Image:
    status = f"Package: clickhouse-common-static\nStatus: install ok installed\nVersion: {version}\n".encode()
    files = program("/usr/bin/clickhouse", platform=ARM64) | {"/var/lib/dpkg/status": status}
    return image(files, "/usr/bin/clickhouse", platform=ARM64)


def _java(version: str, machine: str = "arm64") -> Image:
    files = program("/opt/java/bin/java", platform=f"linux/{machine}") | {
        "/opt/java/lib/server/libjvm.so": made(machine),
        "/opt/java/release": f'JAVA_VERSION="{version}"\n'.encode(),
    }
    return image(files, "/opt/java/bin/java", "-jar", "/app.jar", platform=f"linux/{machine}")


def _module(name: str, version: str) -> Image:
    return image({"/app": go(machine="arm64", modules={name: version})}, platform=ARM64)


def _ubuntu(version: str) -> Image:
    release = {"/etc/os-release": f'ID=ubuntu\nVERSION_ID="{version}"\n'.encode()}
    return image(program(platform="linux/riscv64") | release, platform="linux/riscv64")


def _riscv(arch: str) -> Image:
    return image({"/app": riscv(arch)}, platform="linux/riscv64")


CASES = (
    Case(
        "D01",
        "MongoDB's builds for arm64 are compiled for Armv8.2",
        (
            Trial("5.0 on a Pi 4", lambda: _mongo("5.0.9"), V80, NO, "arm64-features"),
            Trial("4.4.18 on it", lambda: _mongo("4.4.18"), V80, YES, truth=RUNS),
            Trial("4.4.19 on it", lambda: _mongo("4.4.19"), V80, NO, "arm64-features"),
            Trial("7.0 on a Pi 5", lambda: _mongo("7.0.5"), V82, YES, truth=RUNS),
            Trial("5.0 on a Neoverse with SVE", lambda: _mongo("5.0.9"), SVE, YES, truth=RUNS),
        ),
    ),
    Case(
        "D02",
        "atomics of Armv8.1 in the program itself",
        (
            Trial("on Armv8.0", lambda: _code((LDADD, RET)), V80, NO, "cpu-instructions"),
            Trial("on Armv8.2", lambda: _code((LDADD, RET)), V82, YES, truth=RUNS),
            Trial(
                "by way of outlined helpers that have no names",
                lambda: _code(_OUTLINED),
                V80,
                UNKNOWN,
                "cpu-instructions",
                truth=RUNS,
            ),
            Trial("Debian's jemalloc, which has outlined helpers", _jemalloc, V80, YES, truth=RUNS),
            Trial("on the recorded Pi 5", lambda: _code((LDADD, RET)), PI5, YES, truth=RUNS),
            Trial(
                "with marks of pointer authentication alone", lambda: _code((_PACIASP, NOP, RET)), V80, YES, truth=RUNS
            ),
        ),
    ),
    Case(
        "D03",
        "-march=armv8.2-a implies the new atomics",
        (
            Trial("an atomic and a dot product", lambda: _code((LDADD, SDOT, RET)), V80, NO, "cpu-instructions"),
            Trial("on a CPU that has both", lambda: _code((LDADD, SDOT, RET)), V82, YES, truth=RUNS),
        ),
    ),
    Case(
        "D04",
        "a wheel whose bundled libcrypto has the new atomics",
        (
            Trial("Cortex-A57", lambda: _extension((LDADD, RET)), V80, UNKNOWN, "cpu-instructions"),
            Trial("Cortex-A76", lambda: _extension((LDADD, RET)), V82, YES, truth=RUNS),
            Trial("an older release", lambda: _extension((LDAXR, STLXR, RET), version="45.0.0"), V80, YES, truth=RUNS),
        ),
    ),
    Case(
        "D05",
        "imgproxy: a program for Graviton 2 on Graviton 1",
        (
            Trial("Graviton 1", lambda: _code((LDADD, RET), (SDOT, RET)), V80, NO, "cpu-instructions"),
            Trial("Graviton 2", lambda: _code((LDADD, RET), (SDOT, RET)), V82, YES, truth=RUNS),
        ),
    ),
    Case(
        "D06",
        "programs that Bun has compiled, for Armv8.1",
        (
            Trial(
                "Cortex-A53",
                lambda: image({"/app": go("GOARM64=v8.1", machine="arm64")}, platform=ARM64),
                V80,
                NO,
                "arm64-features",
            ),
            Trial(
                "for Armv8.0",
                lambda: image({"/app": go("GOARM64=v8.0", machine="arm64")}, platform=ARM64),
                V80,
                YES,
                truth=RUNS,
            ),
            Trial(
                "for Armv8.0 with the atomics",
                lambda: image({"/app": go("GOARM64=v8.0,lse", machine="arm64")}, platform=ARM64),
                V80,
                NO,
                "arm64-features",
            ),
            Trial(
                "for Armv9",
                lambda: image({"/app": go("GOARM64=v9.0", machine="arm64")}, platform=ARM64),
                GB10,
                YES,
                truth=RUNS,
            ),
        ),
    ),
    Case(
        "D07",
        "ClickHouse is compiled for Armv8.2 since 23.5",
        (
            Trial("23.8 on a Pi 4", lambda: _clickhouse("23.8.2.7"), V80, UNKNOWN, "arm64-features"),
            Trial("23.3", lambda: _clickhouse("23.3.1.1"), V80, YES, truth=RUNS),
            Trial("24.1 on Armv8.2", lambda: _clickhouse("24.1.5.6"), V82, YES, truth=RUNS),
        ),
    ),
    Case(
        "D08",
        "SVE where there is none",
        (
            Trial("Armv8.2", lambda: _code((_ADDVL, RET)), V82, NO, "cpu-instructions"),
            Trial("with SVE", lambda: _code((_ADDVL, RET)), SVE, YES, truth=RUNS),
        ),
    ),
    Case(
        "D09",
        "Java and the SVE that a virtual machine on Apple's M4 shows",
        (
            Trial("21.0.5 on M4", lambda: _java("21.0.5"), M4, UNKNOWN, "java-sve"),
            Trial("21.0.7 on M4", lambda: _java("21.0.7"), M4, YES, truth=RUNS),
            Trial(
                "21.0.5 on Neoverse",
                lambda: _java("21.0.5"),
                with_facts(SVE, cpu_model=attributes(vendor="ARM")),
                YES,
                truth=RUNS,
            ),
            Trial("11.0.22 on M4", lambda: _java("11.0.22"), M4, YES, truth=RUNS),
            Trial("17.0.14 on M4", lambda: _java("17.0.14"), M4, UNKNOWN, "java-sve"),
        ),
    ),
    Case(
        "D10",
        "OpenSSL's look at SVE's vector length",
        (
            Trial("in an initialiser, without SVE", lambda: _code((_ADDVL, RET)), V82, NO, "cpu-instructions"),
            Trial("where SVE is real", lambda: _code((_ADDVL, RET)), SVE, YES, truth=RUNS),
            Trial("in a wheel", lambda: _extension((_ADDVL, RET)), V82, UNKNOWN, "cpu-instructions", truth=OPEN),
        ),
    ),
    Case(
        "D11",
        ".NET takes SME for SVE",
        (
            Trial(
                "SME without SVE",
                lambda: image(program("/usr/bin/dotnet", platform=ARM64), "/usr/bin/dotnet", platform=ARM64),
                with_flags(V82, "SME"),
                YES,
                truth=OPEN,
            ),
            Trial("code for SVE there", lambda: _code((_ADDVL, RET)), with_flags(V82, "SME"), NO, "cpu-instructions"),
        ),
        undecidable="which features a runtime draws from others is in its logic, not in its instructions",
    ),
    Case(
        "D12",
        "a dispatcher that takes the wrong target, and only when work comes",
        (
            Trial(
                "behind a choice",
                lambda: _code((skip_if_zero(3), _ADDVL, RET, NOP, RET)),
                V82,
                UNKNOWN,
                "cpu-instructions",
                truth=OPEN,
            ),
            Trial("without a choice", lambda: _code((_ADDVL, RET)), V82, NO, "cpu-instructions"),
        ),
        undecidable="the code is chosen at run time; whether the choice is right shows only then",
    ),
    Case(
        "D13",
        "reading an ID register under a kernel that does not emulate it",
        (
            Trial("kernel 4.4", lambda: _code((MRS, RET)), NAS, NO, "arm64-id-registers"),
            Trial("kernel 4.19", lambda: _code((MRS, RET)), KERNEL_4_19, YES, truth=RUNS),
            Trial(
                "wazero 1.9", lambda: _module("github.com/tetratelabs/wazero", "v1.9.0"), NAS, UNKNOWN, "id-registers"
            ),
            Trial("wazero 1.10", lambda: _module("github.com/tetratelabs/wazero", "v1.10.0"), NAS, YES, truth=RUNS),
            Trial("x/sys 0.1", lambda: _module("golang.org/x/sys", "v0.1.0"), NAS, UNKNOWN, "id-registers"),
            Trial(
                "x/sys 0.1 on kernel 4.19", lambda: _module("golang.org/x/sys", "v0.1.0"), KERNEL_4_19, YES, truth=RUNS
            ),
            Trial(
                "klauspost/cpuid 1.3.0",
                lambda: _module("github.com/klauspost/cpuid", "v1.3.0"),
                NAS,
                UNKNOWN,
                "id-registers",
            ),
            Trial(
                "klauspost/cpuid 1.3.1", lambda: _module("github.com/klauspost/cpuid", "v1.3.1"), NAS, YES, truth=RUNS
            ),
        ),
    ),
    Case(
        "D14",
        "Go's own test of GOARM64=v8.1 was wrong on macOS",
        (
            Trial(
                "v8.1 on Armv8.2",
                lambda: image({"/app": go("GOARM64=v8.1", machine="arm64")}, platform=ARM64),
                V82,
                YES,
                truth=RUNS,
            ),
            Trial(
                "v8.1 on Armv8.0",
                lambda: image({"/app": go("GOARM64=v8.1", machine="arm64")}, platform=ARM64),
                V80,
                NO,
                "arm64-features",
            ),
        ),
        undecidable="a fault of the toolchain under macOS, where no container's kernel runs",
    ),
    Case(
        "D16",
        "Ubuntu for RISC-V is compiled for RVA23 since 25.10",
        (
            Trial("25.10 on an RVA20 board", lambda: _ubuntu("25.10"), RVA20, NO, "riscv-profile"),
            Trial("24.04 on it", lambda: _ubuntu("24.04"), RVA20, YES, truth=RUNS),
            Trial("26.04 with vectors", lambda: _ubuntu("26.04"), RVA23, YES, truth=RUNS),
        ),
    ),
    Case(
        "D17",
        "a RISC-V program for vectors",
        (
            Trial(
                "rv64gcv on rv64gc",
                lambda: _riscv("rv64i2p1_m2p0_a2p1_f2p2_d2p2_c2p0_v1p0_zicsr2p0_zve32f1p0_zvl128b1p0"),
                RVA20,
                UNKNOWN,
                "riscv-vector",
            ),
            Trial("rv64gc", lambda: _riscv("rv64i2p1_m2p0_a2p1_f2p2_d2p2_c2p0_zicsr2p0"), RVA20, YES, truth=RUNS),
            Trial(
                "rv64gcv with vectors",
                lambda: _riscv("rv64i2p1_m2p0_a2p1_f2p2_d2p2_c2p0_v1p0_zicsr2p0_zve32f1p0_zvl128b1p0"),
                RVA23,
                YES,
                truth=RUNS,
            ),
        ),
    ),
)
