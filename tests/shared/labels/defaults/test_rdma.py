from collections.abc import Callable, Iterable

import pytest

from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot
from nodeworthy.labels import DefaultLabels, DefaultLabelSettings, compile_defaults, make_default_labels

Make = Callable[..., dict[str, str]]
PREFIX = "feature.node.kubernetes.io/"
CONNECTX = {"class": "0200", "vendor": "15b3", "device": "1017"}
E810 = {"class": "0200", "vendor": "8086", "device": "159b"}
IRDMA = {"name": "irdma0", "driver": "ice", "link_layer": "Ethernet"}
DEFAULTS = compile_defaults(DefaultLabelSettings())


def final(made: DefaultLabels) -> dict[str, str]:
    return {label.key: label.value for label in sorted(made.labels, key=lambda label: label.position)}


def test_p10_an_adapter_of_any_vendor_is_capable_when_it_has_a_driver(make_labels: Make) -> None:
    assert make_labels("pci.device", FeatureSet(instances=(E810,))) == {}
    assert make_labels("network.rdma", FeatureSet(instances=(IRDMA,))) == {"rdma.capable": "true"}
    assert make_labels("network.rdma", FeatureSet(instances=())) == {}


def test_p10_an_adapter_of_mellanox_is_capable_without_a_driver_and_not_available(make_labels: Make) -> None:
    assert make_labels("pci.device", FeatureSet(instances=(E810, CONNECTX))) == {"rdma.capable": "true"}


@pytest.mark.parametrize(
    ("modules", "labels"),
    [
        (("ib_uverbs", "rdma_ucm", "mlx5_ib"), {"rdma.available": "true"}),
        (("ib_uverbs", "mlx5_ib"), {}),
        (("rdma_ucm",), {}),
        ((), {}),
    ],
)
def test_what_programs_need_is_available_when_both_modules_are_loaded(
    make_labels: Make, modules: Iterable[str], labels: dict[str, str]
) -> None:
    assert make_labels("kernel.loadedmodule", FeatureSet(flags=frozenset(modules))) == labels


def test_a_module_that_was_not_observed_puts_the_label_in_doubt_unless_the_other_is_not_loaded() -> None:
    def doubts(*flags: str) -> list[set[str]]:
        modules = FeatureSet(flags=frozenset(flags), unobserved=frozenset({"rdma_ucm"}))
        made = make_default_labels(Snapshot({"kernel.loadedmodule": modules}, {}, frozenset()), DEFAULTS)
        return [set(one.claims.values) for one in made.unresolved]

    assert doubts("ib_uverbs") == [{f"{PREFIX}rdma.available"}]
    assert doubts() == []


@pytest.mark.parametrize(
    ("name", "label"),
    [("pci.device", "rdma.capable"), ("network.rdma", "rdma.capable"), ("kernel.loadedmodule", "rdma.available")],
)
def test_an_unknown_set_may_give_the_label_with_or_without_the_prefix(
    make_unknown: Callable[[str], DefaultLabels], name: str, label: str
) -> None:
    made = make_unknown(name)
    assert not made.labels
    assert [one for one in made.unresolved if one.claims.values == {PREFIX + label: "true", label: "true"}]


def test_a_capable_node_keeps_its_label_while_the_other_set_is_unknown() -> None:
    status = {"network.rdma": SetStatus(SetState.UNKNOWN, "permission denied")}
    facts = Snapshot({"pci.device": FeatureSet(instances=(CONNECTX,))}, status, frozenset())
    made = make_default_labels(facts, DEFAULTS)
    assert final(made) == {f"{PREFIX}rdma.capable": "true"}
    (doubt,) = made.unresolved
    assert doubt.claims.values[f"{PREFIX}rdma.capable"] == "true"


def test_without_the_prefix_the_names_stay_short_as_in_nfd() -> None:
    facts = Snapshot({"network.rdma": FeatureSet(instances=(IRDMA,))}, {}, frozenset())
    assert final(make_default_labels(facts, DEFAULTS, auto_prefix=False)) == {"rdma.capable": "true"}


def test_features_d_wins_over_the_short_name() -> None:
    facts = Snapshot(
        {
            "network.rdma": FeatureSet(instances=(IRDMA,)),
            "local.label": FeatureSet(attributes={"rdma.capable": "no"}),
        },
        {},
        frozenset(),
    )
    assert final(make_default_labels(facts, DEFAULTS)) == {f"{PREFIX}rdma.capable": "no"}
