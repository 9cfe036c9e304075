"""Category B, second half: 32-bit programs of x86, emulation, LoongArch's worlds."""

from tests.cases.images import nodes
from tests.cases.images.parts import (
    Files,
    app,
    busybox,
    glibc,
    library,
    made,
    musl,
    musl_app,
    static,
)
from tests.cases.images.records import Case, Image, Trial, Truth
from tests.cases.images.shapes import one
from tests.cases.images.software import go

from nodeworthy.platforms import parse
from nodeworthy.verdicts import Answer

YES, NO, UNKNOWN, DEFECT = Answer.COMPATIBLE, Answer.INCOMPATIBLE, Answer.UNKNOWN, Answer.IMAGE_DEFECT
AMD64, ARM64, WITHOUT_IA32 = nodes.amd64(), nodes.arm64(), nodes.amd64(ia32="false")
ROSETTA = nodes.arm64(emulates="amd64")


STEAM = b"""#!/bin/sh
ROOT="$(cd "${0%/*}" && pwd)"
PLATFORM=linux32
EXE="${ROOT}/${PLATFORM}/steamcmd"
ulimit -n 2048
$DEBUGGER "$EXE" "$@"
STATUS=$?
exit $STATUS
"""


def _steam(loader: str = "/lib/ld-linux.so.2") -> Image:
    files: Files = {
        **glibc(),
        **(glibc("386") if loader else {}),
        "/bin/sh": app(),
        "/steam/steamcmd.sh": STEAM,
        "/steam/linux32/steamcmd": app("386"),
    }
    return one(files, "linux/amd64", "/steam/steamcmd.sh")


