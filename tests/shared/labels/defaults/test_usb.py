from collections.abc import Callable, Mapping

import pytest

from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.labels import DefaultLabelSettings, UsbLabels, compile_defaults, make_default_labels

Make = Callable[..., dict[str, str]]
CORAL = {"class": "ff", "vendor": "1a6e", "device": "089a"}
KEYBOARD = {"class": "03", "vendor": "046d", "device": "c31c", "serial": "0 1"}


def labels(make_labels: Make, *devices: Mapping[str, str], **settings: tuple[str, ...]) -> dict[str, str]:
    return make_labels("usb.device", FeatureSet(instances=devices), DefaultLabelSettings(usb=UsbLabels(**settings)))


def test_p14_video_and_vendor_specific_devices_are_labels_by_class_vendor_and_device(make_labels: Make) -> None:
    camera = {**CORAL, "class": "0e", "serial": "SN 0815 - a very long product text of which nothing enters a key"}
    assert labels(make_labels, CORAL, CORAL, camera, KEYBOARD) == {
        "usb-ff_1a6e_089a.present": "true",
        "usb-0e_1a6e_089a.present": "true",
    }
    assert labels(make_labels, KEYBOARD) == {}
    assert labels(make_labels) == {}


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        (("vendor",), "usb-1a6e.present"),
        (("device", "class"), "usb-ff_089a.present"),
        (("serial", "vendor"), "usb-1a6e_X1.present"),
        (("vendor", "colour"), "usb-1a6e.present"),
        ((), "usb-ff_1a6e_089a.present"),
    ],
)
def test_p2_the_fields_of_a_name_have_a_fixed_order(make_labels: Make, fields: tuple[str, ...], name: str) -> None:
    assert labels(make_labels, {**CORAL, "serial": "X1"}, name_fields=fields) == {name: "true"}


def test_p2_a_field_that_is_none_is_told() -> None:
    problems = compile_defaults(DefaultLabelSettings(usb=UsbLabels(name_fields=("subsystem_vendor",)))).problems
    assert problems == (
        "labels of usb: 'subsystem_vendor' is no field of a name and is not used; there are class, vendor, device, serial",
        "labels of usb: no field of a name is left, so class, vendor and device are used",
    )


def test_prefixes_of_classes_may_be_written_in_upper_case(make_labels: Make) -> None:
    assert labels(make_labels, CORAL, KEYBOARD, class_prefixes=("03", "FF")) == {
        "usb-03_046d_c31c.present": "true",
        "usb-ff_1a6e_089a.present": "true",
    }


def test_a_serial_number_that_is_no_name_refuses_its_own_label_only() -> None:
    settings = DefaultLabelSettings(usb=UsbLabels(class_prefixes=("03", "ff"), name_fields=("vendor", "serial")))
    content = FeatureSet(instances=({**CORAL, "serial": "X1"}, KEYBOARD))
    made = make_default_labels(Snapshot({"usb.device": content}, {}, frozenset()), compile_defaults(settings))
    assert [label.key.rpartition("/")[2] for label in made.labels] == ["usb-1a6e_X1.present"]
    assert [one.key.rpartition("/")[2] for one in made.rejected] == ["usb-046d_0 1.present"]
