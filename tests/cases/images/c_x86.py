"""Category C: instruction sets of x86, POWER and z."""

from tests.cases.images import nodes
from tests.cases.images.hosts import flags, recorded, with_facts, with_flags
from tests.cases.images.parts import app, glibc, made, musl, musl_app, static
from tests.cases.images.records import Case, Image, Trial, Truth
from tests.cases.images.software import SITE, VENV, go, image, numpy, program, python, wheel
from tests.resolver.inspection.elves import isa_needed
from tests.resolver.inspection.readings.test_libcs import checking_loader

from nodeworthy.verdicts import Answer

YES, NO, UNKNOWN = Answer.COMPATIBLE, Answer.INCOMPATIBLE, Answer.UNKNOWN
RUNS, OPEN = Truth.RUNS, Truth.OPEN

V1, V2, V3 = nodes.amd64(1), nodes.amd64(2), nodes.amd64(3)
AVX_ONLY = with_flags(V2, "AVX")
"""Sandy Bridge and FX-8320: AVX without AVX2."""
AVX512 = with_flags(V3, "X86_64_V4", "AVX512F", "AVX512BW", "AVX512CD", "AVX512DQ", "AVX512VL")
KVM64, K10 = recorded("linux-talos1.6-kvm64"), recorded("linux-scientific7-k10")
SAPPHIRE, ZEN4 = recorded("linux-rhcos4.13-sapphirerapids"), recorded("linux-rocky8-zen4_gpu")
ALDER = recorded("linux-debian12-i7_1370p")
POWER9 = recorded("linux-rhel8-power9")
POWER9_KNOWN = nodes.other("ppc64le", cpu_model={"name": "POWER9 (architected), altivec supported"})
POWER8 = nodes.other("ppc64le", cpu_model={"name": "POWER8 (architected), altivec supported"})
Z13 = with_facts(nodes.other("s390x"), cpu_hwcap=flags("esan3", "zarch", "vx"), cpu_cpuid=flags("ZARCH", "VX"))
Z14 = with_facts(nodes.other("s390x"), cpu_hwcap=flags("zarch", "vx", "vxe"), cpu_cpuid=flags("ZARCH", "VX", "VXE"))


def _mongo(version: str, script: bytes = b'#!/bin/sh\nset -e\nexec "$@"\n') -> Image:
    files = program("/usr/bin/mongod") | {"/bin/sh": app(), "/usr/local/bin/docker-entrypoint.sh": script}
    return image(files, "docker-entrypoint.sh", "mongod", environment=(f"MONGO_VERSION={version}",))


def _el(text: str, *levels: int, machine: str = "amd64", loader: bytes = b"") -> Image:
    """A base of Enterprise Linux: os-release, and the loader with or without its check of levels."""
    files = glibc(machine, "2.34") | {"/app": app(machine), "/etc/os-release": text.encode()}
    path = next(path for path, content in files.items() if "/ld" in path and isinstance(content, bytes))
    checking = checking_loader(*levels) if levels else b""
    return image(files | ({path: checking or loader} if checking or loader else {}), platform=f"linux/{machine}")


EL9 = 'ID="rhel"\nVERSION_ID="9.4"\nPLATFORM_ID="platform:el9"\n'
EL10 = 'ID="rhel"\nVERSION_ID="10.0"\nPLATFORM_ID="platform:el10"\n'
ALMA10 = 'ID="almalinux"\nVERSION_ID="10.0"\nPLATFORM_ID="platform:el10"\n'
OL9 = 'ID="ol"\nVERSION_ID="9.4"\nPLATFORM_ID="platform:el9"\n'
EL8 = 'ID="rhel"\nVERSION_ID="8.9"\nPLATFORM_ID="platform:el8"\n'
SLES16 = 'ID="sles"\nVERSION_ID="16.0"\n'


