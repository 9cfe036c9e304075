"""``nodeworthy labels adopt`` on a real API server, with Nodes as NFD leaves them."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.labels.nodes import PREFIX, TAINT_NAME, NfdMaster, label_changes, owners, read
from tests.kubernetes.api import MERGE
from tests.labeler.cluster.objects import Objects

from nodeworthy.bus.keys import labels_key
from nodeworthy.bus.labels import read_memory
from nodeworthy.bus.names import Bucket
from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.config import find_access
from nodeworthy.labels import LabelMemory, LabelState
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
    assert done.stderr.splitlines()[0] == "Nodes that have changed hands: 1; labels that changed: 0"
    assert "no bus is named" in done.stderr.splitlines()[1]
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


LEFT = {"x.org/left": "1", "x.org/a": "1"}
"""What NFD has left; a rule gives the second one."""
ALL_KNOWN = Snapshot({"lab.a": FeatureSet(attributes={"x": "1"})}, {}, frozenset())
A_FILE_UNKNOWN = Snapshot(ALL_KNOWN.contents, {}, frozenset({"local.label"}))
"""Of the files in features.d nobody knows what they say: they may give any label."""


@pytest.mark.parametrize("is_running", [True, False], ids=["a labeler runs", "none runs"])
async def test_what_nfd_gave_and_nobody_gives_goes_when_the_facts_are_known_and_not_before(
    cluster: "Cluster",
    nfd: NfdMaster,
    objects: Objects,
    facts_bus: "FactsBus",
    verb: "Verb",
    start_verb: "StartVerb",
    read_until: "ReadUntil",
    *,
    is_running: bool,
) -> None:
    cluster.create_node("n1")
    objects.rule("r1", {"x.org/a": "1"})
    nfd.label("n1", LEFT, {f"{PREFIX}note": "b"})
    nfd.give_capacity("n1", f"{PREFIX}slots", "4")
    await facts_bus.publisher("n1").publish(A_FILE_UNKNOWN)
    options = ("--kubeconfig", str(cluster.kubeconfig))
    admin = ("--server", facts_bus.server.url, "--user", "admin", *facts_bus.options[-2:])

    def start_labeler() -> None:
        read_until(start_verb("labeler", *options, *admin), "labeler.ready")

    if is_running:
        start_labeler()
        await record_that(facts_bus, lambda memory: memory.labels["x.org/a"].state is LabelState.HELD)
    before = read(cluster, "n1")
    (done,) = adopt(verb, cluster, *admin)
    assert {(one["key"], one["by_nfd"]) for one in done["taken"]} == {
        ("x.org/a", True),
        ("x.org/left", True),
        (f"{PREFIX}note", True),
        (f"{PREFIX}slots", True),
    }
    if not is_running:
        start_labeler()
    reason = "it is not known what default labels of local.label gives"
    await record_that(
        facts_bus,
        lambda memory: (
            reason in memory.labels["x.org/left"].reason and memory.labels["x.org/a"].state is LabelState.APPLIED
        ),
    )
    after = read(cluster, "n1")
    seen = label_changes(cluster.admin, "n1", before["metadata"]["resourceVersion"])
    assert {tuple(sorted(labels.items())) for labels in seen} == {tuple(sorted(before["metadata"]["labels"].items()))}
    assert after["status"]["capacity"] == before["status"]["capacity"]
    assert verb("labels", "diff", *options, *facts_bus.options).stderr == "nothing would change\n"
    await facts_bus.publisher("n1").publish(ALL_KNOWN)
    cluster.admin.wait_for("/api/v1/nodes", "n1", lambda node: "x.org/left" not in node["metadata"]["labels"])
    node = cluster.admin.wait_for(
        "/api/v1/nodes", "n1", lambda node: f"{PREFIX}slots" not in node["status"]["capacity"]
    )
    assert node["metadata"]["labels"]["x.org/a"] == "1"
    assert f"{PREFIX}note" not in node["metadata"].get("annotations", {})


async def record_that(bus: "FactsBus", is_wanted: Callable[[LabelMemory], bool]) -> None:
    """Wait until what is remembered of n1 is as wanted."""
    async with asyncio.timeout(30):
        while True:
            stored = await bus.store.get(Bucket.LABELS, labels_key("n1"))
            if stored is not None and is_wanted(read_memory(stored.data)):
                return
            await asyncio.sleep(0.02)


async def test_nothing_changes_hands_where_it_cannot_be_noted_whose_it_was(
    cluster: "Cluster", nfd: NfdMaster, facts_bus: "FactsBus", verb: "Verb"
) -> None:
    cluster.create_node("n1")
    nfd.label("n1", {"x.org/a": "1"})
    before = read(cluster, "n1")
    # The user of these options may only read.
    done = verb("labels", "adopt", "--kubeconfig", str(cluster.kubeconfig), *facts_bus.options, code=2)
    assert "may not" in done.stderr
    await facts_bus.store.put(Bucket.LABELS, labels_key("n1"), b"junk")
    admin = ("--server", facts_bus.server.url, "--user", "admin", *facts_bus.options[-2:])
    (junk,) = adopt(verb, cluster, *admin, code=2)
    assert junk["problem"].startswith("it cannot be noted what was NFD's: ")
    await facts_bus.store.connection.request(f"$JS.API.STREAM.DELETE.{facts_bus.store.names.stream(Bucket.LABELS)}")
    done = verb("labels", "adopt", "--kubeconfig", str(cluster.kubeconfig), *admin, code=2)
    assert "start a labeler, which makes them" in done.stderr
    assert read(cluster, "n1") == before


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
    assert not cluster.read_writes(mark)
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
