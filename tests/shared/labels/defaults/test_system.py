from collections.abc import Callable

import pytest

from nodeworthy.features import FeatureSet
from nodeworthy.labels import DefaultLabels

Make = Callable[..., dict[str, str]]
PREFIX = "feature.node.kubernetes.io/"


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


def test_the_architecture_is_labelled_in_both_spellings(make_labels: Make) -> None:
    attributes = {"architecture": "arm64", "machine": "aarch64", "bits": "64", "endianness": "little"}
    assert make_labels("system.architecture", FeatureSet(attributes=attributes)) == {
        "system-architecture.name": "arm64",
        "system-architecture.machine": "aarch64",
        "system-architecture.bits": "64",
        "system-architecture.endianness": "little",
    }


def test_what_manages_services_is_a_label_and_its_version_is_not(make_labels: Make) -> None:
    attributes = {"name": "systemd", "command": "systemd", "version": "252"}
    assert make_labels("system.init", FeatureSet(attributes=attributes)) == {"system-init": "systemd"}
    assert make_labels("system.init", FeatureSet(attributes={"name": "(my init)"})) == {"system-init": "my_init"}
    assert make_labels("system.init", FeatureSet(attributes={"name": "()"})) == {}


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        (
            "system.architecture",
            {f"system-architecture.{part}" for part in ("name", "machine", "bits", "endianness")},
        ),
        ("system.init", {"system-init"}),
        (
            "system.osrelease",
            {f"system-os_release.{part}" for part in ("ID", "VERSION_ID", "VERSION_ID.major", "VERSION_ID.minor")},
        ),
    ],
)
def test_an_unknown_set_withholds_its_labels_and_no_others(
    make_unknown: Callable[[str], DefaultLabels], name: str, labels: set[str]
) -> None:
    made = make_unknown(name)
    assert not made.labels
    (doubt,) = made.unresolved
    assert set(doubt.claims.values) == {PREFIX + label for label in labels}


@pytest.mark.parametrize("name", ["system.device", "system.library", "system.runtime"])
def test_facts_for_rules_give_no_labels(make_labels: Make, name: str) -> None:
    content = FeatureSet(frozenset({"kvm"}), {"containerd": "1.7"}, ({"name": "glibc", "version": "2.36"},))
    assert make_labels(name, content) == {}
