from collections.abc import Callable

import pytest
from tests.detector.sources.accel.conftest import MI300X_PROPERTIES, PCI, Layout, function, member, mi300x

from nodeworthy.features import Instance
from nodeworthy_detector.sources.accel.amd import address_of, count_uncorrectable, format_gfx_target, parse_properties

THREE_ERRORS = "ue: 3\nce: 14\n"  # codespell:ignore ue

Accelerators = Callable[[Layout], tuple[Instance, ...]]


@pytest.mark.parametrize(
    ("version", "target"),
    [
        (70_001, "gfx701"),
        (80_003, "gfx803"),
        (90_010, "gfx90a"),
        (90_402, "gfx942"),
        (90_500, "gfx950"),
        (100_306, "gfx1036"),
        (110_000, "gfx1100"),
        (120_001, "gfx1201"),
        (0, None),
        (91_600, None),
        (10**19, None),
    ],
)
def test_a_target_is_named_as_the_compiler_names_it(version: int, target: str | None) -> None:
    assert format_gfx_target(version) == target


def test_a_topology_node_says_where_it_is_on_the_bus() -> None:
    properties = parse_properties(MI300X_PROPERTIES)
    assert address_of(properties) == "0000:75:00.0"
    assert address_of({"domain": 0x10000, "location_id": 0xFF0B}) == "10000:ff:01.3"


def test_an_instinct_card_says_everything_in_words(accelerators: Accelerators) -> None:
    assert accelerators(mi300x()) == (
        {
            "kind": "gpu",
            "vendor": "amd",
            "vendor_id": "1002",
            "device_id": "74a1",
            "model": "AMD Instinct MI300X OAM",
            "driver": "amdgpu",
            "driver_version": "6.10.5",
            "firmware": "113-M3000100-102",
            "address": "0000:75:00.0",
            "form": "physical",
            "numa_node": "1",
            "device_nodes": "/dev/kfd /dev/dri/renderD128",
            "health": "ok",
            "memory_bytes": "206141652992",
            "gfx_target": "gfx942",
            "compute_partition": "SPX",
        },
    )


def test_a_card_whose_board_has_no_name_is_named_by_its_number(accelerators: Accelerators) -> None:
    (device,) = accelerators(mi300x(product_name="\n"))
    assert device["model"] == "AMD Instinct MI300X"


def test_uncorrectable_memory_errors_degrade_a_card(accelerators: Accelerators) -> None:
    (device,) = accelerators(mi300x(ras__umc_err_count=THREE_ERRORS))
    assert (device["health"], device["health_reason"]) == ("degraded", "3 uncorrectable memory errors")


def test_a_sleeping_card_is_not_woken_for_its_error_counts(accelerators: Accelerators) -> None:
    (device,) = accelerators(mi300x(ras__umc_err_count=THREE_ERRORS, power__runtime_status="suspended\n"))
    assert device["health"] == "ok"


def test_counts_of_another_form_are_no_errors() -> None:
    assert count_uncorrectable("ce: 5\nue: many\nvalue: 7") == 0


def test_a_size_that_is_no_number_is_left_out(accelerators: Accelerators) -> None:
    (device,) = accelerators(mi300x(mem_info_vram_total="plenty\n"))
    assert "memory_bytes" not in device


def test_the_npu_of_a_processor_is_named_by_its_driver(accelerators: Accelerators) -> None:
    """drivers/accel/amdxdna/amdxdna_sysfs.c"""
    address = "0000:c4:00.1"
    npu = function(address, "118000 1022 17f0", "amdxdna", vbnv="RyzenAI-npu4\n", fw_version="1.0.0.63\n")
    (device,) = accelerators(npu | member("accel", "accel0", address))
    assert (device["kind"], device["model"], device["firmware"]) == ("npu", "RyzenAI-npu4", "1.0.0.63")
    assert PCI not in device["device_nodes"]
