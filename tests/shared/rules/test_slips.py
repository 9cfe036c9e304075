import json
from pathlib import Path

import pytest
from tests.shared.rules.test_known_sets import RECORDED, elements

from nodeworthy.rules import Expression, Operator
from nodeworthy.rules.slips import slip_in_name, slips_in_values


@pytest.mark.parametrize(
    ("feature", "name", "meant"),
    [
        ("cpu.cpuid", "avx512f", "AVX512F"),
        ("CPU.cpuid", "sse4_1", "SSE4"),
        ("cpu.cpuid", "SSE4.2", "SSE42"),
        ("cpu.cpuid", "avx512_vnni", "AVX512VNNI"),
        ("cpu.cpuid", "pni", "SSE3"),
        ("kernel.config", "CONFIG_KVM", "KVM"),
        ("kernel.loadedmodule", "nvidia.ko", "nvidia"),
        ("kernel.module", "mlx5_core.ko.xz", "mlx5_core"),
    ],
)
def test_a_name_that_no_machine_has_is_told_with_the_one_that_is_meant(feature: str, name: str, meant: str) -> None:
    slip = slip_in_name(feature, name)
    assert slip
    assert slip.hint in (f"did you mean {meant}?", f"write {meant}")


def test_names_of_other_sets_and_good_names_are_no_slips() -> None:
    for feature, name in (
        ("acme.cpuid", "avx512f"),
        ("kernel.config", "KVM"),
        ("kernel.loadedmodule", "kobject"),
        ("cpu.cpuid", "AVX10_128"),
    ):
        assert slip_in_name(feature, name) is None


def test_no_element_of_the_recorded_machines_is_a_slip() -> None:
    slips: list[object] = []
    for path in RECORDED:
        document = json.loads(path.read_text())
        for kind in ("flags", "attributes", "instances"):
            for feature, content in document[kind].items():
                slips += [name for name in elements(kind, content) if slip_in_name(feature, name)]
        for feature, content in document["instances"].items():
            for instance in content["elements"]:
                for name, value in instance["attributes"].items():
                    slips += slips_in_values(feature, name, Expression(Operator.IN, (value,)))
    assert slips == []


def test_no_flag_that_the_detector_can_raise_is_a_slip() -> None:
    data = Path(__file__).parents[2] / "data" / "hosts"
    names = set(json.loads((data / "x86-flags.json").read_text())["flags"])
    assert {name for name in names if slip_in_name("cpu.cpuid", name)} == set()


@pytest.mark.parametrize(
    ("feature", "name", "value", "meant"),
    [
        ("pci.device", "vendor", "0x10de", "10de"),
        ("pci.device", "device", "10DE", "10de"),
        ("pci.device", "class", "030200", "0302"),
        ("PCI.Device", "class", "0x030200", "0302"),
        ("usb.device", "class", "0xFF", "ff"),
    ],
)
def test_a_number_that_no_device_has_is_told_with_the_one_that_is_meant(
    feature: str, name: str, value: str, meant: str
) -> None:
    (slip,) = slips_in_values(feature, name, Expression(Operator.IN, ("0200", value)[feature[0] == "u" :]))
    assert slip.hint == f'did you mean "{meant}"?'


def test_patterns_and_other_attributes_are_not_looked_at() -> None:
    for name, operator in (("vendor", Operator.IN_REGEXP), ("sriov_totalvfs", Operator.IN)):
        assert slips_in_values("pci.device", name, Expression(operator, ("^0x",))) == []
