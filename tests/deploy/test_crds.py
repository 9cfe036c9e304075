"""NFD's kinds by our definitions, on a real API server: what was written for NFD's own applies unchanged."""

import copy
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import pytest
import yaml
from tests.cli.conftest import load
from tests.conftest import CLIENT_SECONDS
from tests.deploy.conftest import Applier, condition
from tests.kubernetes.api import MERGE, Answer, Object
from tests.kubernetes.cluster import Cluster

from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.features.node_feature import write_node_feature
from nodeworthy.labels.statuses import Conflict, ObjectStatus, Refusal, RuleStatus
from nodeworthy.rules import Operator

if TYPE_CHECKING:
    from tests.kubernetes.fixtures import Kubectl

ROOT = Path(__file__).parents[2]
PUBLISHED = sorted(Path(__file__).parent.glob("rules/*.yaml")) + sorted((ROOT / "examples" / "rules").glob("*.yaml"))
REPORTED = sorted(Path(__file__).parent.glob("features/*.yaml"))
MADE_FILES: dict[Path, str] = load(ROOT / "scripts" / "write_manifests.py").manifests()
API = "nfd.k8s-sigs.io/v1alpha1"


def rule_object(**rule: Any) -> Object:
    spec = {"rules": [{"name": "one", **rule}]}
    return {"apiVersion": API, "kind": "NodeFeatureRule", "metadata": {"name": "crd-test"}, "spec": spec}


def asking(expression: object) -> Object:
    return rule_object(matchFeatures=[{"feature": "cpu.cpuid", "matchExpressions": {"A": expression}}])


class Apply(Protocol):
    """Make or change an object that is gone after the test; what the API server then has."""

    def __call__(self, value: Object) -> Object: ...


class Create(Protocol):
    """Make an object that is gone after the test, as other clients do; the answer."""

    def __call__(self, value: Object, *, validation: str = "Strict") -> Answer: ...


@pytest.fixture
def applied(definitions: Applier) -> Iterator[Apply]:
    """Server-side apply with strict validation."""
    made: list[Object] = []

    def apply(value: Object) -> Object:
        made.append(value)
        return definitions.must(value)

    yield apply
    for value in made:
        definitions.delete(value)


@pytest.fixture
def created(cluster: Cluster, definitions: Applier) -> Iterator[Create]:
    """A plain create, as ``kubectl create`` sends it."""
    made: list[Object] = []

    def create(value: Object, *, validation: str = "Strict") -> Answer:
        made.append(value)
        collection = definitions.path(value).rpartition("/")[0]
        return cluster.admin.request("POST", f"{collection}?fieldValidation={validation}", value)

    yield create
    for value in made:
        definitions.delete(value)


@pytest.mark.parametrize("path", MADE_FILES, ids=lambda path: path.name)
def test_files_that_are_made_from_the_code_are_current(path: Path) -> None:
    assert path.read_text() == MADE_FILES[path], "write them anew: python scripts/write_manifests.py"


def test_the_definitions_are_served_and_structural(cluster: Cluster, definitions: Applier, crds: list[Object]) -> None:
    for crd in crds:
        found = cluster.admin.must("GET", definitions.path(crd))
        states = {kind: condition(found, kind) for kind in ("Established", "NamesAccepted", "NonStructuralSchema")}
        assert states == {"Established": "True", "NamesAccepted": "True", "NonStructuralSchema": None}


def test_names_and_scopes_are_those_of_nfd(crds: list[Object]) -> None:
    found = {
        crd["metadata"]["name"]: (crd["spec"]["scope"], crd["spec"]["names"].get("shortNames", [])) for crd in crds
    }
    assert found == {
        "nodefeatures.nfd.k8s-sigs.io": ("Namespaced", []),
        "nodefeaturerules.nfd.k8s-sigs.io": ("Cluster", ["nfr"]),
        "nodefeaturegroups.nfd.k8s-sigs.io": ("Namespaced", ["nfg"]),
    }


