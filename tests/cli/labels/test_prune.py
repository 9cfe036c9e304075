"""``nodeworthy labels prune`` on a real API server."""

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.cli.conftest import verb_command, verb_environment
from tests.cli.labels.nodes import PREFIX, NfdMaster, read
from tests.kubernetes.api import APPLY, MERGE
from tests.labeler.cluster.objects import Objects

from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy_labeler.cluster.health_conditions import CONDITION

if TYPE_CHECKING:
    from tests.cli.conftest import FactsBus, ReadUntil, StartVerb, Verb
    from tests.kubernetes.cluster import Cluster


def prune(verb: "Verb", cluster: "Cluster", *arguments: str) -> Any:
    options = ("-o", "json", "--kubeconfig", str(cluster.kubeconfig))
    return json.loads(verb("labels", "prune", *arguments, *options).stdout)


def conditions(node: Any) -> list[str]:
    return [one["type"] for one in node["status"]["conditions"]]


def test_everything_of_ours_goes_and_everything_else_stays(cluster: "Cluster", nfd: NfdMaster, verb: "Verb") -> None:
    cluster.create_node("n1", {"team.org/mine": "1"})
    cluster.create_node("n2")
    nfd.label("n1", {f"{PREFIX}a": "1", "x.org/shared": "1"}, {f"{PREFIX}note": "b"})
    nfd.give_capacity("n1", f"{PREFIX}slots", "4")
    nfd.taint("n1")
    verb("labels", "adopt", "--kubeconfig", str(cluster.kubeconfig))
    other = cluster.user("admin", user_agent="other/v1")
    shared = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"x.org/shared": "1"}}}
    other.must("PATCH", "/api/v1/nodes/n1?fieldManager=other", shared, content=APPLY)
    other.must("PATCH", "/api/v1/nodes/n1", {"metadata": {"annotations": {"team.org/note": "1"}}}, content=MERGE)
    mark = cluster.mark_requests()
    looked = prune(verb, cluster, "--dry-run")
    assert not cluster.read_writes(mark)
    assert prune(verb, cluster, "--yes") == looked
    assert looked == [
        {
            "node": "n1",
            "removed": {
                "label": [f"{PREFIX}a", "x.org/shared"],
                "annotation": [f"{PREFIX}note"],
                "extended resource": [f"{PREFIX}slots"],
                "taint": [f"{PREFIX}gpu:NoSchedule"],
            },
            "notes": ["nodeworthy.io/capacity", "nodeworthy.io/taints"],
        }
    ]
    after = read(cluster, "n1")
    assert {key for key in after["metadata"]["labels"] if "kubernetes.io/" not in key} == {
        "team.org/mine",
        "x.org/shared",
    }
    assert not [key for key in after["metadata"]["labels"] if key.startswith(PREFIX)]
    assert after["metadata"]["annotations"] == {"team.org/note": "1"}
    assert f"{PREFIX}slots" not in after["status"]["capacity"]
    assert not after["spec"].get("taints")
    assert "nodeworthy" not in {
        entry["manager"] for entry in after["metadata"]["managedFields"] if entry["operation"] == "Apply"
    }
    assert prune(verb, cluster, "--yes") == []


async def test_it_refuses_while_a_labeler_runs_and_undoes_its_work_after_it(
    cluster: "Cluster",
    objects: Objects,
    facts_bus: "FactsBus",
    verb: "Verb",
    start_verb: "StartVerb",
    read_until: "ReadUntil",
) -> None:
    cluster.create_node("n1", {"team.org/mine": "1"})
    before = read(cluster, "n1")["metadata"]["labels"]
    objects.rule("r1", {"x.org/a": "1"}, annotations={f"{PREFIX}note": "b"}, resources={f"{PREFIX}slots": "4"})
    await facts_bus.publisher("n1").publish(Snapshot({"lab.a": FeatureSet(attributes={"x": "1"})}, {}, frozenset()))
    options = ("--kubeconfig", str(cluster.kubeconfig))
    admin = ("--server", facts_bus.server.url, "--user", "admin", *facts_bus.options[-2:])
    process = start_verb("labeler", "--target", "kubernetes", "--health-condition", *options, *admin)
    read_until(process, "labeler.ready")
    cluster.admin.wait_for("/api/v1/nodes", "n1", lambda node: f"{PREFIX}slots" in node["status"]["capacity"])
    cluster.admin.wait_for("/api/v1/nodes", "n1", lambda node: CONDITION in conditions(node), seconds=40)
    done = verb("labels", "prune", "--yes", *options, code=2)
    assert "a labeler runs, and would write it again: its Lease default/nodeworthy-labeler-" in done.stderr
    process.terminate()
    assert process.wait(30) == 0
    facts_bus.server.stop()  # nothing but the API server is needed
    done = verb("labels", "prune", "--yes", *options)
    assert done.stdout.splitlines()[1].split() == ["n1", "1", "1", "1", "0", "1", "2"]
    after = read(cluster, "n1")
    assert after["metadata"]["labels"] == before
    assert conditions(after) == ["Ready"]
    assert "annotations" not in after["metadata"]
    assert f"{PREFIX}slots" not in after["status"]["capacity"]


def test_a_person_is_asked_and_a_no_removes_nothing(cluster: "Cluster", nfd: NfdMaster, tmp_path: Path) -> None:
    cluster.create_node("n1")
    nfd.label("n1", {"x.org/a": "1"})
    person, terminal = os.openpty()
    os.write(person, b"n\n")
    done = subprocess.run(
        verb_command("labels", "prune", "--kubeconfig", str(cluster.kubeconfig)),
        stdin=terminal,
        capture_output=True,
        text=True,
        env=verb_environment(tmp_path),
        timeout=60,
        check=False,
    )
    os.close(person)
    os.close(terminal)
    assert done.returncode == 2
    assert "Remove everything of nodeworthy from every Node of the cluster?" in done.stderr
    assert "it was not confirmed" in done.stderr
    assert read(cluster, "n1")["metadata"]["labels"]["x.org/a"] == "1"


def test_without_a_terminal_it_wants_a_yes(cluster: "Cluster", verb: "Verb") -> None:
    done = verb("labels", "prune", "--kubeconfig", str(cluster.kubeconfig), code=2)
    assert "nobody can be asked here" in done.stderr
