"""Category G, first half: versions of libraries inside the image; what fails here fails on every node."""

from tests.cases.images import nodes
from tests.cases.images.parts import (
    app,
    debian_glibc,
    glibc,
    library,
)
from tests.cases.images.records import Case, Child, Image, Trial, Truth
from tests.cases.images.shapes import hello, one

from nodeworthy.verdicts import Answer

YES, UNKNOWN, DEFECT = Answer.COMPATIBLE, Answer.UNKNOWN, Answer.IMAGE_DEFECT
AMD64, ARM64 = nodes.amd64(), nodes.arm64()


def _needing(version: str, machine: str = "amd64") -> bytes:
    return app(machine, needs={"libc.so.6": (version,)})


def _komodo(version: str) -> Image:
    """An index whose arm64 child has another base than its amd64 child."""
    children = [
        Child({**glibc(name, base), "/app": app(name, needs={"libc.so.6": ("GLIBC_2.34",)})}, platform=f"linux/{name}")
        for name, base in (("amd64", "2.36"), ("arm64", version))
    ]
    return Image(tuple(children), is_index=True)


CASES = (
    Case(
        "G01",
        "a program built on a newer release than that of the runtime stage",
        (
            Trial(
                "real program, older libc",
                lambda: one({**glibc(version="2.31"), "/app": hello()}),
                AMD64,
                DEFECT,
                "symbol-version-missing",
            ),
            Trial(
                "real program, real libc of Debian 12",
                lambda: one({**debian_glibc(), "/app": hello()}),
                AMD64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "a weak need",
                lambda: one({**glibc(version="2.31"), "/app": _needing("?GLIBC_2.34")}),
                AMD64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "a library of it",
                lambda: one(
                    {
                        **glibc(version="2.31"),
                        "/usr/lib/libx.so.1": library(
                            name="libx.so.1", needed=("libc.so.6",), needs={"libc.so.6": ("GLIBC_2.38",)}
                        ),
                        "/app": app(needed=("libx.so.1", "libc.so.6")),
                    }
                ),
                AMD64,
                DEFECT,
                "symbol-version-missing",
            ),
            Trial(
                "a library that LD_LIBRARY_PATH puts before it",
                lambda: Image(
                    (
                        Child(
                            {
                                **glibc(version="2.36"),
                                "/opt/old/libstdc++.so.6": library(name="libstdc++.so.6", defines=("GLIBCXX_3.4",)),
                                "/usr/lib/libstdc++.so.6": library(
                                    name="libstdc++.so.6", defines=("GLIBCXX_3.4", "GLIBCXX_3.4.30")
                                ),
                                "/app": app(
                                    needed=("libstdc++.so.6", "libc.so.6"),
                                    needs={"libstdc++.so.6": ("GLIBCXX_3.4.30",)},
                                ),
                            },
                            environment=("LD_LIBRARY_PATH=/opt/old",),
                        ),
                    )
                ),
                AMD64,
                DEFECT,
                "symbol-version-missing",
            ),
            Trial(
                "the same without it",
                lambda: one(
                    {
                        **glibc(version="2.36"),
                        "/opt/old/libstdc++.so.6": library(name="libstdc++.so.6", defines=("GLIBCXX_3.4",)),
                        "/usr/lib/libstdc++.so.6": library(
                            name="libstdc++.so.6", defines=("GLIBCXX_3.4", "GLIBCXX_3.4.30")
                        ),
                        "/app": app(
                            needed=("libstdc++.so.6", "libc.so.6"), needs={"libstdc++.so.6": ("GLIBCXX_3.4.30",)}
                        ),
                    }
                ),
                AMD64,
                YES,
                truth=Truth.RUNS,
            ),
        ),
        needs_gcc=True,
    ),
    Case(
        "G02",
        "the arm64 child was built from an older base than the amd64 child",
        (
            Trial("arm64", lambda: _komodo("2.31"), ARM64, DEFECT, "symbol-version-missing"),
            Trial("amd64", lambda: _komodo("2.31"), AMD64, YES, truth=Truth.RUNS),
            Trial("both of one base", lambda: _komodo("2.36"), ARM64, YES, truth=Truth.RUNS),
            Trial(
                "a library that only one base has",
                lambda: one(
                    {**glibc("arm64"), "/app": app("arm64", needed=("libssl.so.3", "libc.so.6"))}, "linux/arm64"
                ),
                ARM64,
                DEFECT,
                "library-missing",
            ),
        ),
    ),
    Case(
        "G03",
        "a program that the node puts into an old image",
        (
            Trial(
                "the image alone is sound",
                lambda: one({**glibc(version="2.27"), "/app": app()}),
                AMD64,
                YES,
                truth=Truth.OPEN,
            ),
            Trial(
                "the same program as a part of it",
                lambda: one({**glibc(version="2.27"), "/app": _needing("GLIBC_2.28")}),
                AMD64,
                DEFECT,
                "symbol-version-missing",
            ),
            Trial(
                "executed from a mounted folder",
                lambda: one(
                    {**glibc(version="2.27"), "/bin/sh": app()},
                    "linux/amd64",
                    "/bin/sh",
                    "-c",
                    "exec /__e/node20/bin/node",
                ),
                AMD64,
                DEFECT,
                "program-missing",
                Truth.OPEN,
            ),
            Trial(
                "MPI of the computing centre",
                lambda: one({**glibc(), "/app": app(needed=("libmpi.so.12", "libc.so.6"))}),
                AMD64,
                UNKNOWN,
                "library-missing",
                Truth.OPEN,
            ),
            Trial(
                "a program of the driver",
                lambda: one(glibc(), "linux/amd64", "nvidia-smi"),
                AMD64,
                UNKNOWN,
                "program-missing",
                Truth.OPEN,
            ),
            Trial(
                "a library that no node has",
                lambda: one({**glibc(), "/app": app(needed=("libssl.so.3", "libc.so.6"))}),
                AMD64,
                DEFECT,
                "library-missing",
            ),
        ),
        undecidable="what is mounted or injected is not in the image",
    ),
)
