import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nodeworthy.errors import UsageError
from nodeworthy.features import FeatureSet, Snapshot, read_document
from nodeworthy.labels import DefaultLabels, DefaultLabelSettings, compile_defaults, make_default_labels

PREFIX = "feature.node.kubernetes.io/"
HOSTS = Path(__file__).parents[3] / "data" / "hosts"
DEFAULTS = compile_defaults(DefaultLabelSettings())


def facts(**contents: FeatureSet) -> Snapshot:
    return Snapshot({name.replace("_", "."): content for name, content in contents.items()}, catalogue=frozenset())


def final(made: DefaultLabels) -> dict[str, str]:
    return {label.key: label.value for label in sorted(made.labels, key=lambda label: label.position)}


def test_features_d_wins_over_a_source_under_the_full_name_only() -> None:
    model = FeatureSet(attributes={"family": "6", "id": "143"})
    local = FeatureSet(attributes={f"{PREFIX}cpu-model.family": "mine", "cpu-model.id": "mine", "rack": "7"})
    made = make_default_labels(facts(cpu_model=model, local_label=local), DEFAULTS)
    assert final(made) == {
        f"{PREFIX}cpu-model.family": "mine",
        f"{PREFIX}cpu-model.id": "143",
        f"{PREFIX}rack": "7",
    }


def test_without_the_prefix_short_names_of_features_d_stay_short() -> None:
    local = FeatureSet(attributes={"rack": "7", "x.org/row": "2"})
    made = make_default_labels(facts(local_label=local), DEFAULTS, auto_prefix=False)
    assert final(made) == {"rack": "7", "x.org/row": "2"}


def test_l9_a_bad_line_of_features_d_is_refused_and_leaves_what_a_source_says() -> None:
    model = FeatureSet(attributes={"family": "6"})
    local = FeatureSet(
        attributes={f"{PREFIX}cpu-model.family": "a b", "good": "1", "": "x", "n" * 64: "1", "at": "@a.b.c"}
    )
    made = make_default_labels(facts(cpu_model=model, local_label=local), DEFAULTS)
    assert final(made) == {f"{PREFIX}cpu-model.family": "6", f"{PREFIX}good": "1"}
    assert {one.key: one.reason.split()[1] for one in made.rejected} == {
        f"{PREFIX}cpu-model.family": "value",
        PREFIX: "name",
        f"{PREFIX}{'n' * 64}": "name",
        f"{PREFIX}at": "value",
    }


def test_a_huge_line_of_features_d_is_cut_in_its_refusal() -> None:
    local = FeatureSet(attributes={"n" * 60_000: "v" * 60_000})
    (refused,) = make_default_labels(facts(local_label=local), DEFAULTS).rejected
    assert len(refused.key) <= 320
    assert len(refused.value) <= 128


def test_the_pattern_of_names_is_searched_in_the_name_and_what_it_leaves_out_is_told() -> None:
    settings = DefaultLabelSettings(name_pattern="family|rack")
    model = FeatureSet(attributes={"family": "6", "id": "143"})
    local = FeatureSet(attributes={"rack/x": "7", "x.org/rack": "7"})
    made = make_default_labels(facts(cpu_model=model, local_label=local), compile_defaults(settings))
    assert final(made) == {f"{PREFIX}cpu-model.family": "6", "x.org/rack": "7"}
    assert {one.key for one in made.rejected} == {f"{PREFIX}cpu-model.id", "rack/x"}


def test_a_pattern_that_is_none_is_told() -> None:
    with pytest.raises(UsageError, match="default labels"):
        compile_defaults(DefaultLabelSettings(name_pattern="("))


@pytest.mark.parametrize(
    ("name", "mine", "foreign"),
    [
        ("cpu.cpuid", "cpu-cpuid.AVX2", "cpu-model.id"),
        ("cpu.model", "cpu-model.id", "cpu-modelling"),
        ("cpu.security", "cpu-security.sgx.enabled", "cpu-sst"),
        ("cpu.topology", "cpu-hardware_multithreading", "cpu-cpuid.AVX2"),
        ("kernel.config", "kernel-config.NO_HZ", "kernel-config.HZ"),
        ("kernel.version", "kernel-version.full", "kernel-config.NO_HZ"),
        ("memory.numa", "memory-numa", "memory-swap"),
        ("memory.nv", "memory-nv.dax", "memory-numa"),
        ("memory.swap", "memory-swap", "memory-numa"),
        ("network.device", "network-sriov.configured", "network-rdma"),
        ("network.rdma", "rdma.capable", "rdma.available"),
        ("pci.device", "pci-0302_10de.present", "usb-0302_10de.present"),
        ("storage.block", "storage-nonrotationaldisk", "storage-x"),
        ("system.osrelease", "system-os_release.ID", "system-os_release.NAME"),
        ("usb.device", "usb-ff_1a6e_089a.present", "pci-0302_10de.present"),
    ],
)
def test_an_unknown_set_gives_nothing_and_says_which_labels_it_may_give(
    make_unknown: Callable[[str], DefaultLabels], name: str, mine: str, foreign: str
) -> None:
    made = make_unknown(name)
    assert not made.labels
    assert {doubt.reason for doubt in made.unresolved} == {f"{name} is not known: permission denied"}
    assert [doubt for doubt in made.unresolved if doubt.claims.names(PREFIX + mine)]
    assert not [doubt for doubt in made.unresolved if doubt.claims.may_give(PREFIX + foreign)]


