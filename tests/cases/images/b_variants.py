"""Category B, first half: variants of Arm, and 32-bit Arm programs."""

from tests.cases.images import nodes
from tests.cases.images.parts import (
    app,
    arm_built_for,
    debian_armhf,
    glibc,
    library,
    static,
)
from tests.cases.images.records import Case, Child, Image, Trial, Truth
from tests.cases.images.shapes import one
from tests.resolver.inspection.readings.test_go_programs import build_info

from nodeworthy.verdicts import Answer

YES, NO, UNKNOWN = Answer.COMPATIBLE, Answer.INCOMPATIBLE, Answer.UNKNOWN
AMD64, ARM64, WITHOUT_IA32 = nodes.amd64(), nodes.arm64(), nodes.amd64(ia32="false")
ARMV6, ARMV7 = nodes.arm("armv6l"), nodes.arm("armv7l")


def _armv7(**said: object) -> bytes:
    return static("arm", attributes=arm_built_for(10), is_thumb=True, **said)


def _go(setting: str) -> bytes:
    """A Go program for 32-bit Arm, without sections as if it were packed: its information is at a multiple of 16."""
    info = build_info("GOARCH=arm", setting)
    at = static("arm", tail=info).index(info)
    return static("arm", tail=bytes(-at % 16) + info)