@pytest.mark.usefixtures("definitions")
def test_kubectl_knows_the_short_names_and_shows_how_a_rule_fares(applied: Apply, kubectl: "Kubectl") -> None:
    applied(asking({"op": "Exists"}))
    status = {"nodesMatched": 7, "conditions": [accepted("True")]}
    kubectl(
        "patch",
        "nfr",
        "crd-test",
        "--subresource=status",
        "--type=merge",
        "-p",
        msgspec.json.encode({"status": status}).decode(),
    )
    head, line = kubectl("get", "nfr", "crd-test").stdout.splitlines()
    assert head.split() == ["NAME", "ACCEPTED", "NODES", "AGE"]
    assert line.split()[:3] == ["crd-test", "True", "7"]
    assert "No resources found" in kubectl("get", "nfg", "-n", "kube-system").stderr


def test_kubectl_shows_of_which_node_an_object_tells(applied: Apply, kubectl: "Kubectl") -> None:
    applied(write_node_feature(Snapshot({}), node="n-2", namespace="default", labels={}))
    head, line = kubectl("get", "nodefeatures", "-n", "default", "n-2").stdout.splitlines()
    assert head.split() == ["NAME", "NODE", "AGE"]
    assert line.split()[:2] == ["n-2", "n-2"]


@pytest.mark.parametrize("path", [*PUBLISHED, *REPORTED], ids=lambda path: path.name)
def test_published_files_apply_strictly_and_come_back_unchanged(path: Path, applied: Apply) -> None:
    documents = list(yaml.safe_load_all(path.read_text()))
    assert documents
    for document in documents:
        assert applied(document)["spec"] == document["spec"]


def test_an_object_of_our_own_facts_applies_unchanged(applied: Apply) -> None:
    facts = {
        "cpu.cpuid": FeatureSet(flags=frozenset({"AVX2"}), attributes={"AVX10_VERSION": "1"}),
        "pci.device": FeatureSet(instances=({"vendor": "10de"}, {"vendor": "10de"})),
        "local.label": FeatureSet(attributes={}),
    }
    value = write_node_feature(Snapshot(facts), node="n-1", namespace="default", labels={"example.com/a": ""})
    assert applied(value)["spec"] == value["spec"]


@pytest.mark.parametrize("operator", [operator.value for operator in Operator if operator])
def test_every_operator_is_taken(operator: str, applied: Apply) -> None:
    applied(asking({"op": operator}))


def test_what_nfd_takes_and_gives_no_meaning_to_is_taken(applied: Apply) -> None:
    odd = {"feature": "anything", "matchName": {"op": "In", "value": [], "type": "colour"}}
    applied(rule_object(matchFeatures=[odd], taints=[{"key": "", "effect": "Sometimes", "value": ""}]))
    applied(rule_object() | {"spec": {"rules": []}})


