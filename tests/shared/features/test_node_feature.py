from typing import Any, Literal

import msgspec

from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot, write_node_feature


class Strict(msgspec.Struct, forbid_unknown_fields=True):
    """NFD's types, api/nfd/v1alpha1: an unknown field is an error, and so is a missing one that is required."""


class Flags(Strict):
    elements: dict[str, dict[str, str]]


class Attributes(Strict):
    elements: dict[str, str]


class Instance(Strict):
    attributes: dict[str, str]


class Instances(Strict):
    elements: list[Instance]


class Features(Strict):
    flags: dict[str, Flags]
    attributes: dict[str, Attributes]
    instances: dict[str, Instances]


class Spec(Strict):
    features: Features
    labels: dict[str, str]


class Metadata(Strict):
    name: str
    namespace: str
    labels: dict[str, str]


class NodeFeature(Strict):
    apiVersion: Literal["nfd.k8s-sigs.io/v1alpha1"]  # noqa: N815 # Kubernetes' name
    kind: Literal["NodeFeature"]
    metadata: Metadata
    spec: Spec


def strictly(document: object) -> NodeFeature:
    return msgspec.json.decode(msgspec.json.encode(document), type=NodeFeature)


def write(contents: dict[str, FeatureSet], statuses: dict[str, SetStatus] | None = None) -> dict[str, Any]:
    snapshot = Snapshot(contents, statuses or {}, frozenset({*contents, *(statuses or {})}))
    return write_node_feature(snapshot, node="n1", namespace="nfd", labels={"b": "2", "a": "1"})


def test_it_has_exactly_the_shape_of_nfd() -> None:
    found = strictly(
        write(
            {
                "cpu.cpuid": FeatureSet(flags=frozenset({"AVX2"}), attributes={"AVX10_VERSION": "1"}),
                "pci.device": FeatureSet(instances=({"vendor": "10de"}, {})),
            }
        )
    )
    assert found.metadata == Metadata("n1", "nfd", {"nfd.node.kubernetes.io/node-name": "n1"})
    assert found.spec.features == Features(
        {"cpu.cpuid": Flags({"AVX2": {}})},
        {"cpu.cpuid": Attributes({"AVX10_VERSION": "1"})},
        {"pci.device": Instances([Instance({"vendor": "10de"}), Instance({})])},
    )
    assert list(found.spec.labels.items()) == [("a", "1"), ("b", "2")]


def test_the_three_maps_are_there_also_where_nothing_is_known() -> None:
    found = strictly(write({}, {"pci.device": SetStatus(SetState.UNKNOWN, "no sysfs")}))
    assert found.spec.features == Features({}, {}, {})


def test_an_empty_set_is_not_an_absent_one_and_text_of_rules_is_none() -> None:
    document = write({"local.feature": FeatureSet(attributes={}), "custom.rules": FeatureSet(attributes={"a": "[]"})})
    assert strictly(document).spec.features.attributes == {"local.feature": Attributes({})}
