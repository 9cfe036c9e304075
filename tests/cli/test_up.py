"""``nodeworthy up`` end to end: the installed program, a real bus, four services, the stock client."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest

from nodeworthy_cli.up import command_of

if TYPE_CHECKING:
    from tests.cli.conftest import Nodeworthy
    from tests.conftest import NatsCli, Oras

PROGRAM = Path(sys.executable).parent / "nodeworthy"
SECONDS = 20
"""Until something is given up; the machine may be busy."""

RULE = """
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata: {name: rack}
spec:
  rules:
  - name: rack
    labels: {"example.com/rack": "yes"}
    matchFeatures:
    - feature: local.feature
      matchExpressions: {rack: {op: Exists}}
"""

SPEC = """
version: v1alpha1
compatibilities:
- rules:
  - name: rack
    matchFeatures:
    - feature: local.feature
      matchExpressions: {rack: {op: Exists}}
"""


class Up:
    """The running program, its data folder and where its bus is."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.log = folder / "up.log"
        environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder / "data"), "NODE_NAME": "here"}
        with self.log.open("ab") as log:
            given = ("--port", "0", "--features-d", str(folder / "features.d"), "--rules", str(folder / "rules"))
            command = [str(PROGRAM), "up", *given]
            self.process = subprocess.Popen([*command, *options], stdout=log, stderr=log, env=environment)
        self.address = until(self._announced)

    def _announced(self) -> str | None:
        assert self.process.poll() is None, self.log.read_text()
        lines = [line for line in self.log.read_text().splitlines() if " is up: " in line]
        return lines[-1].partition(" is up: ")[2].partition(",")[0] if lines else None

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(SECONDS)


