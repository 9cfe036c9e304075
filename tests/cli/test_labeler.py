"""The verb ``labeler`` as a process: it labels, tells errors in one line each, and ends when it is told to."""

import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.errors import NodeworthyError
from nodeworthy_cli.bus_options import BusOptions
from nodeworthy_cli.labeler import make_settings
from nodeworthy_labeler.settings import StartupTaint

if TYPE_CHECKING:
    from tests.cli.conftest import FactsBus, ReadUntil, StartVerb, Verb


def admin_options(bus: "FactsBus") -> list[str]:
    return ["admin" if option == "reader" else option for option in bus.options]


async def test_a_labeler_is_ready_and_ends_cleanly(
    facts_bus: "FactsBus", start_verb: "StartVerb", read_until: "ReadUntil", tmp_path: Path
) -> None:
    (tmp_path / "rules").mkdir()
    process = start_verb("labeler", *admin_options(facts_bus), "--rules", "rules")
    read_until(process, "labeler.ready")
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0


async def test_a_folder_that_is_not_there_is_told_at_once(facts_bus: "FactsBus", verb: "Verb") -> None:
    done = verb("labeler", *admin_options(facts_bus), "--rules", "nowhere", code=2)
    assert "the rules in nowhere cannot be read" in done.stderr


async def test_a_user_who_may_not_label_is_told(facts_bus: "FactsBus", verb: "Verb") -> None:
    done = verb("labeler", *facts_bus.options, code=2)
    assert "this user may not publish to $JS.API.STREAM.INFO" in done.stderr


def test_options_win_over_variables() -> None:
    bus = BusOptions(server="nats://127.0.0.1:1", cluster="c1")
    settings = make_settings(bus, {"rules": Path("here"), "replicas": 3, "http_port": None, "http_host": None})
    assert (settings.cluster, settings.rules, settings.replicas, settings.http_port) == ("c1", Path("here"), 3, None)
    assert isinstance(settings.bus, ConnectionSettings)
    assert settings.bus.name == "nodeworthy labeler"


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    path = tmp_path / "config"
    cluster = {"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}
    contexts = [{"name": "c", "context": {"cluster": "c", "user": "", "namespace": "team"}}]
    path.write_text(json.dumps({"clusters": [cluster], "contexts": contexts, "current-context": "c"}))
    return path


def test_the_taint_of_new_nodes_and_the_condition_are_options(kubeconfig: Path) -> None:
    bus = BusOptions(server="nats://127.0.0.1:1")
    found = make_settings(
        bus, {"kubeconfig": kubeconfig, "startup_taint": "x.org/new", "health_condition": True}
    ).kubernetes
    assert found is not None
    assert (found.startup_taint, found.has_health_condition) == (StartupTaint("x.org/new"), True)


def test_a_kubeconfig_makes_nodes_the_target_unless_the_bus_is_asked_for(kubeconfig: Path) -> None:
    bus = BusOptions(server="nats://127.0.0.1:1")
    given: dict[str, str | float | Path | None] = {"kubeconfig": kubeconfig, "node_feature_namespaces": "a,b"}
    cluster = make_settings(bus, given).kubernetes
    assert cluster
    assert (str(cluster.access.server), cluster.access.namespace) == ("https://127.0.0.1:1", "team")
    assert cluster.node_feature_namespaces == {"a", "b"}
    assert make_settings(bus, {**given, "target": "bucket"}).kubernetes is None
    with pytest.raises(NodeworthyError, match="elsewhere"):
        make_settings(bus, {"kubeconfig": kubeconfig, "context": "elsewhere"})


async def test_a_target_that_is_none_and_a_kubeconfig_that_is_not_there_are_told(verb: "Verb") -> None:
    assert "'etcd' is not one of 'auto', 'kubernetes', 'bucket'" in verb("labeler", "--target", "etcd", code=2).stderr
    assert "nowhere" in verb("labeler", "--kubeconfig", "nowhere", "--server", "nats://127.0.0.1:1", code=2).stderr
