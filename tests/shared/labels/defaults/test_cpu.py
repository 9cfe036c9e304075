from collections.abc import Callable, Mapping

import pytest

from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.labels import CpuLabels, DefaultLabelSettings, compile_defaults, make_default_labels

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
            {"sgx.enabled": "true", "sgx.epc": "64", "sev.snp.enabled": "true", "sev.asids": "50"},
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
