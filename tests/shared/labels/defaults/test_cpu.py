from collections.abc import Callable, Mapping

import pytest

from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.labels import CpuLabels, DefaultLabels, DefaultLabelSettings, compile_defaults, make_default_labels

Make = Callable[..., dict[str, str]]


def test_flags_become_labels_but_for_those_that_are_denied(make_labels: Make) -> None:
    content = FeatureSet(flags=frozenset({"AVX512F", "SSE42", "SGX"}), attributes={"AVX10_VERSION": "2"})
    assert make_labels("cpu.cpuid", content) == {"cpu-cpuid.AVX512F": "true", "cpu-cpuid.AVX10_VERSION": "2"}


def test_an_allowlist_replaces_the_denylist_and_does_not_touch_attributes(make_labels: Make) -> None:
    content = FeatureSet(flags=frozenset({"AVX512F", "SSE42"}), attributes={"AVX10_VERSION": "2"})
    settings = DefaultLabelSettings(cpu=CpuLabels(cpuid_allowlist=frozenset({"SSE42", "avx512f"})))
    assert make_labels("cpu.cpuid", content, settings) == {"cpu-cpuid.SSE42": "true", "cpu-cpuid.AVX10_VERSION": "2"}


@pytest.mark.parametrize(
    ("name", "attributes", "labels"),
    [
        (
            "cpu.model",
            {"vendor_id": "Intel", "family": "6", "id": "143", "hypervisor": "none", "stepping": "8"},
            {
                "cpu-model.vendor_id": "Intel",
                "cpu-model.family": "6",
                "cpu-model.id": "143",
                "cpu-model.hypervisor": "none",
            },
        ),
        (
            "cpu.model",
            {"vendor": "ARM", "name": "Cortex-A76", "microcode": "0x1"},
            {"cpu-model.vendor": "ARM", "cpu-model.name": "Cortex-A76"},
        ),
        (
            "cpu.model",
            {"vendor": "Intel", "name": "Intel(R) Xeon(R) Platinum 8480+"},
            {"cpu-model.vendor": "Intel", "cpu-model.name": "Intel_R_Xeon_R_Platinum_8480"},
        ),
        ("cpu.model", {"name": "()"}, {}),
        (
            "cpu.security",
            {"tdx.protected": "true", "se.enabled": "true", "tdx.total_keys": "31"},
            {
                "cpu-security.tdx.protected": "true",
                "cpu-security.se.enabled": "true",
            },
        ),
        ("cpu.topology", {"hardware_multithreading": "true"}, {"cpu-hardware_multithreading": "true"}),
        ("cpu.hwcap", {"hwcap": "0x1"}, {}),
        ("cpu.address", {"virtual_bits": "48"}, {}),
        ("cpu.execution", {"ia32": "true"}, {}),
        ("cpu.cstate", {"enabled": "false"}, {"cpu-cstate.enabled": "false"}),
        (
            "cpu.pstate",
            {"status": "active", "turbo": "false", "scaling_governor": "powersave"},
            {
                "cpu-pstate.status": "active",
                "cpu-pstate.turbo": "false",
                "cpu-pstate.scaling_governor": "powersave",
            },
        ),
        (
            "cpu.security",
            {
                "sgx.enabled": "true",
                "sgx.epc": "64",
                "sgx.capable": "true",
                "sgx.usable": "true",
                "sev.snp.enabled": "true",
                "sev.asids": "50",
            },
            {"cpu-security.sgx.enabled": "true", "cpu-security.sev.snp.enabled": "true"},
        ),
        ("cpu.sst", {"bf.enabled": "true"}, {"cpu-power.sst_bf.enabled": "true"}),
        ("cpu.sst", {}, {}),
        (
            "cpu.topology",
            {"hardware_multithreading": "false", "socket_count": "2"},
            {"cpu-hardware_multithreading": "false"},
        ),
        ("cpu.coprocessor", {"nx_gzip": "true"}, {"cpu-coprocessor.nx_gzip": "true"}),
        ("cpu.rdt", {"RDTMON": "true"}, {}),
    ],
)
def test_each_set_gives_its_labels(
    make_labels: Make, name: str, attributes: Mapping[str, str], labels: Mapping[str, str]
) -> None:
    assert make_labels(name, FeatureSet(attributes=attributes)) == labels


def test_e5_a_cortex_a76_has_the_labels_of_the_document(make_labels: Make) -> None:
    flags = FeatureSet(flags=frozenset({"ATOMICS", "ARMv8.1", "ARMv8.2"}), unobserved=frozenset({"ARMv8.3"}))
    assert make_labels("cpu.cpuid", flags) == {
        "cpu-cpuid.ATOMICS": "true",
        "cpu-cpuid.ARMv8.1": "true",
        "cpu-cpuid.ARMv8.2": "true",
    }


@pytest.mark.parametrize(
    ("name", "open_labels"),
    [
        (
            "cpu.model",
            {"model.vendor_id", "model.family", "model.id", "model.hypervisor", "model.vendor", "model.name"},
        ),
        ("cpu.cstate", {"cstate.enabled"}),
        ("cpu.pstate", {"pstate.status", "pstate.turbo", "pstate.scaling_governor"}),
        ("cpu.sst", {"power.sst_bf.enabled"}),
        ("cpu.topology", {"hardware_multithreading"}),
        ("cpu.coprocessor", {"coprocessor.nx_gzip"}),
    ],
)
def test_an_unknown_set_leaves_its_labels_open(
    make_unknown: Callable[[str], DefaultLabels], name: str, open_labels: set[str]
) -> None:
    made = make_unknown(name)
    assert not made.labels
    left_open = {key for one in made.unresolved for key in one.claims.values}
    assert left_open == {f"feature.node.kubernetes.io/cpu-{label}" for label in open_labels}


@pytest.mark.parametrize(("name", "prefix"), [("cpu.cpuid", "cpuid."), ("cpu.security", "security.")])
def test_an_unknown_set_with_many_labels_leaves_a_prefix_open(
    make_unknown: Callable[[str], DefaultLabels], name: str, prefix: str
) -> None:
    (one,) = make_unknown(name).unresolved
    assert one.claims.prefixes == (f"feature.node.kubernetes.io/cpu-{prefix}",)


def test_l13_what_the_machine_does_not_tell_gives_no_label(make_labels: Make) -> None:
    assert make_labels("cpu.model", FeatureSet(attributes={"hypervisor": "none"})) == {"cpu-model.hypervisor": "none"}


def test_an_unobserved_flag_is_in_doubt_unless_it_would_give_no_label() -> None:
    content = FeatureSet(frozenset({"AVX2"}), {}, unobserved=frozenset({"APX_F", "RDSEED", "AVX10_VERSION"}))
    facts = Snapshot({"cpu.cpuid": content}, catalogue=frozenset())
    made = make_default_labels(facts, compile_defaults(DefaultLabelSettings()))
    assert [label.key for label in made.labels] == ["feature.node.kubernetes.io/cpu-cpuid.AVX2"]
    assert [set(one.claims.values) for one in made.unresolved] == [
        {"feature.node.kubernetes.io/cpu-cpuid.APX_F", "feature.node.kubernetes.io/cpu-cpuid.AVX10_VERSION"}
    ]
