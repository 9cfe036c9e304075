"""Code for AMD's GPUs."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.resolver.inspection.elves import Made, prepared
from tests.resolver.inspection.nodes import outcome
from tests.resolver.inspection.readings.gpu_nodes import BARE, amd_node
from tests.resolver.inspection.readings.sections import with_sections
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy.requirements import Requirement
from nodeworthy.rules import Outcome
from nodeworthy_resolver.inspection.elf import read_elf
from nodeworthy_resolver.inspection.readings.rocm import overridden, parse_bundles, read_rocm
from nodeworthy_resolver.inspection.subject import ImageConfig
from nodeworthy_resolver.inspection.subject import Outcome as Found


def bundle(*names: str) -> bytes:
    table = b"".join(struct.pack("<QQQ", 4096, 0, len(name)) + name.encode() for name in names)
    return b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(names)) + table


def program(content: bytes) -> bytes:
    return with_sections(Made(kind=2), {".hip_fatbin": content})


def read(files: dict[str, bytes | str], **environment: str) -> Found:
    return read_rocm(prepared(MemoryTree(files), ImageConfig(("/app",), environment=environment)))


def only(files: dict[str, bytes | str], **environment: str) -> Requirement:
    (requirement,) = read(files, **environment).requirements
    return requirement


HOST = "host-x86_64-unknown-linux-gnu--"


@pytest.mark.parametrize(
    ("names", "target", "met"),
    [
        (["hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"], "gfx90a", True),
        (["hipv4-amdgcn-amd-amdhsa--gfx90a", "hipv4-amdgcn-amd-amdhsa--gfx1030"], "gfx1032", False),
        (["hipv4-amdgcn-amd-amdhsa--gfx11-generic"], "gfx1103", True),
        (["hipv4-amdgcn-amd-amdhsa--gfx11-generic"], "gfx1201", False),
        (["hipv4-amdgcn-amd-amdhsa--gfx90a"], "gfx90", False),
    ],
)
def test_bundles_name_their_targets(names: list[str], target: str, *, met: bool) -> None:
    requirement = only({"/app": program(bundle(HOST, *names))})
    assert outcome(requirement, amd_node(target)) is (Outcome.TRUE if met else Outcome.FALSE)
    assert outcome(requirement, BARE) is Outcome.TRUE


BLAS: dict[str, bytes | str] = {
    "/opt/rocm/lib/librocblas.so.4.2": Made().bytes(),
    "/opt/rocm/lib/rocblas/library/TensileLibrary_Type_HH_gfx1030.dat": b"x",
    "/opt/rocm/lib/rocblas/library/TensileLibrary_lazy_gfx942.dat": b"x",
    "/opt/rocm/lib/rocblas/library/Kernels.so-000-gfx942.hsaco": b"x",
}


def test_the_kernels_of_rocblas_name_their_targets() -> None:
    requirement = only(BLAS)
    assert requirement.evidence[0].seen == "gfx1030 gfx942"
    assert outcome(requirement, amd_node("gfx942")) is Outcome.TRUE
    assert outcome(requirement, amd_node("gfx1036")) is Outcome.FALSE


def test_an_override_counts_within_its_family_only() -> None:
    requirement = only(BLAS, HSA_OVERRIDE_GFX_VERSION="10.3.0")
    assert outcome(requirement, amd_node("gfx1036")) is Outcome.TRUE
    assert outcome(requirement, amd_node("gfx90c")) is Outcome.FALSE


def test_compressed_bundles_are_a_question() -> None:
    found = read({"/app": program(b"CCOB\2\0rest")})
    assert found.requirements == ()
    assert [one.what for one in found.unexplored] == ["/app"]


def test_words_that_are_no_version_override_nothing() -> None:
    assert (overridden("11.0.0"), overridden("gfx1030")) == ("gfx1100", None)


@given(st.binary(max_size=200))
def test_damaged_bundles_end(tail: bytes) -> None:
    data = program(b"__CLANG_OFFLOAD_BUNDLE__" + tail)
    elf = read_elf(data)
    assert elf is not None
    assert isinstance(parse_bundles(elf, memoryview(data))[0], set)
