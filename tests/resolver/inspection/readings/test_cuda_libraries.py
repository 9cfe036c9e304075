"""CUDA's libraries and parts of a driver."""

import pytest
from tests.resolver.inspection.elves import Made, prepared
from tests.resolver.inspection.nodes import node, outcome
from tests.resolver.inspection.readings.gpu_nodes import BARE, gpu_node
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy.requirements import Sureness
from nodeworthy.rules import Outcome
from nodeworthy_resolver.inspection.readings.cuda_libraries import read_cuda_libraries
from nodeworthy_resolver.inspection.subject import ImageConfig
from nodeworthy_resolver.inspection.subject import Outcome as Found

LIBRARY = Made().bytes()
COMPAT: dict[str, bytes | str] = {
    "/usr/local/cuda-12.8/compat/libcuda.so.570.86.10": LIBRARY,
    "/usr/local/cuda": "-> cuda-12.8",
}


def read(files: dict[str, bytes | str], **environment: str) -> Found:
    return read_cuda_libraries(prepared(MemoryTree(files), ImageConfig(("/app",), environment=environment)))


@pytest.mark.parametrize(
    ("name", "driver", "met"),
    [
        ("libcudart.so.12.8.90", "525.60.13", True),
        ("libcudart.so.12", "520.61.05", False),
        ("libcudart-d0da41ae.so.11.0", "450.80.02", True),
        ("libcudart.so.11.0", "440.33.01", False),
        ("libcudart.so.10.2", "440.33.01", True),
        ("libcudart.so.13", "575.51.03", False),
    ],
)
def test_a_runtime_runs_from_its_major_version_s_first_driver_on(name: str, driver: str, *, met: bool) -> None:
    (requirement,) = read({f"/usr/local/cuda/lib64/{name}": LIBRARY}).requirements
    assert requirement.sureness is Sureness.ADVISORY
    assert outcome(requirement, gpu_node(driver)) is (Outcome.TRUE if met else Outcome.FALSE)
    assert outcome(requirement, BARE) is Outcome.TRUE


def test_a_runtime_that_the_program_is_linked_to_is_certain() -> None:
    loader = "/lib64/ld-linux-x86-64.so.2"
    files: dict[str, bytes | str] = {
        loader: Made(soname="ld-linux-x86-64.so.2").bytes(),
        "/app": Made(interpreter=loader, needed=("libcudart.so.12",), runpath="/opt", kind=2).bytes(),
        "/opt/libcudart.so.12": Made(soname="libcudart.so.12").bytes(),
    }
    assert [one.sureness for one in read(files).requirements] == [Sureness.CERTAIN]
    helped = {one.code: one.sureness for one in read({**files, **COMPAT}).requirements}
    assert helped["cuda-runtime"] is Sureness.PROBABLE


def test_a_runtime_that_is_later_than_the_table_most_likely_wants_a_driver_that_is_too() -> None:
    (requirement,) = read({"/opt/libcudart.so.99": LIBRARY}).requirements
    assert requirement.sureness is Sureness.ADVISORY
    assert outcome(requirement, gpu_node("580.65.06")) is Outcome.FALSE
    assert outcome(requirement, gpu_node("999.1")) is Outcome.TRUE


def test_a_compatibility_library_is_for_data_centre_gpus_and_not_for_newer_drivers() -> None:
    (requirement,) = read(COMPAT, LD_LIBRARY_PATH="/usr/local/cuda/compat:/usr/lib").requirements
    assert requirement.sureness is Sureness.PROBABLE
    assert outcome(requirement, gpu_node("535.104.05", "Tesla T4", "1eb8")) is Outcome.TRUE
    assert outcome(requirement, gpu_node("535.104.05", "NVIDIA GeForce GTX 1050 Ti", "1c82")) is Outcome.FALSE
    assert outcome(requirement, gpu_node("580.65.06", "Tesla T4", "1eb8")) is Outcome.FALSE
    assert outcome(requirement, gpu_node("570.86.10", "NVIDIA GeForce RTX 4090")) is Outcome.TRUE


def test_a_compatibility_library_that_nothing_searches_is_advice() -> None:
    assert [one.sureness for one in read(COMPAT).requirements] == [Sureness.ADVISORY]
    configured: dict[str, bytes | str] = {**COMPAT, "/etc/ld.so.conf.d/cuda.conf": b"/usr/local/cuda/compat\n"}
    assert [one.sureness for one in read(configured).requirements] == [Sureness.PROBABLE]


def test_driver_libraries_of_the_image_fit_one_driver() -> None:
    found = read({"/usr/lib/libnvidia-ml.so.550.54.15": LIBRARY, "/usr/lib/stubs/libcuda.so.550.54.15": LIBRARY})
    (requirement,) = found.requirements
    assert outcome(requirement, gpu_node("550.54.15")) is Outcome.TRUE
    assert outcome(requirement, gpu_node("550.90.07")) is Outcome.FALSE


def test_an_image_for_jetson_wants_its_kernel() -> None:
    (requirement,) = read({"/etc/nv_tegra_release": b"# R36 (release)\n"}).requirements
    assert outcome(requirement, node({"kernel.version": {"full": "5.15.148-tegra"}})) is Outcome.TRUE
    assert outcome(requirement, node({"kernel.version": {"full": "6.8.0-45-generic"}})) is Outcome.FALSE
