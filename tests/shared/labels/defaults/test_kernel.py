from collections.abc import Callable

import pytest

from nodeworthy.features import FeatureSet
from nodeworthy.labels import DefaultLabels, DefaultLabelSettings, KernelLabels

Make = Callable[..., dict[str, str]]
PREFIX = "feature.node.kubernetes.io/"


def test_l1_a_release_gives_its_legal_form_and_its_numbers(make_labels: Make) -> None:
    attributes = {
        "full": "4.9.140-l4t-r32.3.1_g47e7e1cb0b49",
        "raw": "4.9.140-l4t-r32.3.1+g47e7e1cb0b49",
        "major": "4",
        "minor": "9",
        "revision": "140",
    }
    assert make_labels("kernel.version", FeatureSet(attributes=attributes)) == {
        "kernel-version.full": "4.9.140-l4t-r32.3.1_g47e7e1cb0b49",
        "kernel-version.major": "4",
        "kernel-version.minor": "9",
        "kernel-version.revision": "140",
    }


def test_l5_a_part_that_the_release_does_not_have_gives_no_label(make_labels: Make) -> None:
    attributes = {"full": "6.12", "major": "6", "minor": "12", "revision": ""}
    assert "kernel-version.revision" not in make_labels("kernel.version", FeatureSet(attributes=attributes))


def test_configured_options_are_labels_with_true_for_y_and_m(make_labels: Make) -> None:
    content = FeatureSet(attributes={"NO_HZ": "y", "PREEMPT": "m", "NO_HZ_FULL": "n", "HZ": "250", "VERSION": "a b"})
    assert make_labels("kernel.config", content) == {
        "kernel-config.NO_HZ": "true",
        "kernel-config.PREEMPT": "true",
        "kernel-config.NO_HZ_FULL": "n",
    }
    settings = DefaultLabelSettings(kernel=KernelLabels(("HZ", "VERSION")))
    assert make_labels("kernel.config", content, settings) == {"kernel-config.HZ": "250"}


def test_selinux_gives_a_label_only_where_it_enforces(make_labels: Make) -> None:
    assert make_labels("kernel.selinux", FeatureSet(attributes={"enabled": "true"})) == {
        "kernel-selinux.enabled": "true"
    }
    assert make_labels("kernel.selinux", FeatureSet(attributes={"enabled": "false"})) == {}
    assert make_labels("kernel.kvm", FeatureSet(attributes={"enabled": "true"})) == {}


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("kernel.config", {f"kernel-config.{name}" for name in ("NO_HZ", "NO_HZ_IDLE", "NO_HZ_FULL", "PREEMPT")}),
        ("kernel.selinux", {"kernel-selinux.enabled"}),
        ("kernel.version", {f"kernel-version.{part}" for part in ("full", "major", "minor", "revision")}),
    ],
)
def test_an_unknown_set_withholds_its_labels_and_no_others(
    make_unknown: Callable[[str], DefaultLabels], name: str, labels: set[str]
) -> None:
    made = make_unknown(name)
    assert not made.labels
    (doubt,) = made.unresolved
    assert set(doubt.claims.values) == {PREFIX + label for label in labels}


@pytest.mark.parametrize(
    "name", ["availablemodule", "binfmt", "cgroup", "enabledmodule", "loadedmodule", "module", "moduleinfo", "sysctl"]
)
def test_modules_settings_and_handlers_give_no_labels(make_labels: Make, name: str) -> None:
    content = FeatureSet(frozenset({"kvm"}), {"version": "2", "enabled": "true"}, ({"name": "kvm"},))
    assert make_labels(f"kernel.{name}", content) == {}
