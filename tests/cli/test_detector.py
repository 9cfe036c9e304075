"""``nodeworthy detector`` as a process: what it refuses, and how it ends."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nodeworthy.bus.keys import DETECTOR, snapshot_key
from nodeworthy.bus.names import Bucket
from nodeworthy_cli.bus_options import BusOptions
from nodeworthy_cli.detector import make_service, make_settings
from nodeworthy_cli.embedded.contexts import Context

if TYPE_CHECKING:
    from tests.cli.conftest import FactsBus, ReadUntil, StartVerb, Verb

END_SECONDS = 30


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_publishes_and_ends_cleanly_when_told_to(
    facts_bus: "FactsBus", start_verb: "StartVerb", read_until: "ReadUntil", tmp_path: Path, number: signal.Signals
) -> None:
    stored = facts_bus.store.names.stored_subject(Bucket.NODES, snapshot_key("node-1", DETECTOR))
    subscription = await facts_bus.store.connection.client.subscribe(stored)
    options = ("--user", "admin", *facts_bus.options[-2:], "--features-d", str(tmp_path / "f"), "--http-port", "0")
    process = start_verb("detector", "--server", facts_bus.server.url, *options, NODE_NAME="node-1")
    assert json.loads(read_until(process, "detector.http_listening"))["port"] > 0
    await subscription.next_msg(timeout=END_SECONDS)
    process.send_signal(number)
    assert process.wait(END_SECONDS) == 0


async def test_a_bus_that_refuses_the_user_ends_it_with_exit_code_2(facts_bus: "FactsBus", verb: "Verb") -> None:
    done = verb("detector", *facts_bus.options[:-1], "wrong", code=2)
    assert "refused this user" in done.stderr


async def test_a_user_that_may_only_read_cannot_be_a_detector(facts_bus: "FactsBus", verb: "Verb") -> None:
    done = verb("detector", *facts_bus.options, code=2)
    assert "may not subscribe" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--scan-seconds", "0"),
        ("--http-port", "70000"),
        ("--cluster", "Not A Cluster"),
        ("--node-name", "x" * 254),
        ("--host-root", "nowhere"),
        ("--config", "nowhere.yaml"),
        ("--credentials", "nowhere.creds"),
        ("--password", "x"),
        ("--server-ca", "nowhere.pem"),
        ("--server-key", "nowhere.pem"),
    ],
)
def test_what_cannot_be_used_is_an_error_and_exit_code_2(verb: "Verb", arguments: tuple[str, ...]) -> None:
    done = verb("detector", "--server", "nats://127.0.0.1:1", *arguments, code=2)
    assert "error: " in done.stderr


def test_a_configuration_that_is_wrong_is_told_with_its_file_line_and_path(verb: "Verb", tmp_path: Path) -> None:
    (tmp_path / "detector.yaml").write_text("core:\n  featureSources: [all, -usbb]\n")
    done = verb("detector", "--server", "nats://127.0.0.1:1", "--config", "detector.yaml", code=2)
    assert f"{tmp_path}/detector.yaml:2: core.featureSources[1]: there is no source '-usbb'" in done.stderr
    assert "did you mean usb?" in done.stderr


async def test_beside_the_embedded_bus_it_speaks_as_the_user_of_its_context(
    facts_bus: "FactsBus", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NODE_NAME", "node-1")
    monkeypatch.setenv("NODEWORTHY_FEATURES_D", str(tmp_path / "features.d"))
    context = Context(facts_bus.server.url, "admin", facts_bus.options[-1], "_INBOX.admin")
    stop, ready = asyncio.Event(), asyncio.Event()
    service = make_service(context, "local")
    running = asyncio.create_task(service.main(stop, ready))
    async with asyncio.timeout(END_SECONDS):
        await ready.wait()
        assert await facts_bus.store.get(Bucket.NODES, snapshot_key("node-1", DETECTOR))
        stop.set()
        await running
    assert service.name == "detector"


def test_options_stand_above_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODE_NAME", "by-variable")
    monkeypatch.setenv("NODEWORTHY_HTTP_PORT", "8080")
    bus = BusOptions(server="nats://127.0.0.1:4222", cluster="blue", user="detector-a")
    settings = make_settings(bus, {"node_name": "by-option", "host_root": Path("/host"), "scan_seconds": None})
    assert (settings.node, settings.http_port, settings.host_root) == ("by-option", 8080, Path("/host"))
    assert (settings.cluster, settings.bus.user, settings.bus.inbox_prefix) == (
        "blue",
        "detector-a",
        "_INBOX.detector-a",
    )
    assert os.environ["NODE_NAME"] == "by-variable"
