"""Category G, second half: loaders inside the image; what fails here fails on every node."""

from tests.cases.images import nodes
from tests.cases.images.parts import (
    app,
    busybox,
    debian_glibc,
    debian_musl,
    glibc,
    library,
    made,
    musl,
    musl_app,
    static,
)
from tests.cases.images.records import Case, Child, Image, Trial, Truth
from tests.cases.images.shapes import checked_hello, hello, one

from nodeworthy.verdicts import Answer

YES, UNKNOWN, DEFECT = Answer.COMPATIBLE, Answer.UNKNOWN, Answer.IMAGE_DEFECT
AMD64, ARM64 = nodes.amd64(), nodes.arm64()


CASES = (
    Case(
        "G04",
        "a glibc program on Alpine",
        (
            Trial(
                "real program, real musl",
                lambda: one({**debian_musl(), **busybox(), "/app": hello()}),
                AMD64,
                DEFECT,
                "loader-missing",
            ),
            Trial(
                "static", lambda: one({**debian_musl(), **busybox(), "/app": static()}), AMD64, YES, truth=Truth.RUNS
            ),
            Trial(
                "through a shell",
                lambda: one({**musl(), **busybox(), "/app": app()}, "linux/amd64", "/bin/sh", "-c", "exec /app"),
                AMD64,
                DEFECT,
                "loader-missing",
            ),
            Trial("from scratch", lambda: one({"/app": app("arm64")}, "linux/arm64"), ARM64, DEFECT, "loader-missing"),
            Trial(
                "the loader is a link to nothing",
                lambda: one({"/lib64/ld-linux-x86-64.so.2": "-> /lib/ld-2.31.so", "/app": app()}),
                AMD64,
                DEFECT,
                "loader-missing",
            ),
            Trial(
                "with gcompat",
                lambda: one(
                    {
                        **musl(),
                        "/lib64/ld-linux-x86-64.so.2": made("amd64", kind=2, tail=b"libgcompat.so.0\0"),
                        "/app": app(),
                    }
                ),
                AMD64,
                UNKNOWN,
                truth=Truth.OPEN,
            ),
            Trial(
                "beside a static entrypoint",
                lambda: one({**musl(), "/app": static(), "/opt/tool": app()}),
                AMD64,
                YES,
                truth=Truth.OPEN,
            ),
            Trial(
                "started by the loader itself, which is there for another machine",
                lambda: one({**glibc(), "/app": app("arm64")}, "linux/amd64", "/lib64/ld-linux-x86-64.so.2", "/app"),
                AMD64,
                UNKNOWN,
                "foreign-program",
            ),
        ),
        needs_gcc=True,
    ),
    Case(
        "G05",
        "the loader of glibc is a link to musl",
        (
            Trial(
                "functions that musl has not",
                lambda: one(
                    {
                        **debian_musl(),
                        "/lib64/ld-linux-x86-64.so.2": "-> /lib/ld-musl-x86_64.so.1",
                        "/app": checked_hello(),
                    }
                ),
                AMD64,
                DEFECT,
                "symbol-missing",
            ),
            Trial("with glibc", lambda: one({**debian_glibc(), "/app": checked_hello()}), AMD64, YES, truth=Truth.RUNS),
            Trial(
                "functions that musl has",
                lambda: one(
                    {**debian_musl(), "/lib64/ld-linux-x86-64.so.2": "-> /lib/ld-musl-x86_64.so.1", "/app": hello()}
                ),
                AMD64,
                YES,
                truth=Truth.RUNS,
            ),
        ),
        needs_gcc=True,
    ),
    Case(
        "G06",
        "a package of glibc for Alpine that no longer brings the loader's link",
        (
            Trial(
                "without the link",
                lambda: one(
                    {
                        **musl(),
                        "/usr/glibc-compat/lib/ld-linux-x86-64.so.2": made("amd64", soname="ld-linux-x86-64.so.2"),
                        "/app": app(),
                    }
                ),
                AMD64,
                DEFECT,
                "loader-missing",
            ),
            Trial(
                "with the link",
                lambda: one(
                    {
                        **musl(),
                        "/lib64/ld-linux-x86-64.so.2": "-> /usr/glibc-compat/lib/ld-linux-x86-64.so.2",
                        "/usr/glibc-compat/lib/ld-linux-x86-64.so.2": made(
                            "amd64",
                            soname="ld-linux-x86-64.so.2",
                            tail=b"\0/usr/glibc-compat/etc/ld.so.cache\0/usr/glibc-compat/lib/\0",
                        ),
                        "/usr/glibc-compat/lib/libc.so.6": library(
                            name="libc.so.6",
                            defines=("GLIBC_2.2.5",),
                            tail=b"GNU C Library (GNU libc) stable release version 2.35.\0",
                        ),
                        "/app": app(),
                    }
                ),
                AMD64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "the link of an upper layer leads to musl",
                lambda: Image(
                    (
                        Child(
                            {"/lib64/ld-linux-x86-64.so.2": "-> /lib/ld-musl-x86_64.so.1"},
                            lower={
                                **musl(),
                                "/lib64/ld-linux-x86-64.so.2": "-> /usr/glibc-compat/lib/ld-linux-x86-64.so.2",
                                "/app": app(imports=("__libc_start_main", "__strcpy_chk")),
                            },
                        ),
                    )
                ),
                AMD64,
                DEFECT,
                "symbol-missing",
            ),
            Trial(
                "a musl program in the same image",
                lambda: one({**musl(), "/app": musl_app(imports=("puts",))}),
                AMD64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "a library for one level of CPUs only",
                lambda: one(
                    {
                        **glibc(),
                        "/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v3/libz.so.1": library(name="libz.so.1"),
                        "/app": app(needed=("libz.so.1", "libc.so.6")),
                    }
                ),
                AMD64,
                UNKNOWN,
                "library-missing",
                Truth.RUNS,
            ),
            Trial(
                "a glibc of Nix, which has its own folders",
                lambda: one(
                    {
                        "/nix/store/x-glibc-2.38/lib/ld-linux-x86-64.so.2": made(
                            "amd64",
                            soname="ld-linux-x86-64.so.2",
                            tail=b"\0/nix/store/x-glibc-2.38/etc/ld.so.cache\0/nix/store/x-glibc-2.38/lib/\0",
                        ),
                        "/nix/store/x-glibc-2.38/lib/libc.so.6": library(name="libc.so.6"),
                        "/app": app(interpreter="/nix/store/x-glibc-2.38/lib/ld-linux-x86-64.so.2"),
                    }
                ),
                AMD64,
                YES,
                truth=Truth.RUNS,
            ),
        ),
    ),
)
