"""Category A, second half: platform lists and manifests."""

from tests.cases.images import nodes
from tests.cases.images.parts import Files, app, glibc, static
from tests.cases.images.records import Case, Child, Image, Trial, Truth
from tests.cases.images.shapes import one, two

from nodeworthy.platforms import parse
from nodeworthy.verdicts import Answer

YES, NO, UNKNOWN = Answer.COMPATIBLE, Answer.INCOMPATIBLE, Answer.UNKNOWN
AMD64, ARM64 = nodes.amd64(), nodes.arm64()
OLD_ARM64 = nodes.arm64(kernel_version=nodes.kernel("3.10.79"), version="8.0")


def _base(machine: str, program: bytes) -> Files:
    """A whole base of one machine, and a program on it."""
    return {**glibc(machine), "/app": program}


CASES = (
    Case(
        "A09",
        "the digest of the amd64 child is asked for",
        (
            Trial(
                "pinned",
                lambda: two({"/app": static()}, {"/app": static("arm64")}, pinned=0),
                ARM64,
                NO,
                "platform-mismatch",
            ),
            Trial(
                "the index", lambda: two({"/app": static()}, {"/app": static("arm64")}), ARM64, YES, truth=Truth.RUNS
            ),
            Trial(
                "the right child",
                lambda: two({"/app": static()}, {"/app": static("arm64")}, pinned=1),
                ARM64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "pinned where it is emulated",
                lambda: two({"/app": static()}, {"/app": static("arm64")}, pinned=0),
                nodes.arm64(emulates="amd64"),
                UNKNOWN,
                "platform-emulated",
                Truth.OPEN,
            ),
        ),
    ),
    Case(
        "A10",
        "a single image for arm64, built on a Mac, in a cloud of amd64",
        (
            Trial("amd64 node", lambda: one({"/app": static("arm64")}, "linux/arm64"), AMD64, NO, "platform-mismatch"),
            Trial("arm64 node", lambda: one({"/app": static("arm64")}, "linux/arm64"), ARM64, YES, truth=Truth.RUNS),
            Trial(
                "named arm64/v8",
                lambda: one({"/app": static("arm64")}, "linux/arm64/v8"),
                AMD64,
                NO,
                "platform-mismatch",
            ),
            Trial(
                "an index of one child",
                lambda: Image((Child({"/app": static("arm64")}, platform="linux/arm64"),), is_index=True),
                AMD64,
                NO,
                "platform-mismatch",
            ),
        ),
    ),
    Case(
        "A11",
        "an image for amd64 only, on an Arm board",
        (
            Trial("Jetson", lambda: one(_base("amd64", app())), nodes.arm64(version="8.2"), NO, "platform-mismatch"),
            Trial("workstation", lambda: one(_base("amd64", app())), AMD64, YES, truth=Truth.RUNS),
            Trial(
                "ppc64le server", lambda: one(_base("amd64", app())), nodes.other("ppc64le"), NO, "platform-mismatch"
            ),
        ),
    ),
    Case(
        "A12",
        "an index without the platform of the node",
        (
            Trial(
                "arm64 is not there",
                lambda: Image(
                    tuple(Child({"/app": static(name)}, platform=f"linux/{name}") for name in ("amd64", "ppc64le")),
                    is_index=True,
                ),
                ARM64,
                NO,
                "platform-mismatch",
            ),
            Trial(
                "ppc64le is there",
                lambda: Image(
                    tuple(Child({"/app": static(name)}, platform=f"linux/{name}") for name in ("amd64", "ppc64le")),
                    is_index=True,
                ),
                nodes.other("ppc64le"),
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "asked for by name",
                lambda: Image(
                    tuple(Child({"/app": static(name)}, platform=f"linux/{name}") for name in ("amd64", "ppc64le")),
                    is_index=True,
                ),
                ARM64,
                NO,
                "platform-missing",
                wanted=parse("linux/arm64"),
            ),
            Trial(
                "amd64 is emulated",
                lambda: Image(
                    (Child({"/app": static()}), Child({"/app": static("s390x")}, platform="linux/s390x")), is_index=True
                ),
                nodes.arm64(emulates="amd64"),
                UNKNOWN,
                "platform-emulated",
                Truth.OPEN,
            ),
        ),
    ),
    Case(
        "A13",
        "the runtime of an old arm64 node cannot tell its variant",
        (
            Trial(
                "old kernel",
                lambda: two({"/app": static()}, {"/app": static("arm64")}),
                OLD_ARM64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "an image for a later version",
                lambda: one({"/app": static("arm64")}, "linux/arm64/v9"),
                nodes.arm64(cpu_model={"name": "Cortex-A53"}, version="8.0"),
                UNKNOWN,
                "platform-variant-unknown",
                Truth.FAILS,
            ),
        ),
        undecidable="a fault of one runtime's parser, which the image does not show: Docker 19.03 and kernels whose"
        " /proc/cpuinfo says AArch64",
    ),
    Case(
        "A14",
        "an index that spells the variant armv8",
        (
            Trial(
                "armv8",
                lambda: Image(
                    (Child({"/app": static("arm64")}, platform="linux/arm64", claimed="linux/arm64/armv8"),),
                    is_index=True,
                ),
                ARM64,
                UNKNOWN,
                "platform-variant-unknown",
            ),
            Trial(
                "v8",
                lambda: Image(
                    (Child({"/app": static("arm64")}, platform="linux/arm64", claimed="linux/arm64/v8"),), is_index=True
                ),
                ARM64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "aarch64 for the architecture",
                lambda: Image(
                    (Child({"/app": static("arm64")}, platform="linux/arm64", claimed="linux/aarch64"),), is_index=True
                ),
                ARM64,
                YES,
                truth=Truth.OPEN,
            ),
        ),
    ),
    Case(
        "A15",
        "an image for Linux on a Windows host",
        (
            Trial(
                "Windows", lambda: one({"/app": static()}), nodes.windows("10.0.20348.2113"), NO, "platform-mismatch"
            ),
            Trial("Linux", lambda: one({"/app": static()}), AMD64, YES, truth=Truth.RUNS),
            Trial(
                "an index with neither build",
                lambda: Image(
                    (
                        Child({"/Files/app.exe": b"MZ"}, platform="windows/amd64", os_version="10.0.17763.5458"),
                        Child({"/app": static()}),
                    ),
                    is_index=True,
                ),
                nodes.windows("10.0.20348.2113"),
                NO,
                "platform-mismatch",
            ),
            Trial(
                "an image for Windows on Linux",
                lambda: Image(
                    (Child({"/Files/app.exe": b"MZ"}, platform="windows/amd64", os_version="10.0.17763.5458"),)
                ),
                AMD64,
                NO,
                "platform-mismatch",
            ),
        ),
    ),
    Case(
        "A16",
        "an index with BuildKit's attestation of platform unknown/unknown",
        (
            Trial(
                "a platform that is there",
                lambda: two({"/app": static()}, {"/app": static("arm64")}, with_attestation=True),
                ARM64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "one that is not: the attestation is none",
                lambda: two({"/app": static()}, {"/app": static("arm64")}, with_attestation=True),
                nodes.other("s390x"),
                NO,
                "platform-mismatch",
            ),
            Trial(
                "of one child",
                lambda: Image((Child({"/app": static()}),), is_index=True, with_attestation=True),
                ARM64,
                NO,
                "platform-mismatch",
            ),
        ),
    ),
    Case(
        "A17",
        "a single platform that became an index of image and attestation",
        (
            Trial(
                "its platform",
                lambda: Image((Child({"/app": static()}),), is_index=True, with_attestation=True),
                AMD64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "another",
                lambda: Image((Child({"/app": static()}),), is_index=True, with_attestation=True),
                nodes.other("riscv64"),
                NO,
                "platform-mismatch",
            ),
            Trial(
                "the child by its digest",
                lambda: Image((Child({"/app": static()}),), is_index=True, with_attestation=True, pinned=0),
                AMD64,
                YES,
                truth=Truth.RUNS,
            ),
        ),
    ),
    Case(
        "A18",
        "a registry that refuses the attestation when the image is pushed",
        (
            Trial("what is pulled in the end", lambda: one({"/app": static()}), AMD64, YES, truth=Truth.RUNS),
            Trial("elsewhere", lambda: one({"/app": static()}), ARM64, NO, "platform-mismatch"),
        ),
        undecidable="the publisher's side: nothing that could be pulled has the fault",
    ),
)
