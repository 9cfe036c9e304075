from collections.abc import Callable, Mapping

import pytest

from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.labels import DefaultLabelSettings, compile_defaults, make_default_labels

Make = Callable[..., dict[str, str]]


@pytest.mark.parametrize(
    ("name", "attributes", "labels"),
    [
        ("memory.numa", {"is_numa": "true", "node_count": "2"}, {"memory-numa": "true"}),
        ("memory.numa", {"is_numa": "false", "node_count": "1"}, {}),
        ("memory.swap", {"enabled": "true"}, {"memory-swap": "true"}),
        ("memory.swap", {"enabled": "false"}, {}),
        ("memory.hugepages", {"enabled": "true", "hugepages-2Mi": "4"}, {}),
    ],
)
def test_what_is_true_is_a_label(
    make_labels: Make, name: str, attributes: Mapping[str, str], labels: Mapping[str, str]
) -> None:
    assert make_labels(name, FeatureSet(attributes=attributes)) == labels


def test_non_volatile_memory_is_present_and_may_be_dax(make_labels: Make) -> None:
    region, dax = {"name": "region0", "devtype": "nd_pmem"}, {"name": "dax0.0", "devtype": "nd_dax"}
    assert make_labels("memory.nv", FeatureSet(instances=())) == {}
    assert make_labels("memory.nv", FeatureSet(instances=(region,))) == {"memory-nv.present": "true"}
    assert make_labels("memory.nv", FeatureSet(instances=(region, dax))) == {
        "memory-nv.present": "true",
        "memory-nv.dax": "true",
    }


def test_an_attribute_that_was_not_observed_puts_its_label_in_doubt_and_no_other_does() -> None:
    def doubts(*unobserved: str) -> list[set[str]]:
        facts = Snapshot({"memory.numa": FeatureSet(attributes={}, unobserved=frozenset(unobserved))}, {}, frozenset())
        made = make_default_labels(facts, compile_defaults(DefaultLabelSettings()))
        return [set(one.claims.values) for one in made.unresolved]

    assert doubts("is_numa") == [{"feature.node.kubernetes.io/memory-numa"}]
    assert doubts("node_count") == []