CASES = (
    Case(
        "B01",
        "armhf of Debian, which is for Armv7, on an Armv6",
        (
            Trial(
                "real libc, claimed to be for v6",
                lambda: one({**debian_armhf(), "/app": app("arm")}, "linux/arm/v6"),
                ARMV6,
                NO,
                "arm-version",
            ),
            Trial(
                "on Armv7",
                lambda: one({**debian_armhf(), "/app": app("arm")}, "linux/arm/v6"),
                ARMV7,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "claimed without a variant, which is v7",
                lambda: one({**debian_armhf(), "/app": app("arm")}, "linux/arm"),
                ARMV6,
                NO,
                "platform-mismatch",
            ),
            Trial(
                "Armv6 code without a variant",
                lambda: one({"/app": static("arm", attributes=arm_built_for(6, 1))}, "linux/arm"),
                ARMV6,
                NO,
                "platform-mismatch",
                Truth.OPEN,
            ),
            Trial(
                "Armv6 code for v6",
                lambda: one({"/app": static("arm", attributes=arm_built_for(6, 1))}, "linux/arm/v6"),
                ARMV6,
                YES,
                truth=Truth.RUNS,
            ),
        ),
    ),
    Case(
        "B02",
        "one program for Armv7 in an image for Armv6",
        (
            Trial("the entrypoint", lambda: one({"/app": _armv7()}, "linux/arm/v6"), ARMV6, NO, "arm-version"),
            Trial("on Armv7", lambda: one({"/app": _armv7()}, "linux/arm/v6"), ARMV7, YES, truth=Truth.RUNS),
            Trial(
                "Armv7 with Arm code only, perhaps chosen at run time",
                lambda: one({"/app": static("arm", attributes=arm_built_for(10, 1))}, "linux/arm/v6"),
                ARMV6,
                UNKNOWN,
                "arm-version",
                Truth.OPEN,
            ),
            Trial(
                "a library of it",
                lambda: one(
                    {
                        **glibc("arm"),
                        "/lib/libz.so.1": library("arm", "libz.so.1", attributes=arm_built_for(10)),
                        "/app": app("arm", needed=("libz.so.1", "libc.so.6")),
                    },
                    "linux/arm/v6",
                ),
                ARMV6,
                UNKNOWN,
                "arm-version",
                Truth.OPEN,
            ),
            Trial(
                "beside what starts",
                lambda: one(
                    {"/app": static("arm", attributes=arm_built_for(6, 1)), "/opt/node": _armv7()}, "linux/arm/v6"
                ),
                ARMV6,
                YES,
                truth=Truth.OPEN,
            ),
            Trial(
                "a library with Armv8 code that is chosen at run time, as libgcrypt",
                lambda: one(
                    {
                        **glibc("arm"),
                        "/lib/libgcrypt.so.20": library("arm", "libgcrypt.so.20", attributes=arm_built_for(14)),
                        "/app": app("arm", needed=("libgcrypt.so.20", "libc.so.6")),
                    },
                    "linux/arm/v7",
                ),
                ARMV7,
                YES,
                "arm-version",
                Truth.RUNS,
            ),
        ),
    ),
    Case(
        "B03",
        "a Go program linked for a higher GOARM",
        (
            Trial(
                "GOARM=7",
                lambda: one({"/app": _go("GOARM=7")}, "linux/arm/v6"),
                ARMV6,
                NO,
                "arm-version",
            ),
            Trial(
                "GOARM=6",
                lambda: one({"/app": _go("GOARM=6")}, "linux/arm/v6"),
                ARMV6,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "GOARM=6 on Armv5",
                lambda: one({"/app": _go("GOARM=6")}, "linux/arm/v5"),
                nodes.arm("armv5tejl"),
                NO,
                "arm-version",
            ),
            Trial(
                "GOARM=7,softfloat",
                lambda: one({"/app": _go("GOARM=7,softfloat")}, "linux/arm/v6"),
                ARMV7,
                YES,
                truth=Truth.RUNS,
            ),
        ),
    ),
    Case(
        "B04",
        "a 32-bit Arm image on a 64-bit CPU without AArch32",
        (
            Trial(
                "server",
                lambda: one({"/app": static("arm")}, "linux/arm/v7"),
                ARM64,
                NO,
                "platform-32-bit-unsupported",
            ),
            Trial(
                "Raspberry Pi",
                lambda: one({"/app": static("arm")}, "linux/arm/v7"),
                nodes.arm64(aarch32="true"),
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "a 32-bit program in an image for arm64",
                lambda: one({"/app": static("arm")}, "linux/arm64"),
                ARM64,
                NO,
                "32-bit-programs",
            ),
            Trial(
                "that on a Raspberry Pi",
                lambda: one({"/app": static("arm")}, "linux/arm64"),
                nodes.arm64(aarch32="true"),
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "an old image for v5",
                lambda: one({"/app": static("arm", flags=0x5000200)}, "linux/arm/v5"),
                ARM64,
                NO,
                "platform-32-bit-unsupported",
            ),
            Trial(
                "a 32-bit program in an image for arm64, with qemu-arm",
                lambda: one({"/app": static("arm")}, "linux/arm64"),
                nodes.arm64(emulates="arm"),
                UNKNOWN,
                "32-bit-programs",
                Truth.OPEN,
            ),
        ),
    ),
    Case(
        "B05",
        "the runtime's matcher offers arm/v7 to every arm64 node",
        (
            Trial(
                "only arm children",
                lambda: Image(
                    tuple(Child({"/app": static("arm")}, platform=f"linux/arm/{name}") for name in ("v6", "v7")),
                    is_index=True,
                ),
                ARM64,
                NO,
                "platform-32-bit-unsupported",
            ),
            Trial(
                "arm64 too",
                lambda: Image(
                    (
                        Child({"/app": static("arm")}, platform="linux/arm/v7"),
                        Child({"/app": static("arm64")}, platform="linux/arm64/v8"),
                    ),
                    is_index=True,
                ),
                ARM64,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "386 on amd64 without it",
                lambda: Image((Child({"/app": static("386")}, platform="linux/386"),), is_index=True),
                WITHOUT_IA32,
                NO,
                "platform-32-bit-unsupported",
            ),
            Trial(
                "386 on amd64 with it",
                lambda: Image((Child({"/app": static("386")}, platform="linux/386"),), is_index=True),
                AMD64,
                YES,
                truth=Truth.RUNS,
            ),
        ),
    ),
)