def test_unknown_files_of_features_d_may_give_anything(make_unknown: Callable[[str], DefaultLabels]) -> None:
    (doubt,) = make_unknown("local.label").unresolved
    assert doubt.claims.may_give("x.org/whatever")
    assert not doubt.claims.names("x.org/whatever")


def test_an_unobserved_line_of_features_d_is_in_doubt_under_its_full_name() -> None:
    local = FeatureSet(attributes={}, unobserved=frozenset({"rack", "x.org/row"}))
    (doubt,) = make_default_labels(facts(local_label=local), DEFAULTS).unresolved
    assert set(doubt.claims.values) == {f"{PREFIX}rack", "x.org/row"}


@pytest.mark.parametrize(
    "host", sorted(folder.name for folder in HOSTS.iterdir() if (folder / "expected.json").exists())
)
def test_whatever_a_set_gives_on_a_real_machine_is_among_what_it_may_give(host: str) -> None:
    snapshot = read_document((HOSTS / host / "expected.json").read_bytes(), host)
    made = make_default_labels(snapshot, DEFAULTS)
    assert made.labels
    assert not made.rejected
    for label in made.labels:
        claims = [maker.claims for maker in DEFAULTS.makers if maker.set_name in label.sets]
        assert any(one.may_give(label.key) for one in claims), label


def test_the_devices_of_a_whole_machine() -> None:
    """Its disk rotates and its loop device does not; the coprocessor and the display are of classes that are listed."""
    document = (HOSTS / "linux-unknown-xeon_phi_infiniband" / "expected.json").read_bytes()
    made = make_default_labels(read_document(document, "features"), DEFAULTS)
    labels = {key.removeprefix(PREFIX): value for key, value in final(made).items()}
    assert {key: value for key, value in labels.items() if not key.startswith(("accel-", "cpu-", "system-"))} == {
        "memory-numa": "true",
        "pci-0300_1a03.present": "true",
        "pci-0b40_8086.present": "true",
        "rdma.capable": "true",
    }


def test_the_labels_of_a_whole_machine() -> None:
    document = json.loads((HOSTS / "linux-rhcos4.13-sapphirerapids" / "expected.json").read_text())
    made = make_default_labels(read_document(json.dumps(document), "features"), DEFAULTS)
    labels = {key.removeprefix(PREFIX): value for key, value in final(made).items() if "cpuid" not in key}
    assert labels == {
        "cpu-cstate.enabled": "true",
        "cpu-hardware_multithreading": "true",
        "cpu-model.family": "6",
        "cpu-model.hypervisor": "none",
        "cpu-model.id": "143",
        "cpu-model.name": "Intel_R_Xeon_R_Platinum_8480",
        "cpu-model.vendor": "Intel",
        "cpu-model.vendor_id": "Intel",
        "cpu-pstate.scaling_governor": "performance",
        "cpu-pstate.status": "active",
        "cpu-pstate.turbo": "true",
        "kernel-config.NO_HZ_FULL": "true",
        "kernel-version.full": "5.14.0-284.36.1.el9_2.x86_64",
        "kernel-version.major": "5",
        "kernel-version.minor": "14",
        "kernel-version.revision": "0",
        "memory-nv.dax": "true",
        "memory-nv.present": "true",
        "memory-swap": "true",
        "system-architecture.bits": "64",
        "system-architecture.endianness": "little",
        "system-architecture.machine": "x86_64",
        "system-architecture.name": "amd64",
        "system-os_release.ID": "rhcos",
        "system-os_release.VERSION_ID": "4.13",
        "system-os_release.VERSION_ID.major": "4",
        "system-os_release.VERSION_ID.minor": "13",
    }
