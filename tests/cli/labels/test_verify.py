"""``nodeworthy labels verify`` with real detectors and labelers; detectors look at a copy of a recorded machine."""

import json
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.labels.nodes import PREFIX
from tests.kubernetes.api import MERGE

from nodeworthy.bus.keys import DETECTOR, labels_key, snapshot_key
from nodeworthy.bus.names import Bucket
from nodeworthy.features import Snapshot

if TYPE_CHECKING:
    from tests.cli.conftest import FactsBus, ReadUntil, StartVerb, Verb
    from tests.kubernetes.cluster import Cluster

HOST = Path(__file__).parents[2] / "data" / "hosts" / "linux-talos1.6-kvm64" / "root"
ID = f"{PREFIX}system-os_release.ID"

Detect = Callable[[str], Awaitable[None]]
Label = Callable[..., Awaitable[None]]


class Machine:
    """A recorded machine that changes without a word of the kernel."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "host"
        shutil.copytree(HOST, self.root, symlinks=True)
        self.become("talos")

    def become(self, os_id: str) -> None:
        (self.root / "usr" / "lib" / "os-release").write_text(f'ID="{os_id}"\n')


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def admin(facts_bus: "FactsBus") -> tuple[str, ...]:
    """The options of a user who may do what a labeler does."""
    return ("--server", facts_bus.server.url, "--user", "admin", *facts_bus.options[-2:])


@pytest.fixture
def operator(facts_bus: "FactsBus") -> tuple[str, ...]:
    """The options of a user who may ask detectors."""
    return ("--server", facts_bus.server.url, "--user", "operator", *facts_bus.options[-2:])


@pytest.fixture
def detect(facts_bus: "FactsBus", machine: Machine, start_verb: "StartVerb") -> Detect:
    """Start the detector of a node, and wait for its first facts."""

    async def start(node: str) -> None:
        stored = facts_bus.store.names.stored_subject(Bucket.NODES, snapshot_key(node, DETECTOR))
        subscription = await facts_bus.store.connection.client.subscribe(stored)
        its = ("--server", facts_bus.server.url, "--user", f"detector-{node}", *facts_bus.options[-2:])
        start_verb("detector", *its, "--node-name", node, "--host-root", str(machine.root))
        await subscription.next_msg(timeout=30)

    return start


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    folder = tmp_path / "rules"
    folder.mkdir()
    term = {"feature": "system.osrelease", "matchExpressions": {"ID": {"op": "Exists"}}}
    rule = {"name": "r", "labels": {"x.org/os": "@system.osrelease.ID"}, "matchFeatures": [term]}
    (folder / "rules.json").write_text(json.dumps([rule]))
    return folder


@pytest.fixture
def label(
    facts_bus: "FactsBus", admin: tuple[str, ...], rules: Path, start_verb: "StartVerb", read_until: "ReadUntil"
) -> Label:
    """Let a labeler label a node, and end it."""

    async def run(node: str, *options: str) -> None:
        stored = facts_bus.store.names.stored_subject(Bucket.LABELS, labels_key(node))
        subscription = await facts_bus.store.connection.client.subscribe(stored)
        process = start_verb("labeler", *admin, "--rules", str(rules), *options)
        read_until(process, "labeler.ready")
        await subscription.next_msg(timeout=30)
        process.terminate()
        assert process.wait(30) == 0

    return run


def verify(verb: "Verb", *arguments: str, code: int) -> Any:
    return json.loads(verb("labels", "verify", "-o", "json", *arguments, code=code).stdout)


async def test_labels_that_fresh_facts_give_too_are_true_and_the_first_others_are_told(
    machine: Machine, detect: Detect, label: Label, rules: Path, operator: tuple[str, ...], verb: "Verb"
) -> None:
    await detect("n1")
    await label("n1")
    options = (*operator, "--rules", str(rules))
    done = verb("labels", "verify", *options)
    assert (done.stdout, done.stderr) == ("", "1 nodes: 1 as fresh facts have it, 0 not, 0 not known\n")
    machine.become("other")
    found = verify(verb, *options, code=1)
    assert found["nodes"] == ["n1"]
    by_key = {(one["what"], one["key"]): one for one in found["differences"]}
    assert set(by_key) == {("facts", "system.osrelease"), ("label", ID), ("label", "x.org/os")}
    assert (by_key["label", ID]["there"], by_key["label", ID]["fresh"]) == ("talos", "other")
    assert by_key["label", "x.org/os"]["why"] == "rule rules.json/r"
    # The scan was published, so the facts are right now and the labels are not.
    found = verify(verb, *options, code=1)
    assert {one["what"] for one in found["differences"]} == {"label"}


async def test_without_the_rules_only_their_labels_are_not_judged(
    machine: Machine, detect: Detect, label: Label, operator: tuple[str, ...], verb: "Verb"
) -> None:
    await detect("n1")
    await label("n1")
    assert verify(verb, *operator, code=0)["unknown"] == []
    machine.become("other")
    assert {one["key"] for one in verify(verb, *operator, code=1)["differences"]} == {"system.osrelease", ID}


async def test_a_detector_that_does_not_answer_is_unknown_and_hides_no_difference(
    facts_bus: "FactsBus", detect: Detect, label: Label, rules: Path, operator: tuple[str, ...], verb: "Verb"
) -> None:
    await detect("n1")
    await label("n1")
    options = (*operator, "--rules", str(rules), "--timeout", "3")
    await facts_bus.publisher("n2").publish(Snapshot({}))
    found = verify(verb, *options, "--sample", "2", code=3)
    assert found["unknown"] == [{"node": "n2", "reason": "its detector did not look afresh within 3 s"}]
    assert verify(verb, *options, "n1", code=0)["nodes"] == ["n1"]


async def test_a_user_who_may_only_read_is_told_at_once(
    facts_bus: "FactsBus", detect: Detect, rules: Path, verb: "Verb"
) -> None:
    await detect("n1")
    done = verb("labels", "verify", "--rules", str(rules), *facts_bus.options, code=2)
    assert "this user may not publish to nodeworthy.local.rescan.n1" in done.stderr


async def test_the_nodes_of_a_cluster_are_what_is_compared(
    cluster: "Cluster",
    machine: Machine,
    detect: Detect,
    label: Label,
    rules: Path,
    operator: tuple[str, ...],
    verb: "Verb",
) -> None:
    cluster.create_node("n1")
    kubeconfig = ("--kubeconfig", str(cluster.kubeconfig))
    await detect("n1")
    await label("n1", *kubeconfig)
    options = (*operator, "--rules", str(rules), *kubeconfig)
    assert verify(verb, *options, code=0)["differences"] == []
    person = cluster.user("admin", user_agent="kubectl-label/v1")
    person.must("PATCH", "/api/v1/nodes/n1", {"metadata": {"labels": {"x.org/os": "mine", ID: None}}}, content=MERGE)
    found = {one["key"]: one for one in verify(verb, *options, code=1)["differences"]}
    assert set(found) == {"x.org/os", ID}
    assert (found["x.org/os"]["there"], found["x.org/os"]["fresh"]) == ("mine", "talos")
    assert found["x.org/os"]["why"] == "set by kubectl-label; rule rules.json/r gives another value"
    assert found[ID]["fresh"] == "talos"
    machine.become("other")
    assert {one["key"] for one in verify(verb, *options, code=1)["differences"]} == {*found, "system.osrelease"}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("n1", "--sample", "1"), "nodes are named and to be chosen"),
        (("nowhere",), "no node is named 'nowhere'"),
        (("--sample", "0"), "--sample"),
    ],
)
async def test_what_cannot_be_asked_is_told(
    operator: tuple[str, ...], verb: "Verb", arguments: tuple[str, ...], text: str
) -> None:
    assert text in verb("labels", "verify", *arguments, *operator, code=2).stderr


def test_a_cluster_alone_cannot_be_asked_for_a_scan(cluster: "Cluster", verb: "Verb") -> None:
    done = verb("labels", "verify", "--kubeconfig", str(cluster.kubeconfig), code=2)
    assert "no bus is named" in done.stderr
