from collections.abc import Callable

from tests.detector.sources.accel.conftest import Layout, function

from nodeworthy.features import Instance

Accelerators = Callable[[Layout], tuple[Instance, ...]]


def test_the_memory_of_a_card_is_that_of_all_its_tiles(accelerators: Accelerators) -> None:
    """drivers/gpu/drm/xe/xe_tile_sysfs.c"""
    tiles = {f"tile{number}__physical_vram_size_bytes": "68719476736\n" for number in (0, 1)}
    (device,) = accelerators(function("0000:9a:00.0", "038000 8086 0bd5", "xe", **tiles))
    assert (device["kind"], device["memory_bytes"], device["health"]) == ("gpu", "137438953472", "ok")


def test_a_card_of_which_one_tile_does_not_say_has_no_size(accelerators: Accelerators) -> None:
    files = function("0000:9a:00.0", "038000 8086 0bd5", "xe", tile0__physical_vram_size_bytes="1\n", tile1__gt2__id="")
    (device,) = accelerators(files)
    assert "memory_bytes" not in device


def test_a_card_that_waits_for_new_firmware_has_failed(accelerators: Accelerators) -> None:
    """drivers/gpu/drm/xe/xe_survivability_mode.c"""
    (device,) = accelerators(function("0000:03:00.0", "030000 8086 e20b", "xe", survivability_mode="Boot\n"))
    assert device["health"] == "failed"
    assert "survivability mode" in device["health_reason"]


def test_i915_has_nothing_to_add(accelerators: Accelerators) -> None:
    (device,) = accelerators(function("0000:00:02.0", "030000 8086 46a6", "i915", tile0__physical_vram_size_bytes="1"))
    assert "memory_bytes" not in device