CASES = (
    Case(
        "B06",
        "steamcmd is for i386 in an image for amd64; the kernel has no IA32 emulation",
        (
            Trial("started by its script", _steam, WITHOUT_IA32, UNKNOWN, "32-bit-programs"),
            Trial(
                "executed by the script's only line",
                lambda: one(
                    {
                        **glibc("386"),
                        **busybox(),
                        "/run": b"#!/bin/sh\nexec /steamcmd +quit\n",
                        "/steamcmd": app("386"),
                    },
                    "linux/amd64",
                    "/run",
                ),
                WITHOUT_IA32,
                NO,
                "32-bit-programs",
            ),
            Trial(
                "that with IA32",
                lambda: one(
                    {
                        **glibc("386"),
                        **busybox(),
                        "/run": b"#!/bin/sh\nexec /steamcmd +quit\n",
                        "/steamcmd": app("386"),
                    },
                    "linux/amd64",
                    "/run",
                ),
                AMD64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "a 32-bit helper that nothing starts",
                lambda: one({"/app": static(), "/opt/wine/loader": static("386")}),
                WITHOUT_IA32,
                YES,
                "32-bit-programs",
                Truth.OPEN,
            ),
        ),
    ),
    Case(
        "B07",
        "a sandbox that offers 64-bit programs only",
        (
            Trial(
                "32-bit program",
                lambda: one({**glibc("386"), "/app": app("386")}),
                WITHOUT_IA32,
                NO,
                "32-bit-programs",
            ),
            Trial("64-bit program", lambda: one({**glibc(), "/app": app()}), WITHOUT_IA32, YES, truth=Truth.RUNS),
            Trial(
                "what the node can is not told",
                lambda: one({**glibc("386"), "/app": app("386")}),
                nodes.amd64(ia32=""),
                UNKNOWN,
                "32-bit-programs",
                Truth.OPEN,
            ),
        ),
    ),
    Case(
        "B08",
        "a minimal kernel without 32-bit programs",
        (
            Trial(
                "32-bit entrypoint behind tini",
                lambda: one(
                    {**glibc("386"), "/tini": static(), "/app": app("386")}, "linux/amd64", "/tini", "--", "/app"
                ),
                WITHOUT_IA32,
                NO,
                "32-bit-programs",
            ),
            Trial(
                "ordinary kernel",
                lambda: one(
                    {**glibc("386"), "/tini": static(), "/app": app("386")}, "linux/amd64", "/tini", "--", "/app"
                ),
                AMD64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "an image for 386, facts of the kernel's configuration only",
                lambda: one({"/app": static("386")}, "linux/386"),
                nodes.amd64(ia32="", kernel_config={"IA32_EMULATION": "n"}),
                NO,
                "platform-32-bit-unsupported",
            ),
        ),
    ),
    Case(
        "B09",
        "an image for amd64 under qemu-user, which may crash",
        (
            Trial(
                "emulated", lambda: one({**glibc(), "/app": app()}), ROSETTA, UNKNOWN, "platform-emulated", Truth.OPEN
            ),
            Trial("native", lambda: one({**glibc(), "/app": app()}), AMD64, YES, truth=Truth.RUNS),
            Trial("nothing emulates it", lambda: one({**glibc(), "/app": app()}), ARM64, NO, "platform-mismatch"),
            Trial(
                "an image for arm64 on amd64 with qemu",
                lambda: one({"/app": static("arm64")}, "linux/arm64"),
                nodes.amd64(emulates="arm64"),
                UNKNOWN,
                "platform-emulated",
                Truth.OPEN,
            ),
        ),
        undecidable="where an emulator fails is a matter of its version and of what the program does",
    ),
    Case(
        "B10",
        "a glibc program without its loader, in Rosetta's words",
        (
            Trial(
                "on Alpine, asked for as linux/amd64",
                lambda: one({**musl(), "/app": app()}),
                ROSETTA,
                DEFECT,
                "loader-missing",
                wanted=parse("linux/amd64"),
            ),
            Trial(
                "with glibc",
                lambda: one({**glibc(), "/app": app()}),
                ROSETTA,
                UNKNOWN,
                "platform-emulated",
                Truth.OPEN,
            ),
            Trial(
                "with the loader of arm64 in its place",
                lambda: one(
                    {"/lib64/ld-linux-x86-64.so.2": made("arm64", soname="ld-linux-aarch64.so.1"), "/app": app()}
                ),
                AMD64,
                DEFECT,
                "loader-unusable",
            ),
            Trial(
                "with glibc on a node of its own",
                lambda: one({**glibc(), "/app": app()}),
                AMD64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "a musl program on Debian",
                lambda: one({**glibc(), "/app": musl_app()}),
                AMD64,
                DEFECT,
                "loader-missing",
            ),
        ),
    ),
    Case(
        "B11",
        "instructions that an emulator does not have",
        (
            Trial(
                "AVX2 under an emulator",
                lambda: one({"/app": go("GOAMD64=v3")}),
                ROSETTA,
                UNKNOWN,
                "platform-emulated",
                Truth.OPEN,
            ),
            Trial(
                "on a CPU that has them",
                lambda: one({"/app": go("GOAMD64=v3")}),
                AMD64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "on one that has not",
                lambda: one({"/app": go("GOAMD64=v3")}),
                nodes.amd64(2),
                NO,
                "x86-64-level",
            ),
        ),
        undecidable="the facts of a node tell its own CPU; what an emulator offers nothing tells",
    ),
    Case(
        "B12",
        "programs of LoongArch's old world on a kernel of the new one",
        (
            Trial(
                "old world",
                lambda: one(
                    {
                        "/lib64/ld.so.1": made("loong64", soname="ld.so.1", flags=3),
                        "/lib64/libc.so.6": library("loong64", "libc.so.6", flags=3),
                        "/app": app("loong64", interpreter="/lib64/ld.so.1", flags=3),
                    },
                    "linux/loong64",
                ),
                nodes.other("loong64"),
                UNKNOWN,
                "loongarch-world",
            ),
            Trial(
                "new world",
                lambda: one({**glibc("loong64"), "/app": app("loong64")}, "linux/loong64"),
                nodes.other("loong64"),
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "new world on an old kernel",
                lambda: one({**glibc("loong64"), "/app": app("loong64")}, "linux/loong64"),
                nodes.other("loong64", kernel_version=nodes.kernel("4.19.190-7.5.lns8")),
                UNKNOWN,
                "loongarch-world",
            ),
            Trial(
                "an old program on a new base",
                lambda: one(
                    {**glibc("loong64"), "/app": app("loong64", interpreter="/lib64/ld.so.1")}, "linux/loong64"
                ),
                nodes.other("loong64"),
                DEFECT,
                "loader-missing",
            ),
            Trial(
                "static",
                lambda: one({"/app": static("loong64")}, "linux/loong64"),
                nodes.other("loong64"),
                YES,
                truth=Truth.RUNS,
            ),
        ),
    ),
)