def _text(machine: str, text: bytes) -> bytes:
    return made(
        machine,
        soname="ld64.so.2" if machine == "ppc64le" else "ld64.so.1",
        defines=("GLIBC_2.17",),
        tail=b"\0" + text + b"\0",
    )


def _conda(*entrypoint: str) -> Image:
    site = "/opt/conda/lib/python3.12/site-packages"
    files = program("/opt/conda/bin/python3.12") | numpy("2.4.1", "X86_V2", site=site, tag="linux_x86_64")
    return image(files | {"/opt/conda/bin/python": "-> python3.12"}, *entrypoint)


def _asking(answer: str) -> Image:
    script = f"#!/bin/sh\nif ! grep -qw avx2 /proc/cpuinfo; then\n  {answer}\nfi\nexec /app\n".encode()
    return image(program() | {"/bin/sh": app(), "/entry": script}, "/entry")


CASES = (
    Case(
        "C01",
        "MongoDB 5 and later want AVX",
        (
            Trial("5.0 on a Celeron", lambda: _mongo("5.0.9"), V2, NO, "x86-avx"),
            Trial("4.4 on it", lambda: _mongo("4.4.29"), V2, YES, truth=RUNS),
            Trial("7.0 with AVX alone", lambda: _mongo("7.0.5"), AVX_ONLY, YES, truth=RUNS),
            Trial("8.0 on kvm64", lambda: _mongo("8.0.1"), KVM64, NO, "x86-avx"),
            Trial(
                "another program of its image",
                lambda: image(
                    program("/usr/bin/mongod") | {"/bin/x": static()}, "/bin/x", environment=("MONGO_VERSION=7.0.5",)
                ),
                V1,
                YES,
                truth=RUNS,
            ),
        ),
    ),
    Case(
        "C02",
        "TensorFlow's wheels are built with AVX since 1.6",
        (
            Trial(
                "2.15 on a Core i7-920",
                lambda: python(wheel("tensorflow", "2.15.0")),
                V2,
                NO,
                "python-package-baseline",
            ),
            Trial("2.15 with AVX", lambda: python(wheel("tensorflow", "2.15.0")), AVX_ONLY, YES, truth=RUNS),
            Trial("1.5 without", lambda: python(wheel("tensorflow", "1.5.0")), V2, YES, truth=RUNS),
            Trial(
                "tensorflow-cpu",
                lambda: python(wheel("tensorflow-cpu", "2.16.1")),
                KVM64,
                NO,
                "python-package-baseline",
            ),
        ),
    ),
    Case(
        "C04",
        "Enterprise Linux 9 wants x86-64-v2",
        (
            Trial("on kvm64", lambda: _el(EL9, 2), KVM64, NO, "x86-64-level"),
            Trial("on a CPU of level 2", lambda: _el(EL9, 2), V2, YES, truth=RUNS),
            Trial(
                "Enterprise Linux 8 on kvm64",
                lambda: image(program(version="2.28") | {"/etc/os-release": EL8.encode()}),
                V1,
                YES,
                truth=RUNS,
            ),
            Trial(
                "a static program on its base",
                lambda: image({"/etc/os-release": EL9.encode(), "/app": go("GOAMD64=v1")}),
                V1,
                YES,
                truth=RUNS,
            ),
        ),
    ),
    Case(
        "C05",
        "MySQL 8.4 moved from Oracle Linux 8 to 9",
        (
            Trial("8.4", lambda: _el(OL9, 2), V1, NO, "x86-64-level"),
            Trial(
                "8.0", lambda: image(program(version="2.28") | {"/etc/os-release": EL8.encode()}), V1, YES, truth=RUNS
            ),
        ),
    ),
    Case(
        "C06",
        "any container of Enterprise Linux 9 on a Core 2",
        (
            Trial("Core 2", lambda: _el(EL9, 2), with_flags(V1, "SSSE3", "CX16", "LAHF", "SSE4"), NO, "x86-64-level"),
            Trial("Nehalem", lambda: _el(EL9, 2), V2, YES, truth=RUNS),
        ),
    ),
    Case(
        "C07",
        "Enterprise Linux 10 wants x86-64-v3",
        (
            Trial("on a J4125", lambda: _el(EL10, 2, 3), V2, NO, "x86-64-level"),
            Trial("on Haswell", lambda: _el(EL10, 2, 3), V3, YES, truth=RUNS),
            Trial("on an FX-8320, with AVX alone", lambda: _el(EL10, 2, 3), AVX_ONLY, NO, "x86-64-level"),
            Trial("AlmaLinux 10's build for level 2", lambda: _el(ALMA10, 2), V2, YES, truth=RUNS),
            Trial("that build on kvm64", lambda: _el(ALMA10, 2), KVM64, NO, "x86-64-level"),
            Trial("on Zen 4", lambda: _el(EL10, 2, 3), ZEN4, UNKNOWN, "seccomp-profile", truth=RUNS),
        ),
    ),
    Case(
        "C08",
        "Enterprise Linux 9 for POWER wants POWER9",
        (
            Trial(
                "on POWER8",
                lambda: _el(EL9, machine="ppc64le", loader=_text("ppc64le", b"CPU lacks ISA 3.00 support")),
                POWER8,
                NO,
                "power-isa",
            ),
            Trial(
                "on POWER9",
                lambda: _el(EL9, machine="ppc64le", loader=_text("ppc64le", b"CPU lacks ISA 3.00 support")),
                POWER9_KNOWN,
                YES,
                truth=RUNS,
            ),
        ),
    ),
    Case(
        "C09",
        "Enterprise Linux 9 for z wants z14",
        (
            Trial(
                "on z13",
                lambda: _el(EL9, machine="s390x", loader=_text("s390x", b"CPU lacks VXE support")),
                Z13,
                NO,
                "z-facility",
            ),
            Trial(
                "on z14",
                lambda: _el(EL9, machine="s390x", loader=_text("s390x", b"CPU lacks VXE support")),
                Z14,
                YES,
                truth=RUNS,
            ),
        ),
    ),
    Case(
        "C10",
        "Ubuntu 22.04 for POWER is compiled for POWER9",
        (
            Trial(
                "on POWER8",
                lambda: image(
                    program(platform="linux/ppc64le", version="2.31")
                    | {"/etc/os-release": b"ID=ubuntu\nVERSION_ID=22.04\n"},
                    platform="linux/ppc64le",
                ),
                POWER8,
                NO,
                "power-isa",
            ),
            Trial(
                "20.04 on it",
                lambda: image(
                    program(platform="linux/ppc64le", version="2.31")
                    | {"/etc/os-release": b"ID=ubuntu\nVERSION_ID=20.04\n"},
                    platform="linux/ppc64le",
                ),
                POWER8,
                YES,
                truth=RUNS,
            ),
            Trial(
                "on POWER9",
                lambda: image(
                    program(platform="linux/ppc64le", version="2.31")
                    | {"/etc/os-release": b"ID=ubuntu\nVERSION_ID=22.04\n"},
                    platform="linux/ppc64le",
                ),
                POWER9_KNOWN,
                YES,
                truth=RUNS,
            ),
        ),
    ),
    Case(
        "C11",
        "a note that marks a level as needed, which glibc 2.33 and later test",
        (
            Trial(
                "level 3 on level 2",
                lambda: image(glibc("amd64", "2.36") | {"/app": app(notes=isa_needed(0b101))}),
                V2,
                NO,
                "x86-64-level",
            ),
            Trial(
                "level 3 on level 3",
                lambda: image(glibc("amd64", "2.36") | {"/app": app(notes=isa_needed(0b101))}),
                V3,
                YES,
                truth=RUNS,
            ),
            Trial(
                "under musl", lambda: image(musl() | {"/app": musl_app(notes=isa_needed(0b101))}), V2, YES, truth=RUNS
            ),
            Trial(
                "under glibc 2.31",
                lambda: image(glibc("amd64", "2.31") | {"/app": app(notes=isa_needed(0b101))}),
                V2,
                YES,
                truth=RUNS,
            ),
        ),
    ),
    Case(
        "C12",
        "numpy's wheels are built for level 2 since 2.4",
        (
            Trial("2.4 on kvm64", lambda: python(numpy("2.4.0", "X86_V2")), V1, NO, "python-package-baseline"),
            Trial("2.3 on it", lambda: python(numpy("2.3.5", "SSE SSE2 SSE3")), V1, YES, truth=RUNS),
            Trial(
                "2.4 on the recorded kvm64",
                lambda: python(numpy("2.4.0", "X86_V2")),
                KVM64,
                NO,
                "python-package-baseline",
            ),
            Trial(
                "2.4 in an environment that does not start",
                lambda: python(numpy("2.4.0", "X86_V2", site=VENV)),
                V1,
                YES,
                truth=RUNS,
            ),
            Trial(
                "2.4 in a virtual environment that does",
                lambda: python(
                    numpy("2.4.0", "X86_V2", site=VENV),
                    {
                        "/opt/venv/pyvenv.cfg": b"home = /usr/local/bin\n",
                        "/opt/venv/bin/python": "-> /usr/local/bin/python3.12",
                    },
                    entrypoint=("/opt/venv/bin/python", "/app.py"),
                ),
                V1,
                NO,
                "python-package-baseline",
            ),
            Trial(
                "2.4 below conda", lambda: _conda("/opt/conda/bin/python", "/app.py"), V1, NO, "python-package-baseline"
            ),
            Trial(
                "the entrypoint is no Python",
                lambda: python(numpy("2.4.0", "X86_V2"), {"/bin/x": static()}, entrypoint=("/bin/x",)),
                V1,
                YES,
                truth=RUNS,
            ),
            Trial(
                "gunicorn, a script of that Python",
                lambda: python(
                    numpy("2.4.2", "X86_V2"),
                    {"/usr/local/bin/gunicorn": b"#!/usr/local/bin/python3.12\nimport gunicorn\n"},
                    entrypoint=("gunicorn", "app:app"),
                ),
                V1,
                NO,
                "python-package-baseline",
            ),
            Trial(
                "built on the spot for every CPU",
                lambda: python(numpy("2.4.0", "SSE SSE2 SSE3", tag="linux_x86_64")),
                V1,
                YES,
                truth=RUNS,
            ),
        ),
    ),
    Case(
        "C13",
        "polars is compiled for AVX2",
        (
            Trial("pre-Haswell", lambda: python(wheel("polars", "1.0.0")), AVX_ONLY, NO, "python-package-baseline"),
            Trial("polars-lts-cpu", lambda: python(wheel("polars-lts-cpu", "1.0.0")), AVX_ONLY, YES, truth=RUNS),
            Trial(
                "its own list of features",
                lambda: python(
                    wheel("polars", "1.30.0")
                    | {f"{SITE}/polars/_cpu_check.py": b'_POLARS_FEATURE_FLAGS = "+sse3,+ssse3,+avx,+avx2,+fma"\n'}
                ),
                AVX_ONLY,
                NO,
                "python-package-baseline",
            ),
        ),
    ),
    Case(
        "C14",
        "polars-lts-cpu wants SSE4.2 and POPCNT",
        (
            Trial("kvm64", lambda: python(wheel("polars-lts-cpu", "1.0.0")), V1, UNKNOWN, "python-package-baseline"),
            Trial("level 2", lambda: python(wheel("polars-lts-cpu", "1.0.0")), V2, YES, truth=RUNS),
        ),
    ),
    Case(
        "C16",
        "Go's GOAMD64",
        (
            Trial("v3 on level 2", lambda: image({"/app": go("GOAMD64=v3")}), V2, NO, "x86-64-level"),
            Trial("v1", lambda: image({"/app": go("GOAMD64=v1")}), V2, YES, truth=RUNS),
            Trial("v3 with AVX alone", lambda: image({"/app": go("GOAMD64=v3")}), AVX_ONLY, NO, "x86-64-level"),
            Trial("v2 with AVX alone", lambda: image({"/app": go("GOAMD64=v2")}), AVX_ONLY, YES, truth=RUNS),
            Trial("v4 on a hybrid CPU", lambda: image({"/app": go("GOAMD64=v4")}), ALDER, NO, "x86-64-level"),
            Trial("v3 on a hybrid CPU", lambda: image({"/app": go("GOAMD64=v3")}), ALDER, YES, truth=RUNS),
            Trial(
                "a tool beside it is v3",
                lambda: image({"/app": go("GOAMD64=v1"), "/usr/bin/tool": go("GOAMD64=v3")}),
                V1,
                YES,
                truth=RUNS,
            ),
        ),
    ),
    Case(
        "C17",
        "Bun is built for Haswell, its baseline build for SSE4.2",
        (
            Trial(
                "E5410", lambda: image(program("/usr/local/bin/bun"), "/usr/local/bin/bun"), V1, UNKNOWN, "x86-64-level"
            ),
            Trial(
                "Haswell",
                lambda: image(program("/usr/local/bin/bun"), "/usr/local/bin/bun"),
                V3,
                YES,
                truth=RUNS,
            ),
            Trial(
                "Nehalem, of which the build is not known",
                lambda: image(program("/usr/local/bin/bun"), "/usr/local/bin/bun"),
                V2,
                UNKNOWN,
                "x86-64-level",
                truth=OPEN,
            ),
        ),
    ),
    Case(
        "C26",
        "xFasterTransformer wants AMX and AVX-512 for FP16",
        (
            Trial(
                "Ice Lake",
                lambda: python(wheel("xfastertransformer", "1.8.2")),
                AVX512,
                UNKNOWN,
                "python-package-baseline",
            ),
            Trial(
                "Sapphire Rapids",
                lambda: python(wheel("xfastertransformer", "1.8.2")),
                with_flags(AVX512, "AMXTILE", "AMXBF16", "AVX512FP16"),
                YES,
                truth=RUNS,
            ),
        ),
    ),
    Case(
        "C31",
        "a virtual machine in the image asks for flags of its own",
        (
            Trial(
                "an inner system for SSSE3",
                lambda: image(program("/qemu-system-x86_64") | {"/disk.img": bytes(512)}, "/qemu-system-x86_64"),
                V1,
                YES,
                "device-kvm",
                truth=OPEN,
            ),
            Trial(
                "an emulator that is itself for level 2",
                lambda: image({"/qemu-system-x86_64": go("GOAMD64=v2")}, "/qemu-system-x86_64"),
                V1,
                NO,
                "x86-64-level",
            ),
        ),
        undecidable="what an inner system asks for stands in its disk; only a declaration says it",
    ),
    Case(
        "C32",
        "a program that tests what its build counted on",
        (
            Trial(
                "AVX",
                lambda: image(
                    glibc("amd64", "2.31")
                    | {
                        "/app": app(
                            tail=b"\0fatal error: the cpu feature AVX was required at build time but isn't available\0"
                        )
                    }
                ),
                V2,
                UNKNOWN,
                "build-time-features",
            ),
            Trial(
                "with AVX",
                lambda: image(
                    glibc("amd64", "2.31")
                    | {
                        "/app": app(
                            tail=b"\0fatal error: the cpu feature AVX was required at build time but isn't available\0"
                        )
                    }
                ),
                AVX_ONLY,
                YES,
                truth=RUNS,
            ),
            Trial("a script that ends without AVX2", lambda: _asking("exit 1"), AVX_ONLY, UNKNOWN, "script-check"),
            Trial("with AVX2", lambda: _asking("exit 1"), V3, YES, truth=RUNS),
            Trial("one that only warns", lambda: _asking("echo slow"), AVX_ONLY, YES, truth=RUNS),
        ),
    ),
)
