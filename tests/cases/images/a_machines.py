"""Category A, first half: the machine of ELF files against the platform that is claimed."""

from tests.cases.images import nodes
from tests.cases.images.parts import Files, app, busybox, glibc, library, musl, musl_app, static
from tests.cases.images.records import Case, Child, Image, Trial, Truth
from tests.cases.images.shapes import one, two

from nodeworthy.verdicts import Answer

YES, UNKNOWN, DEFECT = Answer.COMPATIBLE, Answer.UNKNOWN, Answer.IMAGE_DEFECT
AMD64, ARM64 = nodes.amd64(), nodes.arm64()


def _shell(machine: str, script: bytes, **files: bytes) -> Files:
    return {**busybox(machine), "/entry": b"#!/bin/sh\n" + script, **{f"/{name}": data for name, data in files.items()}}


def _base(machine: str, program: bytes) -> Files:
    """A whole base of one machine, and a program on it."""
    return {**glibc(machine), "/app": program}


CASES = (
    Case(
        "A01",
        "an index whose arm64 child holds a Go program for x86-64",
        (
            Trial(
                "arm64 child",
                lambda: two({"/app": static()}, {"/app": static()}),
                ARM64,
                DEFECT,
                "content-platform-mismatch",
            ),
            Trial(
                "the amd64 child of it",
                lambda: two({"/app": static()}, {"/app": static()}),
                AMD64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "both as claimed",
                lambda: two({"/app": static()}, {"/app": static("arm64")}),
                ARM64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "run by tini and env",
                lambda: one(
                    {"/tini": static("arm64"), "/usr/bin/env": static("arm64"), "/app": static()},
                    "linux/arm64",
                    "/tini",
                    "--",
                    "/usr/bin/env",
                    "A=b",
                    "/app",
                ),
                ARM64,
                DEFECT,
                "content-platform-mismatch",
            ),
            Trial(
                "on a node that emulates it",
                lambda: one({"/app": static()}, "linux/arm64"),
                nodes.arm64(emulates="amd64"),
                UNKNOWN,
                "",
                Truth.OPEN,
            ),
        ),
    ),
    Case(
        "A02",
        "the amd64 entry of a base image holds an aarch64 root",
        (
            Trial(
                "shell",
                lambda: one(busybox("arm64"), "linux/amd64", "/bin/sh"),
                AMD64,
                DEFECT,
                "content-platform-mismatch",
            ),
            Trial(
                "as claimed",
                lambda: one({**busybox(), "/run": b"#!/bin/sh\nexec /bin/busybox date\n"}, "linux/amd64", "/run"),
                AMD64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "dynamic shell behind a merged /usr",
                lambda: one(
                    {"/bin": "-> usr/bin", "/usr/bin/dash": app("arm64"), "/usr/bin/sh": "-> dash", **glibc("arm64")},
                    "linux/amd64",
                    "sh",
                    "-c",
                    "exec sh",
                ),
                AMD64,
                DEFECT,
                "content-platform-mismatch",
            ),
        ),
    ),
    Case(
        "A03",
        "an arm64 tag with the userland of amd64, which Rosetta hid",
        (
            Trial(
                "whole base",
                lambda: one(_base("amd64", app()), "linux/arm64"),
                ARM64,
                DEFECT,
                "content-platform-mismatch",
            ),
            Trial(
                "whole base of arm64",
                lambda: one(_base("arm64", app("arm64")), "linux/arm64"),
                ARM64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "s390x userland",
                lambda: one(_base("s390x", app("s390x")), "linux/arm64"),
                ARM64,
                DEFECT,
                "content-platform-mismatch",
            ),
        ),
    ),
    Case(
        "A04",
        "an arm64 image that bundles the x64 build of one program",
        (
            Trial(
                "the program is the entrypoint",
                lambda: one({**musl("arm64"), **busybox("arm64"), "/usr/bin/tool": static()}, "linux/arm64", "tool"),
                ARM64,
                DEFECT,
                "content-platform-mismatch",
            ),
            Trial(
                "for arm64",
                lambda: one(
                    {**musl("arm64"), **busybox("arm64"), "/usr/bin/tool": static("arm64")}, "linux/arm64", "tool"
                ),
                ARM64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "beside the entrypoint",
                lambda: one({"/app": static("arm64"), "/opt/helper": static()}, "linux/arm64"),
                ARM64,
                UNKNOWN,
                "foreign-program",
                Truth.OPEN,
            ),
            Trial(
                "for both, chosen by a script",
                lambda: one(
                    _shell(
                        "arm64",
                        b"arch=$(uname -m)\nexec /opt/tool-$arch\n",
                        **{"opt/tool-aarch64": static("arm64"), "opt/tool-x86_64": static()},
                    ),
                    "linux/arm64",
                    "/entry",
                ),
                ARM64,
                UNKNOWN,
                "foreign-program",
                Truth.RUNS,
            ),
            Trial(
                "for both, told apart by folders",
                lambda: one(
                    {
                        "/app": static("arm64"),
                        "/opt/linux-x64/tool": static(),
                        "/opt/linux-arm64/tool": static("arm64"),
                    },
                    "linux/arm64",
                ),
                ARM64,
                YES,
                "foreign-program",
                Truth.RUNS,
            ),
        ),
    ),
    Case(
        "A05",
        "layers of arm64 below, the main program for x86-64",
        (
            Trial(
                "program of the upper layer",
                lambda: Image(
                    (Child({"/app": app()}, lower={**glibc("arm64"), "/app": app("arm64")}, platform="linux/arm64"),)
                ),
                ARM64,
                DEFECT,
                "loader-missing",
            ),
            Trial(
                "program of the lower layer",
                lambda: Image(
                    (
                        Child(
                            {"/other": static()}, lower={**glibc("arm64"), "/app": app("arm64")}, platform="linux/arm64"
                        ),
                    )
                ),
                ARM64,
                UNKNOWN,
                "foreign-program",
                Truth.RUNS,
            ),
            Trial(
                "the upper layer hides it, PATH has another",
                lambda: Image(
                    (
                        Child(
                            {"/usr/local/bin/.wh.app": b"", "/usr/bin/app": app("arm64")},
                            ("app",),
                            "linux/arm64",
                            lower={**glibc("arm64"), "/usr/local/bin/app": app()},
                        ),
                    )
                ),
                ARM64,
                YES,
                truth=Truth.RUNS,
            ),
        ),
    ),
    Case(
        "A06",
        "a cross build that made a program for the machine of the builder",
        (
            Trial(
                "scratch and static",
                lambda: one({"/elastic-operator": static()}, "linux/arm64", "/elastic-operator", "manager"),
                ARM64,
                DEFECT,
                "content-platform-mismatch",
            ),
            Trial(
                "on the machine of the builder",
                lambda: one({"/elastic-operator": static()}, "linux/amd64", "/elastic-operator", "manager"),
                AMD64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "the builder was arm64",
                lambda: one({"/manager": static("arm64")}, "linux/amd64", "/manager"),
                AMD64,
                DEFECT,
                "content-platform-mismatch",
            ),
            Trial(
                "riscv64 in an image for ppc64le",
                lambda: one({"/app": static("riscv64")}, "linux/ppc64le"),
                nodes.other("ppc64le"),
                DEFECT,
                "content-platform-mismatch",
            ),
            Trial(
                "behind a script that does more",
                lambda: one(
                    _shell("arm64", b"if [ -f /x ]; then . /x; fi\nexec /manager\n", manager=static()),
                    "linux/arm64",
                    "/entry",
                ),
                ARM64,
                UNKNOWN,
                "content-platform-mismatch",
            ),
        ),
    ),
    Case(
        "A07",
        "every child of an index holds the same x86-64 programs",
        (
            Trial(
                "third child",
                lambda: Image(
                    tuple(Child({"/app": static()}, platform=f"linux/{name}") for name in ("amd64", "arm/v7", "arm64")),
                    is_index=True,
                ),
                ARM64,
                DEFECT,
                "content-platform-mismatch",
            ),
            Trial(
                "first child",
                lambda: Image(
                    tuple(Child({"/app": static()}, platform=f"linux/{name}") for name in ("amd64", "arm/v7", "arm64")),
                    is_index=True,
                ),
                AMD64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "child for ppc64le",
                lambda: Image(
                    tuple(Child({"/app": static()}, platform=f"linux/{name}") for name in ("amd64", "ppc64le")),
                    is_index=True,
                ),
                nodes.other("ppc64le"),
                DEFECT,
                "content-platform-mismatch",
            ),
            Trial(
                "the same shell script, which is right for all",
                lambda: Image(
                    tuple(
                        Child(
                            {**busybox(name), "/entry": b"#!/bin/sh\n:\nexec /bin/busybox true\n"},
                            ("/entry",),
                            f"linux/{name}",
                        )
                        for name in ("amd64", "arm64")
                    ),
                    is_index=True,
                ),
                ARM64,
                YES,
                truth=Truth.RUNS,
            ),
        ),
    ),
    Case(
        "A08",
        "libraries of the builder's machine in a runtime stage of another",
        (
            Trial(
                "library",
                lambda: one(
                    {
                        **glibc("arm64"),
                        "/lib/aarch64-linux-gnu/libboost.so.1": library(name="libboost.so.1"),
                        "/app": app("arm64", needed=("libboost.so.1", "libc.so.6")),
                    },
                    "linux/arm64",
                ),
                ARM64,
                DEFECT,
                "library-other-machine",
            ),
            Trial(
                "both are there",
                lambda: one(
                    {
                        **glibc("arm64"),
                        "/lib/aarch64-linux-gnu/libboost.so.1": library(name="libboost.so.1"),
                        "/usr/lib/libboost.so.1": library("arm64", "libboost.so.1"),
                        "/app": app("arm64", needed=("libboost.so.1", "libc.so.6")),
                    },
                    "linux/arm64",
                ),
                ARM64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "with musl, which does not pass over it",
                lambda: one(
                    {
                        **musl("arm64"),
                        "/usr/lib/libboost.so.1": library(name="libboost.so.1"),
                        "/app": musl_app("arm64", needed=("libboost.so.1", "libc.musl-aarch64.so.1")),
                    },
                    "linux/arm64",
                ),
                ARM64,
                DEFECT,
                "library-unusable",
            ),
            Trial(
                "32-bit library in a 64-bit image",
                lambda: one(
                    {
                        **glibc(),
                        "/usr/lib/libz.so.1": library("386", "libz.so.1"),
                        "/app": app(needed=("libz.so.1", "libc.so.6")),
                    }
                ),
                AMD64,
                DEFECT,
                "library-other-machine",
            ),
            Trial(
                "a library that is loaded later",
                lambda: one(
                    {
                        **glibc("arm64"),
                        "/opt/java/lib/server/libjvm.so": library(name="libjvm.so"),
                        "/opt/java/bin/java": app("arm64"),
                    },
                    "linux/arm64",
                    "/opt/java/bin/java",
                ),
                ARM64,
                UNKNOWN,
                "foreign-library",
            ),
        ),
    ),
)
