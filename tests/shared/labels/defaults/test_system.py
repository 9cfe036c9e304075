from collections.abc import Callable

from nodeworthy.features import FeatureSet

Make = Callable[..., dict[str, str]]


def test_o8_the_system_and_its_version_are_labels_and_version_is_not(make_labels: Make) -> None:
    attributes = {"ID": "centos", "VERSION": "7 (Core)", "VERSION_ID": "7", "VERSION_ID.major": "7", "NAME": "CentOS"}
    assert make_labels("system.osrelease", FeatureSet(attributes=attributes)) == {
        "system-os_release.ID": "centos",
        "system-os_release.VERSION_ID": "7",
        "system-os_release.VERSION_ID.major": "7",
    }


def test_l6_a_text_that_is_no_legal_value_is_made_one(make_labels: Make) -> None:
    attributes = {"ID": "my os!", "VERSION_ID": "()", "VERSION_ID.major": "3"}
    assert make_labels("system.osrelease", FeatureSet(attributes=attributes)) == {
        "system-os_release.ID": "my_os",
        "system-os_release.VERSION_ID.major": "3",
    }


def test_firmware_tables_and_names_give_no_labels(make_labels: Make) -> None:
    assert make_labels("system.dmiid", FeatureSet(attributes={"sys_vendor": "QEMU"})) == {}
    assert make_labels("system.name", FeatureSet(attributes={"nodename": "n1"})) == {}
