from collections.abc import Callable, Mapping

import pytest

from nodeworthy.features import FeatureSet
from nodeworthy.labels import DefaultLabelSettings, PciLabels, compile_defaults

Make = Callable[..., dict[str, str]]
H100 = {
    "class": "0302",
    "vendor": "10de",
    "device": "2330",
    "subsystem_vendor": "10de",
    "subsystem_device": "16c1",
}
BRIDGE = {**H100, "class": "0604", "vendor": "8086"}


def labels(make_labels: Make, *devices: Mapping[str, str], **settings: tuple[str, ...]) -> dict[str, str]:
    return make_labels("pci.device", FeatureSet(instances=devices), DefaultLabelSettings(pci=PciLabels(**settings)))


def test_p1_displays_co_processors_and_accelerators_are_labels_by_class_and_vendor(make_labels: Make) -> None:
    accelerator = {**H100, "class": "1200", "vendor": "1da3"}
    assert labels(make_labels, H100, H100, BRIDGE, accelerator) == {
        "pci-0302_10de.present": "true",
        "pci-1200_1da3.present": "true",
    }


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        (("vendor",), "pci-10de.present"),
        (("device", "vendor"), "pci-10de_2330.present"),
        (("subsystem_device", "class", "subsystem_vendor"), "pci-0302_10de_16c1.present"),
        (("vendor", "colour"), "pci-10de.present"),
        (("colour",), "pci-0302_10de.present"),
        ((), "pci-0302_10de.present"),
    ],
)
def test_p2_the_fields_of_a_name_have_a_fixed_order(make_labels: Make, fields: tuple[str, ...], name: str) -> None:
    assert labels(make_labels, H100, name_fields=fields) == {name: "true"}


def test_p2_a_field_that_is_none_is_told() -> None:
    def problems(*fields: str) -> tuple[str, ...]:
        return compile_defaults(DefaultLabelSettings(pci=PciLabels(name_fields=fields))).problems

    assert problems("vendor") == ()
    assert [text.split(";")[0] for text in problems("vendor", "colour")] == [
        "labels of pci: 'colour' is no field of a name and is not used"
    ]
    assert problems("colour")[1] == "labels of pci: no field of a name is left, so class and vendor are used"


def test_prefixes_of_classes_may_be_written_in_upper_case(make_labels: Make) -> None:
    qat = {**H100, "class": "0b40", "vendor": "8086"}
    assert labels(make_labels, qat, H100, class_prefixes=("0B",)) == {"pci-0b40_8086.present": "true"}


def test_a_device_that_can_have_virtual_functions_has_a_second_label(make_labels: Make) -> None:
    assert labels(make_labels, {**H100, "sriov_totalvfs": "0"}, H100) == {
        "pci-0302_10de.present": "true",
        "pci-0302_10de.sriov.capable": "true",
    }