def test_nulls_as_nfds_own_components_write_them_are_left_out(created: Create) -> None:
    answer = created(rule_object(vars=None, matchAny=None, labels={"a": "b"}))
    assert answer.status == 201
    assert answer.body["spec"]["rules"] == [{"name": "one", "labels": {"a": "b"}}]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (asking({"op": "exists"}), 'Unsupported value: "exists"'),
        (asking({"op": ""}), 'Unsupported value: ""'),
        (asking({"value": ["a"]}), "op: Required value"),
        (asking({"op": "In", "value": "a"}), "must be of type array"),
        (asking({"op": "In", "value": [1]}), "must be of type string"),
        (asking(["a"]), "must be of type object"),
        (rule_object(labels={"a": True}), "must be of type string"),
        (rule_object(taints=[{"key": "a"}]), "effect: Required value"),
        (rule_object(matchFeatures=[{}]), "feature: Required value"),
        (rule_object() | {"spec": {"rules": [{}]}}, "name: Required value"),
        (rule_object() | {"spec": {}}, "spec.rules: Required value"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_nfd_refuses_is_refused(value: Object, words: str, created: Create) -> None:
    answer = created(value)
    assert answer.status == 422
    assert words in answer.body["message"]


def test_a_field_that_nobody_knows_is_pruned_with_a_warning_and_refused_when_asked_to(created: Create) -> None:
    value = rule_object(label={"a": "b"}, labels={"c": "d"})
    refused = created(value)
    assert (refused.status, refused.body["reason"]) == (400, "BadRequest")
    assert 'unknown field "spec.rules[0].label"' in refused.body["message"]
    taken = created(value, validation="Warn")
    assert taken.body["spec"]["rules"] == [{"name": "one", "labels": {"c": "d"}}]
    assert 'unknown field \\"spec.rules[0].label\\"' in taken.headers["Warning"]


def accepted(status: str) -> Object:
    condition = {
        "type": "Accepted",
        "status": status,
        "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    return condition | {"reason": "Read", "message": "all rules are read"}


def test_a_status_holds_all_that_is_known_of_an_object_and_touches_no_rule(
    cluster: Cluster, definitions: Applier, applied: Apply
) -> None:
    value = asking({"op": "Exists"})
    before = applied(value)
    known = ObjectStatus(
        name="crd-test",
        rules=(RuleStatus("one", 1, 2, 3, 4, "why", is_left_out=True),),
        conflicts=(Conflict("a/b", "rule x", "rule y"),),
        refusals=(Refusal("one", "label", "a/b", "why"),),
        notices=("late",),
        left_out=5,
    )
    status = camel(msgspec.to_builtins(known))
    del status["name"]
    status |= {"observedGeneration": 1, "nodesMatched": 1, "lastError": "why", "conditions": [accepted("True")]}
    written = definitions.must(copy.deepcopy(value) | {"status": status, "spec": {"rules": []}}, subresource="status")
    assert written["status"] == status
    assert written["spec"] == before["spec"]
    assert written["metadata"]["generation"] == before["metadata"]["generation"]
    path = definitions.path(value)
    cluster.admin.must("PATCH", path, {"status": {"nodesMatched": 9}}, content=MERGE)
    assert cluster.admin.must("GET", path)["status"] == status


def test_the_members_of_a_group_are_its_status(definitions: Applier, applied: Apply) -> None:
    group = {"apiVersion": API, "kind": "NodeFeatureGroup", "metadata": {"name": "crd-test", "namespace": "default"}}
    applied(group | {"spec": {"featureGroupRules": [{"name": "all"}]}})
    status = {"nodes": [{"name": "a"}, {"name": "b"}], "observedGeneration": 1, "conditions": [accepted("False")]}
    assert definitions.must(group | {"status": status}, subresource="status")["status"] == status


def camel(value: Any) -> Any:
    """A record as Kubernetes spells its fields."""
    if isinstance(value, dict):
        return {
            head + "".join(map(str.capitalize, rest)): camel(one)
            for key, one in value.items()
            for head, *rest in [key.split("_")]
        }
    return [camel(one) for one in value] if isinstance(value, list | tuple) else value


def test_definitions_without_a_status_as_nfds_are_replaced_and_no_object_is_lost(
    cluster: Cluster, definitions: Applier, crds: list[Object], applied: Apply, kubectl: "Kubectl"
) -> None:
    rule = rule_object(labels={"a": "b"})
    before = applied(rule)
    (ours,) = (crd for crd in crds if crd["spec"]["names"]["plural"] == "nodefeaturerules")
    path, command = definitions.path(ours), ("apply", "--server-side", "-k", str(ROOT / "deploy" / "crds"))
    try:
        nfds = cluster.admin.must("GET", path)
        (version,) = nfds["spec"]["versions"]
        del version["subresources"], version["additionalPrinterColumns"]
        del version["schema"]["openAPIV3Schema"]["properties"]["status"]
        cluster.admin.must("PUT", f"{path}?fieldManager=helm", nfds)
        wait_for_status_resource(cluster, is_there=False)
        assert 'conflict with "helm"' in kubectl(*command, check=False).stderr
    finally:
        kubectl(*command, "--force-conflicts")
    wait_for_status_resource(cluster, is_there=True)
    found = cluster.admin.must("GET", definitions.path(rule))
    assert (found["metadata"]["uid"], found["spec"]) == (before["metadata"]["uid"], before["spec"])
    definitions.must(rule | {"status": {"nodesMatched": 3}}, subresource="status")


def wait_for_status_resource(cluster: Cluster, *, is_there: bool) -> None:
    """The API server takes a moment to serve a definition that was changed; discovery tells when it does."""
    deadline = time.monotonic() + CLIENT_SECONDS
    while time.monotonic() < deadline:
        names = {one["name"] for one in cluster.admin.must("GET", f"/apis/{API}")["resources"]}
        if ("nodefeaturerules/status" in names) == is_there:
            return
        time.sleep(0.02)
    raise TimeoutError(f"discovery tells {names}")
