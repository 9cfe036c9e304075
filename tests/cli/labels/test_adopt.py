"""``nodeworthy labels adopt`` on a real API server, with Nodes as NFD leaves them."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.labels.nodes import PREFIX, TAINT_NAME, NfdMaster, label_changes, owners, read
from tests.kubernetes.api import MERGE
from tests.labeler.cluster.objects import Objects

from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.config import find_access
from nodeworthy_cli.labels.adopt import adopt_node
from nodeworthy_cli.labels.selecting import read_metadata

if TYPE_CHECKING:
    from tests.cli.conftest import FactsBus, ReadUntil, StartVerb, Verb
    from tests.kubernetes.cluster import Cluster


def adopt(verb: "Verb", cluster: "Cluster", *arguments: str, code: int = 0) -> Any:
    options = ("-o", "json", "--kubeconfig", str(cluster.kubeconfig))
    return json.loads(verb("labels", "adopt", *arguments, *options, code=code).stdout)


def test_everything_of_nfd_changes_hands_in_place(cluster: "Cluster", nfd: NfdMaster, verb: "Verb") -> None:
    cluster.create_node("n1", {"team.org/mine": "1"})
    nfd.label("n1", {f"{PREFIX}cpu-model.id": "85", "vendor.org/card": "a"}, {f"{PREFIX}note": "b"})
    nfd.give_capacity("n1", f"{PREFIX}slots", "4")
    nfd.taint("n1")
    before = read(cluster, "n1")
    done = verb("labels", "adopt", "--kubeconfig", str(cluster.kubeconfig))
    after = read(cluster, "n1")
    assert done.stderr == "Nodes that have changed hands: 1; labels that changed: 0\n"
    assert done.stdout.splitlines()[1].split() == ["n1", "2", "1", "1", "1", "nfd-master"]
    seen = label_changes(cluster.admin, "n1", before["metadata"]["resourceVersion"])
    assert seen == [before["metadata"]["labels"]] * 2  # the status, then all the rest
    assert after["status"]["capacity"] == before["status"]["capacity"]
    assert after["spec"]["taints"] == before["spec"]["taints"]
    kept = {f"{PREFIX}note": "b", "nodeworthy.io/capacity": json.dumps({f"{PREFIX}slots": "4"}, separators=(",", ":"))}
    kept["nodeworthy.io/taints"] = json.dumps({TAINT_NAME: "true"}, separators=(",", ":"))
    assert after["metadata"]["annotations"] == kept
    ours = {("nodeworthy", "Apply")}
    for key in (f"{PREFIX}cpu-model.id", "vendor.org/card"):
        assert owners(after, "metadata", "labels", key) == ours
    assert owners(after, "metadata", "annotations", f"{PREFIX}note") == ours
    assert owners(after, "metadata", "annotations", "nodeworthy.io/capacity") == ours
    assert owners(after, "status", "capacity", f"{PREFIX}slots") == ours
    assert owners(after, "metadata", "labels", "team.org/mine") == {("kubelet", "Update")}
    done = verb("labels", "adopt", "--kubeconfig", str(cluster.kubeconfig))
    assert done.stderr == "there is nothing to take over\n"
    assert read(cluster, "n1") == after


async def test_a_labeler_that_comes_after_changes_no_label_where_the_facts_agree(
    cluster: "Cluster",
    nfd: NfdMaster,
    objects: Objects,
    facts_bus: "FactsBus",
    verb: "Verb",
    start_verb: "StartVerb",
    read_until: "ReadUntil",
) -> None:
    cluster.create_node("n1")
    objects.rule("r1", {"x.org/a": "1", "x.org/b": "new"}, resources={f"{PREFIX}slots": "4"})
    nfd.label("n1", {"x.org/a": "1", "x.org/b": "old", "x.org/left": "1"})
    nfd.give_capacity("n1", f"{PREFIX}slots", "4")
    await facts_bus.publisher("n1").publish(Snapshot({"lab.a": FeatureSet(attributes={"x": "1"})}, {}, frozenset()))
    options = ("--kubeconfig", str(cluster.kubeconfig))
    done = verb("labels", "diff", *options, *facts_bus.options)
    # The capacity too: a labeler cannot see what others have given.
    stay = "keys that stay as others have set them: 2; see: nodeworthy conflicts"
    assert done.stderr == f"nothing would change\n{stay}\n"
    adopt(verb, cluster)
    done = verb("labels", "diff", "-o", "json", *options, *facts_bus.options, code=1)
    change = {"node": "n1", "label": "x.org/b", "before": "old", "after": "new", "why": "rule r1/r1"}
    assert json.loads(done.stdout)["changes"] == [change]
    since = read(cluster, "n1")["metadata"]["resourceVersion"]
    admin = ("--server", facts_bus.server.url, "--user", "admin", *facts_bus.options[-2:])
    process = start_verb("labeler", *options, *admin)
    read_until(process, "labeler.ready")
    cluster.admin.wait_for("/api/v1/nodes", "n1", lambda node: node["metadata"]["labels"].get("x.org/b") == "new")
    process.terminate()
    assert process.wait(30) == 0
    seen = label_changes(cluster.admin, "n1", since)
    assert {(labels["x.org/a"], labels["x.org/left"]) for labels in seen} == {("1", "1")}
    assert [labels["x.org/b"] for labels in seen] == ["new"]
    assert read(cluster, "n1")["status"]["capacity"][f"{PREFIX}slots"] == "4"
    assert verb("labels", "diff", *options, *facts_bus.options).stderr == "nothing would change\n"


def test_what_somebody_else_has_set_since_stays_until_it_is_named(
    cluster: "Cluster", nfd: NfdMaster, verb: "Verb"
) -> None:
    cluster.create_node("n1")
    nfd.label("n1", {"x.org/a": "1", "x.org/b": "1"})
    person = cluster.user("admin", user_agent="kubectl-label/v1")
    person.must("PATCH", "/api/v1/nodes/n1", {"metadata": {"labels": {"x.org/b": "mine"}}}, content=MERGE)
    (done,) = adopt(verb, cluster)
    assert [one["key"] for one in done["taken"]] == ["x.org/a"]
    assert done["left"] == [{"kind": "label", "key": "x.org/b", "owners": ["kubectl-label"]}]
    (done,) = adopt(verb, cluster, "--take-over", "x.org/b")
    assert done["taken"] == [{"kind": "label", "key": "x.org/b", "value": "mine", "former": ["kubectl-label"]}]
    after = read(cluster, "n1")
    assert owners(after, "metadata", "labels", "x.org/b") == {("nodeworthy", "Apply")}
    assert after["metadata"]["labels"]["x.org/b"] == "mine"


async def test_a_node_that_changed_since_it_was_read_is_read_again(cluster: "Cluster", nfd: NfdMaster) -> None:
    cluster.create_node("n1")
    nfd.label("n1", {"x.org/a": "1"})
    async with Client(find_access({}, Path("/nowhere"), kubeconfig=cluster.kubeconfig)) as client:
        body = await read_metadata(client, "n1")
        nfd.label("n1", {"x.org/a": "1", "x.org/b": "2"})
        done = await adopt_node(client, "n1", body, (), is_dry=False)
        assert [one.key for one in done.taken] == ["x.org/a", "x.org/b"]
        assert done.changed == 0
        cluster.delete_node("n1")
        assert (await adopt_node(client, "n1", body, (), is_dry=False)).problem
    assert cluster.admin.request("GET", "/api/v1/nodes/n1").status == 404


def test_a_dry_run_writes_nothing_and_only_chosen_nodes_are_taken(
    cluster: "Cluster", nfd: NfdMaster, verb: "Verb"
) -> None:
    for name in ("n1", "n2", "n3"):
        cluster.create_node(name, {"pool": name})
        nfd.label(name, {"x.org/a": "1"})
    mark = cluster.mark_requests()
    assert [one["node"] for one in adopt(verb, cluster, "--dry-run")] == ["n1", "n2", "n3"]
    assert not [one for one in cluster.read_requests(mark) if one.is_write]
    assert [one["node"] for one in adopt(verb, cluster, "n2")] == ["n2"]
    assert [one["node"] for one in adopt(verb, cluster, "--selector", "pool in (n2, n3)")] == ["n3"]
    assert [one["node"] for one in adopt(verb, cluster, "--dry-run")] == ["n1"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("nowhere",), "there is no Node nowhere"),
        (("n1", "--selector", "a=b"), "Nodes are named and selected"),
        (("--take-over", "kubernetes.io/arch"), "'kubernetes.io/arch' cannot be taken over"),
        (("--selector", "a in ("), "the list of nodes cannot be read"),
        (("--context", "none"), "none"),
    ],
)
def test_what_cannot_be_done_is_told(cluster: "Cluster", verb: "Verb", arguments: tuple[str, ...], text: str) -> None:
    cluster.create_node("n1")
    done = verb("labels", "adopt", *arguments, "--kubeconfig", str(cluster.kubeconfig), code=2)
    assert text in done.stderr


@pytest.mark.parametrize("arguments", [("labels", "adopt"), ("labels", "prune", "--yes"), ("labels", "diff")])
def test_a_user_without_rights_is_told_which_are_missing(
    cluster: "Cluster", verb: "Verb", arguments: tuple[str, ...]
) -> None:
    done = verb(*arguments, "--kubeconfig", str(cluster.write_kubeconfig("stranger")), code=2)
    assert 'User "stranger" cannot list resource "nodes"' in done.stderr
    assert "do: have a role bound to this user" in done.stderr


def test_a_user_who_may_only_read_nodes_is_told_at_the_first_write(
    cluster: "Cluster", nfd: NfdMaster, verb: "Verb"
) -> None:
    cluster.create_node("n1")
    nfd.label("n1", {"x.org/a": "1"})
    role = {"metadata": {"name": "node-reader"}}
    rules = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"]}]
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    subject = {"kind": "User", "name": "stranger", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "node-reader"}}
    cluster.admin.must("POST", f"{rbac}/clusterroles", role | {"rules": rules})
    cluster.admin.must("POST", f"{rbac}/clusterrolebindings", role | binding | {"subjects": [subject]})
    try:
        cluster.user("stranger").wait_until_allowed("list", "nodes")
        done = verb("labels", "adopt", "--kubeconfig", str(cluster.write_kubeconfig("stranger")), code=2)
    finally:
        cluster.admin.must("DELETE", f"{rbac}/clusterrolebindings/node-reader")
        cluster.admin.must("DELETE", f"{rbac}/clusterroles/node-reader")
    assert 'User "stranger" cannot patch resource "nodes"' in done.stderr
