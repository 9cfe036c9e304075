from collections.abc import Callable, Mapping

import pytest

from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.labels import DefaultLabels, DefaultLabelSettings, compile_defaults, make_default_labels
from nodeworthy.labels.origins import GiverKind

Make = Callable[..., dict[str, str]]

H100 = {
    "kind": "gpu",
    "vendor": "nvidia",
    "model": "NVIDIA H100 80GB HBM3",
    "driver": "nvidia",
    "driver_version": "550.54.15",
    "form": "physical",
}
MI300X = {
    "kind": "gpu",
    "vendor": "amd",
    "model": "AMD Instinct MI300X OAM",
    "driver": "amdgpu",
    "gfx_target": "gfx942",
    "form": "physical",
}


def without(device: Mapping[str, str], *names: str, **more: str) -> dict[str, str]:
    return {name: value for name, value in device.items() if name not in names} | more


def labels(make_labels: Make, *devices: Mapping[str, str]) -> dict[str, str]:
    return make_labels("accel.device", FeatureSet(instances=devices))


def doubts(*devices: Mapping[str, str]) -> DefaultLabels:
    found = Snapshot({"accel.device": FeatureSet(instances=devices)}, catalogue=frozenset())
    return make_default_labels(found, compile_defaults(DefaultLabelSettings()))


def test_model_and_driver_version_of_equal_devices_are_labels(make_labels: Make) -> None:
    assert labels(make_labels, H100, H100) == {
        "accel-nvidia.present": "true",
        "accel-nvidia.count": "2",
        "accel-nvidia.model": "NVIDIA_H100_80GB_HBM3",
        "accel-nvidia.driver-version.full": "550.54.15",
        "accel-nvidia.driver-version.major": "550",
        "accel-nvidia.driver-version.minor": "54",
    }


def test_l6_a_name_that_is_no_legal_value_is_made_one(make_labels: Make) -> None:
    titan = H100 | {"model": "NVIDIA-TITAN-X-(Pascal)"}
    assert labels(make_labels, titan)["accel-nvidia.model"] == "NVIDIA-TITAN-X-_Pascal"


def test_each_vendor_has_labels_of_its_own(make_labels: Make) -> None:
    found = labels(make_labels, H100, MI300X)
    assert found["accel-nvidia.model"] == "NVIDIA_H100_80GB_HBM3"
    assert found["accel-amd.model"] == "AMD_Instinct_MI300X_OAM"
    assert found["accel-amd.gfx-target"] == "gfx942"
    assert not [name for name in found if name.startswith("accel-amd.driver-version")]


def test_two_models_of_one_vendor_are_counted_and_neither_is_the_nodes(make_labels: Make) -> None:
    found = labels(make_labels, H100, H100 | {"model": "NVIDIA A30"})
    assert found["accel-nvidia.count"] == "2"
    assert found["accel-nvidia.driver-version.full"] == "550.54.15"
    assert "accel-nvidia.model" not in found


def test_virtual_functions_are_not_counted_beside_their_device(make_labels: Make) -> None:
    virtual = {"form": "virtual-function", "model": "AMD Instinct MI300X VF"}
    assert labels(make_labels, MI300X, MI300X | virtual)["accel-amd.count"] == "1"


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.15.0-fea4b1f", {"full": "1.15.0-fea4b1f", "major": "1", "minor": "15"}),
        ("24.1.rc1", {"full": "24.1.rc1", "major": "24", "minor": "1"}),
        ("7", {"full": "7", "major": "7"}),
        ("main", {"full": "main"}),
    ],
)
def test_a_version_has_as_many_parts_as_it_has(make_labels: Make, version: str, expected: dict[str, str]) -> None:
    found = labels(make_labels, H100 | {"driver_version": version})
    prefix = "accel-nvidia.driver-version."
    assert {name.removeprefix(prefix): value for name, value in found.items() if name.startswith(prefix)} == expected


def test_a_device_without_a_vendor_and_a_node_without_devices_have_no_labels(make_labels: Make) -> None:
    assert labels(make_labels, {"kind": "fpga"}, {"kind": "fpga", "vendor": "()"}) == {}
    assert labels(make_labels) == {}


@pytest.mark.parametrize("driver", [None, "nvidia"])
def test_the_model_is_in_doubt_while_the_driver_that_names_it_does_not(driver: str | None) -> None:
    nameless = without(H100, "model", "driver", "driver_version", **({} if driver is None else {"driver": driver}))
    (found,) = doubts(nameless).unresolved
    assert set(found.claims.values) == {"feature.node.kubernetes.io/accel-nvidia.model"}


def test_a_driver_that_never_names_devices_leaves_nothing_in_doubt() -> None:
    intel = {"kind": "gpu", "vendor": "intel", "driver": "i915", "form": "physical"}
    assert doubts(intel, H100).unresolved == ()


def test_where_devices_are_not_known_no_label_of_the_source_is_denied(
    make_unknown: Callable[..., DefaultLabels],
) -> None:
    (found,) = make_unknown("accel.device").unresolved
    assert found.giver.kind is GiverKind.DEFAULT
    assert found.claims.prefixes == ("feature.node.kubernetes.io/accel-",)
