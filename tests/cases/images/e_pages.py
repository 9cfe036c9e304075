"""Category E: sizes of pages and of address spaces, and a fault of arm64 kernels."""

from functools import cache

from tests.cases.images import nodes
from tests.cases.images.parts import Files, app, glibc, library, musl, musl_app, static
from tests.cases.images.records import Case, Image, Trial, Truth
from tests.cases.images.shapes import one
from tests.resolver.inspection.readings.test_allocators import MESSAGE, jumping_to
from tests.resolver.inspection.real_files import debian

from nodeworthy.verdicts import Answer

YES, NO, UNKNOWN, DEFECT = Answer.COMPATIBLE, Answer.INCOMPATIBLE, Answer.UNKNOWN, Answer.IMAGE_DEFECT
SMALL, MIDDLE, LARGE = (nodes.arm64(page=size) for size in (4096, 16384, 65536))
AMD64 = nodes.amd64()
PADDING = bytes(0x30000)
FOR_4K, FOR_16K, FOR_64K = (0x1000, 0x2000, 0x1000), (0x4000, 0x8000, 0x4000), (0x10000, 0x20000, 0x10000)
"""Segments behind the first: offset, address, alignment."""
CONGRUENT_64K = (0x11000, 0x21000, 0x1000)
"""Aligned to 4 KiB by its header, and mapped well with pages of 64 KiB all the same."""
SHIFTED = (0x1008, 0x2000, 0x1000)


def _one(files: Files, platform: str = "linux/arm64", *entrypoint: str, environment: tuple[str, ...] = ()) -> Image:
    return one(files, platform, *entrypoint, environment=environment)


def _program(*segments: tuple[int, int, int], machine: str = "arm64") -> bytes:
    return static(machine, segments=segments, tail=PADDING)


def _with_library(version: str, *segments: tuple[int, int, int], machine: str = "arm64") -> Files:
    name = "libcef.so"
    return {
        **glibc(machine, version),
        f"/usr/lib/{name}": library(machine, name, segments=segments, tail=PADDING),
        "/app": app(machine, needed=(name, "libc.so.6")),
    }


def _python(extension: bytes, machine: str = "arm64") -> Files:
    """A Python with one extension module, which a script may import."""
    return {
        **glibc(machine),
        "/usr/bin/python3": app(machine),
        "/usr/lib/python3/site-packages/numpy/core/_multiarray_umath.so": extension,
        "/main.py": b"import numpy\n",
    }


@cache
def _debian_jemalloc() -> bytes:
    package = debian(
        "pool/main/j/jemalloc/libjemalloc2_5.3.0-1_arm64.deb",
        "866eba7688ec5cbb98200a05540c4909df6320557371b634b5d394cd32b9f252",
    )
    return package["/usr/lib/aarch64-linux-gnu/libjemalloc.so.2"]