def until(ask: Callable[[], str | None]) -> str:
    """What a question is answered at last; it fails when nobody answers."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if (answer := ask()) is not None:
            return answer
        time.sleep(0.02)
    raise AssertionError("nothing came")


@pytest.mark.parametrize(
    ("started", "found", "typed"),
    [
        ("/x/bin/nodeworthy", "/x/bin/nodeworthy", "nodeworthy"),
        ("/x/bin/nodeworthy", None, "/x/bin/nodeworthy"),
        ("/x/bin/nodeworthy", "/usr/bin/nodeworthy", "/x/bin/nodeworthy"),
        ("/a b/nodeworthy", None, "'/a b/nodeworthy'"),
        ("/x/cli/__main__.py", None, "nodeworthy"),
    ],
)
def test_the_announcement_names_the_program_so_that_another_terminal_finds_it(
    started: str, found: str | None, typed: str
) -> None:
    assert command_of(started, found) == typed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("features.d", "rules"):
        (tmp_path / name).mkdir()
    (tmp_path / "rules" / "rack.yaml").write_text(RULE)
    (tmp_path / "spec.yaml").write_text(SPEC)
    return tmp_path


@pytest.fixture
def up(folder: Path) -> Iterator[Up]:
    running = Up(folder, "--http-port", "0")
    yield running
    if running.process.poll() is None:
        running.process.kill()
        running.process.wait(SECONDS)


def ask(nodeworthy: "Nodeworthy", up: Up, *arguments: str, code: int | None = None) -> str:
    return nodeworthy(*arguments, "--server", up.address, code=code).stdout


def test_a_dropped_file_is_an_event_a_label_and_another_answer(
    up: Up,
    folder: Path,
    nodeworthy: "Nodeworthy",
    referrers_registry: str,
    oras: "Oras",
    layout: Callable[..., str],
    nats_cli: "NatsCli",
) -> None:
    layout("app", os.uname().machine)
    image = f"{referrers_registry}/app:1"
    oras("cp", "--from-oci-layout", "app:latest", "--to-plain-http", image)
    nodeworthy("spec", "attach", image, "spec.yaml", "--plain-http", code=0)
    image = image.replace("127.0.0.1", "localhost")  # asked over HTTP without being told to
    assert "example.com/rack" not in ask(nodeworthy, up, "labels", code=0)
    assert "incompatible" in ask(nodeworthy, up, "check", image, "--on", "here", code=1)
    watch = subprocess.Popen(
        [PROGRAM, "watch", "here", "--set", "local.feature", "--count", "1", "-o", "json", "--server", up.address],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert watch.stderr
    assert b"watching" in watch.stderr.readline()
    (folder / "features.d" / "rack").write_text("rack=r1\n")
    out, _ = watch.communicate(timeout=SECONDS)
    event = json.loads(out)
    assert event["set"] == "local.feature"

    until(lambda: "labelled" if "example.com/rack" in ask(nodeworthy, up, "labels", code=0) else None)
    assert "compatible" in ask(nodeworthy, up, "check", image, "--on", "all", code=0)
    question = json.dumps({"image": image})
    plain = nats_cli("-s", up.address, "req", "--raw", "nodeworthy.local.validate", question).stdout
    assert '"compatible"' in plain
    services = nats_cli("-s", up.address, "micro", "ls").stdout
    assert "nodeworthy-validator" in services
    assert "nodeworthy-resolver" in services

    (folder / "features.d" / "rack").unlink()
    until(lambda: "gone" if "example.com/rack" not in ask(nodeworthy, up, "labels", code=0) else None)
    ask(nodeworthy, up, "check", image, "--on", "here", code=1)


def test_a_rule_that_matches_nothing_is_shown_with_its_status(up: Up, nodeworthy: "Nodeworthy") -> None:
    shown = until(lambda: ask(nodeworthy, up, "rules", "status", code=0) or None)
    assert shown.splitlines()[1].split()[:3] == ["rack/rack", "0", "0"]
    assert "no node matches it" in shown


def test_whoever_uses_the_machine_may_have_it_look_afresh_and_a_program_without_a_name_may_not(
    up: Up, folder: Path, nodeworthy: "Nodeworthy"
) -> None:
    context = json.loads((folder / "data" / "nodeworthy" / "local" / "context.json").read_text())
    who = ("--server", up.address, "--user", context["user"], "--password", context["password"])
    done = nodeworthy("labels", "verify", "--rules", str(folder / "rules"), *who)
    assert "1 nodes:" in done.stderr
    assert done.returncode in (0, 1, 3)  # of a real machine something may change meanwhile
    refused = nodeworthy("labels", "verify", "--server", up.address, code=2)
    assert "this user may not publish to nodeworthy.local.rescan.here" in refused.stderr


def test_a_second_start_finds_its_state_again(up: Up, folder: Path, nodeworthy: "Nodeworthy") -> None:
    before = ask(nodeworthy, up, "labels", "-o", "json", code=0)
    assert up.stop() == 0
    (folder / "up.log").unlink()
    again = Up(folder)
    assert ask(nodeworthy, again, "labels", "-o", "json", code=0) == before
    assert again.stop() == 0
    assert "Traceback" not in (folder / "up.log").read_text()


def test_http_answers_beside_the_bus(up: Up, folder: Path) -> None:
    port = until(lambda: _http_port(folder / "up.log"))
    base = f"http://127.0.0.1:{port}"
    for path in ("/healthz", "/readyz", "/metrics", "/openapi.json"):
        with urlopen(base + path, timeout=SECONDS) as answer:
            assert answer.status == 200
            assert answer.read()
    assert up.process.poll() is None


def _http_port(log: Path) -> str | None:
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    ports = [str(line["port"]) for line in lines if line["event"] == "validator.http_listening"]
    return ports[0] if ports else None


def test_two_of_one_data_folder_are_one_too_many(up: Up, folder: Path, nodeworthy: "Nodeworthy") -> None:
    data = folder / "data" / "nodeworthy" / "local"
    done = nodeworthy("up", "--port", "0", "--data", data, code=2)
    assert str(data) in done.stderr
    assert up.process.poll() is None


def test_a_port_in_use_is_one_clear_line(up: Up, tmp_path: Path, nodeworthy: "Nodeworthy") -> None:
    port = up.address.rpartition(":")[2]
    done = nodeworthy("up", "--port", port, "--data", tmp_path / "other", code=2)
    assert port in done.stderr


def test_a_dropped_program_and_a_dropped_rule_are_labels_and_the_ledger_shows_the_nodes_health(
    folder: Path, nodeworthy: "Nodeworthy", monkeypatch: pytest.MonkeyPatch
) -> None:
    programs, rules = folder / "sources.d", folder / "custom.d"
    programs.mkdir()
    rules.mkdir()
    configuration = {"sources": {"programs": {"folder": str(programs)}, "custom": {"folder": str(rules)}}}
    (folder / "detector.yaml").write_text(json.dumps(configuration))
    monkeypatch.setenv("NODEWORTHY_CONFIG", str(folder / "detector.yaml"))
    up = Up(folder)

    def wait_for(*texts: str) -> None:
        until(lambda: "there" if all(text in ask(nodeworthy, up, "labels", code=0) for text in texts) else None)

    try:
        wait_for("kernel-version.full")
        program = folder / "site"
        program.write_text("#!/bin/sh\necho example.com/site=north\necho 'no name at all'\n")
        program.chmod(0o755)
        program.rename(programs / "site")
        (rules / "own.yaml").write_text(
            "- name: own\n  labels: {example.com/own: 'yes'}\n"
            "  matchFeatures: [{feature: kernel.version, matchExpressions: {major: Exists}}]\n"
            "- name: shorter\n  labels: {example.com/short: 'yes'}\n"
            "  matchFeatures: [{feature: kernel.version, matchExpressions: [major]}]\n"
        )
        wait_for("example.com/site", "example.com/short")
        assert "example.com/own" not in ask(nodeworthy, up, "labels", code=0)
        ledger = json.loads(ask(nodeworthy, up, "nodes", "-o", "json", code=0))
        assert "no name at all" in json.dumps(ledger)
        assert "fault" in ask(nodeworthy, up, "nodes", "-o", "wide", code=0)
        (programs / "site").unlink()
        until(lambda: "gone" if "example.com/site" not in ask(nodeworthy, up, "labels", code=0) else None)
    finally:
        assert up.stop() == 0
