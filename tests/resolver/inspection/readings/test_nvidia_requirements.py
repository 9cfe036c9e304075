"""What variables of an image ask of NVIDIA's driver and GPUs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.resolver.inspection.elves import prepared
from tests.resolver.inspection.nodes import outcome
from tests.resolver.inspection.readings.gpu_nodes import BARE, gpu_node
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy.requirements import Requirement, Sureness
from nodeworthy.rules import Outcome
from nodeworthy_resolver.inspection.readings.nvidia_requirements import (
    parse_requirement,
    read_nvidia_requirements,
    requirement_variables,
)
from nodeworthy_resolver.inspection.subject import ImageConfig
from nodeworthy_resolver.inspection.subject import Outcome as Found

STOCK = (
    "cuda>=12.8 brand=unknown,driver>=470,driver<471 brand=tesla,driver>=535,driver<536 "
    "brand=nvidiartx,driver>=535,driver<536 brand=tesla,driver>=550,driver<551"
)


def read(**environment: str) -> Found:
    return read_nvidia_requirements(prepared(MemoryTree({}), ImageConfig(environment=environment)))


def required(**environment: str) -> Requirement:
    return next(one for one in read(**environment).requirements if one.code == "nvidia-require")


@pytest.mark.parametrize(
    ("expression", "driver", "met"),
    [
        ("cuda>=12.8", "570.86.10", True),
        ("cuda>=12.8", "535.104.05", False),
        ("cuda>=12.4", "550.54.15", True),
        ("cuda<12.4", "550.54.15", False),
        ("cuda<=12.4", "550.54.15", True),
        ("cuda>12.4", "550.54.15", False),
        ("cuda=12.4", "550.54.15", True),
        ("cuda!=12.4", "550.54.15", False),
        ("driver>=535,driver<536", "535.104.05", True),
        ("driver>=535,driver<536", "550.54.15", False),
        ("driver=535.104.05", "535.104.05", True),
        ("driver!=535.104.05", "535.104.05", False),
        ("cuda>=12.8 driver>=535", "535.104.05", True),
        ("arch>=8.0", "535.104.05", True),
        ("arch<8.0", "535.104.05", False),
    ],
)
def test_every_operator_is_judged(expression: str, driver: str, *, met: bool) -> None:
    found = required(NVIDIA_REQUIRE_CUDA=expression, NVIDIA_VISIBLE_DEVICES="all")
    assert found.sureness is Sureness.CERTAIN
    assert outcome(found, gpu_node(driver)) is (Outcome.TRUE if met else Outcome.FALSE)


@pytest.mark.parametrize(
    ("model", "device_id", "met"),
    [
        ("NVIDIA H100 80GB HBM3", "2330", True),
        ("Tesla T4", "1eb8", True),
        ("", "2330", True),
        ("NVIDIA GeForce RTX 4090", "2684", False),
        ("NVIDIA RTX A6000", "2230", True),
    ],
)
def test_a_brand_opens_an_older_driver_to_data_centre_gpus(model: str, device_id: str, *, met: bool) -> None:
    found = required(NVIDIA_REQUIRE_CUDA=STOCK, NVIDIA_VISIBLE_DEVICES="all")
    assert outcome(found, gpu_node("535.104.05", model, device_id)) is (Outcome.TRUE if met else Outcome.FALSE)


def test_several_variables_hold_together() -> None:
    both = {"NVIDIA_REQUIRE_CUDA": "cuda>=12.0", "NVIDIA_REQUIRE_CLOUD": "driver>=550"}
    found = required(**both, NVIDIA_VISIBLE_DEVICES="all")
    assert outcome(found, gpu_node("535.104.05")) is Outcome.FALSE
    assert outcome(found, gpu_node("550.54.15")) is Outcome.TRUE


def test_a_node_without_the_driver_tests_nothing_but_has_no_gpu_either() -> None:
    found = read(NVIDIA_REQUIRE_CUDA="cuda>=12.8", NVIDIA_VISIBLE_DEVICES="all")
    outcomes = {one.code: (one.sureness, outcome(one, BARE)) for one in found.requirements}
    assert outcomes == {
        "nvidia-gpu": (Sureness.PROBABLE, Outcome.FALSE),
        "nvidia-driver": (Sureness.PROBABLE, Outcome.FALSE),
        "nvidia-toolkit": (Sureness.ADVISORY, Outcome.FALSE),
        "nvidia-require": (Sureness.CERTAIN, Outcome.TRUE),
    }


@pytest.mark.parametrize("devices", [None, "", "void", "none"])
def test_an_image_that_asks_for_no_gpu_itself_is_not_certain(devices: str | None) -> None:
    more = {} if devices is None else {"NVIDIA_VISIBLE_DEVICES": devices}
    found = read(NVIDIA_REQUIRE_CUDA="cuda>=12.8", **more)
    assert [(one.code, one.sureness) for one in found.requirements] == [("nvidia-require", Sureness.PROBABLE)]


def test_the_oldest_images_are_judged_by_their_version_of_cuda() -> None:
    assert requirement_variables({"CUDA_VERSION": "9.0.176", "NVIDIA_REQUIRE_CUDA": "cuda>=9"}) == {
        "NVIDIA_REQUIRE_CUDA": "cuda>=9"
    }
    found = required(CUDA_VERSION="9.0.176")
    assert found.sureness is Sureness.CERTAIN
    assert outcome(found, gpu_node("375.26")) is Outcome.FALSE


def test_switched_off_it_asks_for_nothing() -> None:
    found = read(NVIDIA_REQUIRE_CUDA="cuda>=12.8", NVIDIA_DISABLE_REQUIRE="1")
    assert (found.requirements, [one.code for one in found.information]) == ((), ["nvidia-require-disabled"])


def test_a_bare_expression_that_is_stricter_than_needed_is_told() -> None:
    (told,) = read(NVIDIA_REQUIRE_CUDA="cuda>=12.5").information
    assert "runs from driver 525.60.13 on" in told.text
    assert read(NVIDIA_REQUIRE_CUDA="cuda>=12.5 driver>=525").information == ()


@pytest.mark.parametrize("text", ["cuda>=99.0", "cuda~12", "colour=red", "brand=pear", "brand!=tesla"])
def test_what_cannot_be_judged_is_a_question_and_no_answer(text: str) -> None:
    found = read(NVIDIA_REQUIRE_CUDA=text)
    assert found.requirements == ()
    assert [one.what for one in found.unexplored] == ["NVIDIA_REQUIRE_CUDA"]


def test_an_endless_expression_is_given_up() -> None:
    many = " ".join(f"driver>={number}" for number in range(20))
    found = read(NVIDIA_REQUIRE_CUDA=many, NVIDIA_REQUIRE_A=many, NVIDIA_REQUIRE_B=many)
    assert found.requirements == ()
    assert found.unexplored


@given(st.text(alphabet="cudarivebn=<>!,. 0123456789", max_size=60))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        clauses = parse_requirement(text)
    except ValueError:
        return
    assert " ".join(",".join(map(str, clause)) for clause in clauses).split() == text.split()