CASES = (
    Case(
        "E01",
        "a service with jemalloc built for pages of 4 KiB",
        (
            Trial("16 KiB", lambda: _one({"/app": jumping_to(1)}), MIDDLE, NO, "jemalloc-page-size"),
            Trial("4 KiB", lambda: _one({"/app": jumping_to(1)}), SMALL, YES, truth=Truth.RUNS),
            Trial(
                "built for 16 KiB, on 64 KiB", lambda: _one({"/app": jumping_to(4)}), LARGE, NO, "jemalloc-page-size"
            ),
            Trial("built for 64 KiB, on 16 KiB", lambda: _one({"/app": jumping_to(16)}), MIDDLE, YES, truth=Truth.RUNS),
            Trial(
                "the page cannot be read",
                lambda: _one({"/app": static("arm64", tail=MESSAGE)}),
                LARGE,
                UNKNOWN,
                "jemalloc-page-size",
                Truth.OPEN,
            ),
        ),
    ),
    Case(
        "E02",
        "a library whose segments are for pages of 4 KiB",
        (
            Trial("64 KiB", lambda: _one(_with_library("2.36", FOR_4K)), LARGE, NO, "page-size"),
            Trial("4 KiB", lambda: _one(_with_library("2.36", FOR_4K)), SMALL, YES, truth=Truth.RUNS),
            Trial("for 16 KiB on 64 KiB", lambda: _one(_with_library("2.36", FOR_16K)), LARGE, NO, "page-size"),
            Trial("for 16 KiB on 16 KiB", lambda: _one(_with_library("2.36", FOR_16K)), MIDDLE, YES, truth=Truth.RUNS),
            Trial("for 64 KiB on 64 KiB", lambda: _one(_with_library("2.31", FOR_64K)), LARGE, YES, truth=Truth.RUNS),
            Trial(
                "congruent, which glibc 2.34 refuses",
                lambda: _one(_with_library("2.34", CONGRUENT_64K)),
                LARGE,
                NO,
                "page-size",
            ),
            Trial(
                "congruent, which glibc 2.35 takes",
                lambda: _one(_with_library("2.35", CONGRUENT_64K)),
                LARGE,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "the program itself, which the kernel maps",
                lambda: _one({"/app": _program(FOR_4K)}),
                LARGE,
                NO,
                "page-size",
            ),
            Trial(
                "x86-64 has one size only",
                lambda: _one(_with_library("2.36", FOR_4K, machine="amd64"), "linux/amd64"),
                AMD64,
                YES,
                truth=Truth.RUNS,
            ),
        ),
    ),
    Case(
        "E03",
        "a prebuilt module that patchelf wrote anew for 4 KiB",
        (
            Trial(
                "loaded later, 64 KiB",
                lambda: _one(
                    {
                        **glibc("arm64"),
                        "/usr/bin/node": app("arm64"),
                        "/srv/node_modules/sharp.node": library(
                            "arm64", "sharp.node", segments=(FOR_4K,), tail=PADDING
                        ),
                    },
                    "linux/arm64",
                    "node",
                    "/srv/app.js",
                ),
                LARGE,
                UNKNOWN,
                "page-size",
            ),
            Trial(
                "4 KiB",
                lambda: _one(
                    {
                        **glibc("arm64"),
                        "/usr/bin/node": app("arm64"),
                        "/srv/node_modules/sharp.node": library(
                            "arm64", "sharp.node", segments=(FOR_4K,), tail=PADDING
                        ),
                    },
                    "linux/arm64",
                    "node",
                    "/srv/app.js",
                ),
                SMALL,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "with --page-size 65536",
                lambda: _one(
                    {
                        **glibc("arm64"),
                        "/usr/bin/node": app("arm64"),
                        "/srv/node_modules/sharp.node": library(
                            "arm64", "sharp.node", segments=(FOR_64K,), tail=PADDING
                        ),
                    },
                    "linux/arm64",
                    "node",
                    "/srv/app.js",
                ),
                LARGE,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "with musl, which maps the wrong bytes",
                lambda: _one(
                    {
                        **musl("arm64"),
                        "/usr/lib/libx.so": library("arm64", "libx.so", segments=(FOR_4K,), tail=PADDING),
                        "/app": musl_app("arm64", needed=("libx.so", "libc.musl-aarch64.so.1")),
                    }
                ),
                LARGE,
                UNKNOWN,
                "page-size",
            ),
        ),
    ),
    Case(
        "E04",
        "a library that strip broke after patchelf",
        (
            Trial(
                "loaded at the start",
                lambda: _one(_with_library("2.31", SHIFTED, machine="amd64"), "linux/amd64"),
                AMD64,
                DEFECT,
                "segments-misaligned",
            ),
            Trial(
                "intact",
                lambda: _one(_with_library("2.31", FOR_4K, machine="amd64"), "linux/amd64"),
                AMD64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "a Python module, loaded if it is imported",
                lambda: _one(
                    _python(library("amd64", "", segments=(SHIFTED,), tail=PADDING), "amd64"),
                    "linux/amd64",
                    "python3",
                    "/main.py",
                ),
                AMD64,
                UNKNOWN,
                "segments-misaligned",
                Truth.OPEN,
            ),
            Trial(
                "a library of another machine, which nothing loads",
                lambda: _one(
                    {
                        "/app": static(),
                        "/opt/aarch64/x.so": library("arm64", "x.so", segments=(SHIFTED,), tail=PADDING),
                    },
                    "linux/amd64",
                ),
                AMD64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "the program itself",
                lambda: _one({"/app": _program(SHIFTED, machine="amd64")}, "linux/amd64"),
                AMD64,
                DEFECT,
                "segments-misaligned",
            ),
        ),
    ),
    Case(
        "E05",
        "TCMalloc for 48 bits of addresses on a kernel with 39",
        (
            Trial(
                "39 bits",
                lambda: _one({"/app": static("arm64", tail=b"\0MmapAligned() failed - unable\0")}),
                nodes.arm64(bits=39),
                UNKNOWN,
                "tcmalloc-address-space",
            ),
            Trial(
                "48 bits",
                lambda: _one({"/app": static("arm64", tail=b"\0MmapAligned() failed - unable\0")}),
                nodes.arm64(bits=48),
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "x86-64",
                lambda: _one({"/app": static(tail=b"\0MmapAligned() failed - unable\0")}, "linux/amd64"),
                AMD64,
                YES,
                truth=Truth.RUNS,
            ),
        ),
    ),
    Case(
        "E06",
        "the allocator as a library, on a kernel with 39 bits",
        (
            Trial(
                "39 bits",
                lambda: _one(
                    {
                        **glibc("arm64"),
                        "/usr/lib/libtcmalloc.so.4": library(
                            "arm64", "libtcmalloc.so.4", tail=b"\0MmapAligned() failed\0"
                        ),
                        "/app": app("arm64", needed=("libtcmalloc.so.4", "libc.so.6")),
                    }
                ),
                nodes.arm64(bits=39),
                UNKNOWN,
                "tcmalloc-address-space",
            ),
            Trial(
                "48 bits",
                lambda: _one(
                    {
                        **glibc("arm64"),
                        "/usr/lib/libtcmalloc.so.4": library(
                            "arm64", "libtcmalloc.so.4", tail=b"\0MmapAligned() failed\0"
                        ),
                        "/app": app("arm64", needed=("libtcmalloc.so.4", "libc.so.6")),
                    }
                ),
                SMALL,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "Debian's jemalloc, which asks for nothing",
                lambda: _one(
                    {**glibc("arm64"), "/usr/lib/libjemalloc.so.2": _debian_jemalloc(), "/app": app("arm64")},
                    environment=("LD_PRELOAD=/usr/lib/other.so",),
                ),
                LARGE,
                YES,
                truth=Truth.RUNS,
            ),
        ),
    ),
    Case(
        "E07",
        "Redis on an arm64 kernel with the fault that it tests for",
        (
            Trial(
                "4.18",
                lambda: _one(
                    {"/usr/bin/redis-server": static("arm64")},
                    "linux/arm64",
                    "redis-server",
                    environment=("REDIS_VERSION=7.0.5",),
                ),
                nodes.arm64(kernel_version=nodes.kernel("4.18.0-147.el8")),
                UNKNOWN,
                "arm64-cow-bug",
            ),
            Trial(
                "6.8",
                lambda: _one(
                    {"/usr/bin/redis-server": static("arm64")},
                    "linux/arm64",
                    "redis-server",
                    environment=("REDIS_VERSION=7.0.5",),
                ),
                SMALL,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "5.4 with the fix put back",
                lambda: _one(
                    {"/usr/bin/redis-server": static("arm64")},
                    "linux/arm64",
                    "redis-server",
                    environment=("REDIS_VERSION=7.0.5",),
                ),
                nodes.arm64(kernel_version=nodes.kernel("5.4.0-200-generic")),
                UNKNOWN,
                "arm64-cow-bug",
                Truth.OPEN,
            ),
            Trial(
                "x86-64",
                lambda: _one(
                    {"/usr/bin/redis-server": static()},
                    "linux/amd64",
                    "redis-server",
                    environment=("REDIS_VERSION=7.0.5",),
                ),
                nodes.amd64(kernel_version=nodes.kernel("4.18.0-147.el8")),
                YES,
                truth=Truth.RUNS,
            ),
        ),
    ),
)
