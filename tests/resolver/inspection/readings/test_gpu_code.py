"""Code for GPUs inside ELF files."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.resolver.inspection.elves import Made, prepared
from tests.resolver.inspection.nodes import outcome
from tests.resolver.inspection.readings.gpu_nodes import BARE, gpu_node
from tests.resolver.inspection.readings.sections import with_sections
from tests.resolver.inspection.readings.test_wheels import SITE, subject_of
from tests.resolver.inspection.real_files import pypi
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy.requirements import Sureness
from nodeworthy.rules import Outcome
from nodeworthy_resolver.inspection.elf import read_elf
from nodeworthy_resolver.inspection.readings.gpu_code import GpuCode, parse_gpu_code, read_gpu_code
from nodeworthy_resolver.inspection.subject import ImageConfig

PTX, CODE = 1, 2


def fatbin(*entries: tuple[int, int]) -> bytes:
    """One container with an entry of 8 bytes for each kind and architecture."""
    body = b"".join(
        struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, 8, 0, 0, 1, 7, architecture, 0, 0, 0x11, 0, 0) + bytes(8)
        for kind, architecture in entries
    )
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def library(*entries: tuple[int, int]) -> bytes:
    return with_sections(Made(kind=2), {".nv_fatbin": fatbin(*entries) + bytes(8) + fatbin(*entries)})


def code_of(data: bytes) -> GpuCode:
    elf = read_elf(data)
    assert elf is not None
    return parse_gpu_code(elf, memoryview(data))


@pytest.mark.parametrize(
    ("entries", "capability", "runs"),
    [
        ([(CODE, 80)], "8.0", True),
        ([(CODE, 80)], "8.6", True),
        ([(CODE, 86)], "8.0", False),
        ([(CODE, 80)], "9.0", False),
        ([(PTX, 80)], "12.0", True),
        ([(PTX, 90)], "8.9", False),
        ([(CODE, 100)], "10.3", True),
        ([(CODE, 100)], "12.0", False),
    ],
)
def test_machine_code_runs_within_its_generation_and_ptx_on_later_ones(
    entries: list[tuple[int, int]], capability: str, *, runs: bool
) -> None:
    assert code_of(library(*entries)).supports(capability) is runs


def test_a_program_without_code_for_a_gpu_does_not_run_there() -> None:
    files: dict[str, bytes | str] = {"/app": library((CODE, 80), (CODE, 86), (CODE, 90))}
    requirement, later = read_gpu_code(prepared(MemoryTree(files), ImageConfig(("/app",)))).requirements
    assert (requirement.sureness, later.sureness) == (Sureness.CERTAIN, Sureness.PROBABLE)
    assert outcome(requirement, gpu_node("999.0", "NVIDIA Z900", "3f01")) is Outcome.TRUE
    assert outcome(later, gpu_node("999.0", "NVIDIA Z900", "3f01")) is Outcome.FALSE
    assert outcome(requirement, gpu_node("570.86.10", "", "")) is Outcome.TRUE
    assert outcome(requirement, gpu_node("540.4.0", "Orin (nvgpu)", "")) is Outcome.TRUE
    assert outcome(requirement, gpu_node("540.4.0", "Jetson Xavier", "")) is Outcome.FALSE
    blackwell = gpu_node("570.86.10", "NVIDIA GeForce RTX 5090", "2b85")
    assert outcome(requirement, blackwell) is Outcome.FALSE
    assert outcome(requirement, gpu_node("570.86.10", "NVIDIA GeForce RTX 4090", "2684")) is Outcome.TRUE
    assert outcome(requirement, gpu_node("570.86.10", "NVIDIA H100 80GB HBM3", "2330")) is Outcome.TRUE
    assert outcome(requirement, gpu_node("570.86.10", "Tesla P100-PCIE-16GB", "15f8")) is Outcome.FALSE
    assert outcome(requirement, gpu_node("570.86.10", "NVIDIA GeForce RTX 5090", "")) is Outcome.FALSE
    assert outcome(requirement, BARE) is Outcome.TRUE


def test_ptx_runs_on_gpus_that_nobody_knows_yet() -> None:
    files: dict[str, bytes | str] = {"/app": library((CODE, 80), (PTX, 80))}
    (requirement,) = read_gpu_code(prepared(MemoryTree(files), ImageConfig(("/app",)))).requirements
    assert outcome(requirement, gpu_node("570.86.10", "NVIDIA GeForce RTX 5090", "2b85")) is Outcome.TRUE
    assert outcome(requirement, gpu_node("999.0", "NVIDIA Z900", "3f01")) is Outcome.TRUE
    assert outcome(requirement, gpu_node("570.86.10", "NVIDIA GeForce GTX 1080", "1b80")) is Outcome.FALSE


@pytest.mark.parametrize(
    ("name", "sureness"),
    [("libtorch_cuda.so", [Sureness.CERTAIN, Sureness.PROBABLE]), ("libother.so", [Sureness.PROBABLE])],
)
def test_a_framework_s_library_runs_as_surely_as_its_python(name: str, sureness: list[Sureness]) -> None:
    subject = subject_of({f"{SITE}/torch/lib/{name}": library((CODE, 80))})
    assert [one.sureness for one in read_gpu_code(subject).requirements] == sureness


def test_a_file_without_such_sections_says_nothing() -> None:
    files: dict[str, bytes | str] = {"/app": with_sections(Made(kind=2), {".text": fatbin((CODE, 80))})}
    assert read_gpu_code(prepared(MemoryTree(files), ImageConfig(("/app",)))).requirements == ()


def test_a_real_library_is_read() -> None:
    wheel = pypi(
        "nvidia-nvjpeg-cu12",
        "12.4.0.76",
        "nvidia_nvjpeg_cu12-12.4.0.76-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
        "3888f10b32fbd58e80166c48e01073732d752fa5f167b7cb5b9615f1c6375a20",
    )
    code = code_of(wheel.read("nvidia/nvjpeg/lib/libnvjpeg.so.12"))
    machine_code = {50, 52, 60, 61, 70, 75, 80, 86, 89, 90, 100, 101, 103, 120, 121}
    assert code == GpuCode(frozenset(machine_code), frozenset({121}))


@given(st.binary(max_size=200), st.integers(0, 2**64 - 1))
def test_damaged_containers_end(data: bytes, size: int) -> None:
    head = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, size)
    code_of(with_sections(Made(kind=2), {".nv_fatbin": head + data}))
