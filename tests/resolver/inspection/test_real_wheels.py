"""Wheels as PyPI has them, in the Python of Debian 12: of two alike, one asks for more of the CPU."""

from functools import cache

import pytest
from tests.resolver.inspection.debian_roots import answer_of, inspect_program, listed, node_of_level, root_of
from tests.resolver.inspection.real_files import pypi

from nodeworthy.requirements import Inspection
from nodeworthy.verdicts import Answer

_PACKAGES = listed(
    """
    pool/main/e/expat/libexpat1_2.5.0-1+deb12u2_amd64.deb
    2255e62fc22a86d2c544b8a3f516da9aee19383ad5742722ab4ce7f66a30dbc8
    pool/main/g/gcc-12/libgcc-s1_12.2.0-14+deb12u1_amd64.deb
    3016e62cb4b7cd8038822870601f5ed131befe942774d0f745622cc77d8a88f7
    pool/main/g/gcc-12/libstdc++6_12.2.0-14+deb12u1_amd64.deb
    5cd3171216d4ab0fc911cfe9c35509bf2dd8f47761c43b7f6a4296701551a24d
    pool/main/g/glibc/libc6_2.36-9+deb12u14_amd64.deb
    ba4f88f73dbc3ae9055f3c20f4523bfdbaf1ad13ff95e258924f77d20b4fbedf
    pool/main/p/python3.11/python3.11-minimal_3.11.2-6+deb12u8_amd64.deb
    4aba533f7cc5e7b93b7ff24482840e96813f5bcde9cce028395b65a0d799ccee
    pool/main/z/zlib/zlib1g_1.2.13.dfsg-1_amd64.deb
    d7dd1d1411fedf27f5e27650a6eff20ef294077b568f4c8c5e51466dc7c08ce4
    """
)
_SITE = "/usr/local/lib/python3.11/dist-packages"
_WHEELS = {
    "numpy 2.3.5": (
        "cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64",
        "8cba086a43d54ca804ce711b2a940b16e452807acebe7852ff327f1ecd49b0d4",
    ),
    "numpy 2.4.6": (
        "cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64",
        "89cd468399cfd2504718f0ba50e410dca55a170b61a02ad92bb18c8a65186e93",
    ),
    "msgspec 0.23.0": (
        "cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.manylinux_2_28_x86_64",
        "2e514e5b2a23e376f545f4962834b7312d9400705627c53330116b46daddfbe3",
    ),
    "onnxruntime 1.32.0": (
        "cp311-cp311-manylinux_2_28_x86_64",
        "5a34fc4dfeb5a7b4a74c95dcba1e773d722abda720b474edf1b0c419dc6d163d",
    ),
    "polars 2.1.0": (
        "py3-none-any",
        "63c50ce3533f5a03d17c3a2a24f1d0e0c7eda98fbde4268a3cba900d34060e67",
    ),
    "polars-lts-cpu 1.33.1": (
        "cp39-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64",
        "656b530a672fe8fbd4c212b2a8481099e5cef63e84970975619ea7c25faeb833",
    ),
    "polars-runtime-32 2.1.0": (
        "cp311-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64",
        "0b838056cf365d7497971d9d9825c547766923338771c48c545b86ead2ebc572",
    ),
}


@cache
def inspect(*wheels: str) -> Inspection:
    """An image with Python and wheels, which starts Python."""
    files: dict[str, bytes] = {}
    for wheel in wheels:
        (name, version), (tags, sha256) = wheel.split(), _WHEELS[wheel]
        with pypi(name, version, f"{name.replace('-', '_')}-{version}-{tags}.whl", sha256) as archive:
            files |= {f"{_SITE}/{one}": archive.read(one) for one in archive.namelist() if not one.endswith("/")}
    return inspect_program({**root_of(_PACKAGES), **files}, "/usr/bin/python3.11")


@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("wheel", ["numpy 2.3.5", "msgspec 0.23.0"])
def test_a_wheel_for_every_cpu_runs_on_each_level(wheel: str, level: int) -> None:
    assert answer_of(inspect(wheel), node_of_level(level)) == (Answer.COMPATIBLE, "")


def test_numpy_from_2_4_on_runs_where_the_second_level_is() -> None:
    """NumPy's release notes, 2.4.0: the baseline of x86-64 is x86-64-v2, and importing it elsewhere fails."""
    found = inspect("numpy 2.4.6")
    answer, why = answer_of(found, node_of_level(1))

    assert answer is Answer.INCOMPATIBLE
    assert "numpy" in why.lower()
    for level in (2, 3):
        assert answer_of(found, node_of_level(level)) == (Answer.COMPATIBLE, "")


POLARS = ("polars 2.1.0", "polars-runtime-32 2.1.0")
LONG_TERM = ("polars-lts-cpu 1.33.1",)
ONNX = ("onnxruntime 1.32.0",)


@pytest.mark.parametrize(
    ("wheels", "level", "expected"),
    [
        (POLARS, 2, Answer.INCOMPATIBLE),
        (POLARS, 3, Answer.COMPATIBLE),
        (LONG_TERM, 2, Answer.COMPATIBLE),
        (LONG_TERM, 3, Answer.COMPATIBLE),
        (ONNX, 2, Answer.COMPATIBLE),
        (ONNX, 3, Answer.COMPATIBLE),
    ],
)
def test_polars_its_twin_for_old_cpus_and_onnxruntime_are_told_apart(
    wheels: tuple[str, ...], level: int, expected: Answer
) -> None:
    assert answer_of(inspect(*wheels), node_of_level(level))[0] is expected


def test_the_twin_for_old_cpus_is_not_for_the_oldest() -> None:
    assert answer_of(inspect(*LONG_TERM), node_of_level(1))[0] in {Answer.UNKNOWN, Answer.INCOMPATIBLE}
