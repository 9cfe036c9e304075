"""The bus as it is configured for a cluster, and the four services as the manifests start them, as real processes."""

import base64
import contextlib
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.cli.conftest import load
from tests.conftest import NatsServer
from tests.deploy.conftest import of_kind, templates
from tests.kubernetes.api import Object
from tests.kubernetes.processes import pick_port

from nodeworthy.bus import permissions
from nodeworthy.bus.names import Names

ROOT = Path(__file__).parents[2]
NODEWORTHY = Path(sys.executable).with_name("nodeworthy")
NODE = "node-1.example.com"
SECONDS = 60
"""Four Pythons start at once, which takes 2 s on two idle cores; the rest is for a machine that is busy."""
POLL_SECONDS = 0.05
DATA, HEALTH = '"/data"', "0.0.0.0:8222"
"""What the configuration says of a pod, and a test says of this machine."""


def environment_of(template: Object, manifests: list[Object]) -> dict[str, str]:
    """The variables that a container of this template has, those of Secrets and of its node included."""
    secrets = {value["metadata"]["name"]: value["data"] for value in of_kind(manifests, "Secret")}
    (container,) = template["spec"]["containers"]
    found = {"PATH": os.defpath}
    for variable in container["env"]:
        source = variable.get("valueFrom", {})
        if "secretKeyRef" in source:
            data = secrets[source["secretKeyRef"]["name"]][source["secretKeyRef"]["key"]]
            found[variable["name"]] = base64.b64decode(data).decode()
        elif "fieldRef" in source:
            assert source["fieldRef"]["fieldPath"] == "spec.nodeName"
            found[variable["name"]] = NODE
        else:
            found[variable["name"]] = variable["value"]
    return found


class ConfiguredServer(NatsServer):
    """nats-server with the configuration and the variables of its pod."""

    def __init__(self, folder: Path, configuration: str, environment: Mapping[str, str]) -> None:
        super().__init__(folder, {})
        self.environment = dict(environment)
        self.health = f"127.0.0.1:{pick_port()}"
        for placeholder in (DATA, HEALTH):
            assert configuration.count(placeholder) == 1
        text = configuration.replace(DATA, f'"{folder / "store"}"').replace(HEALTH, self.health)
        (folder / "nats-server.conf").write_text(text)

    @property
    def command(self) -> list[str | Path]:
        return [Path(sys.executable).with_name("nats-server"), "--config", self.folder / "nats-server.conf"]

    def start(self) -> None:
        place: list[str | Path] = ["--addr", "127.0.0.1", "--port", "-1", "--ports_file_dir", self.folder]
        with (self.folder / "stderr").open("wb") as log:
            self._process = subprocess.Popen([*self.command, *place], env=self.environment, stdout=log, stderr=log)
        self.port = self._read_port(self._process)


@pytest.fixture
def server(manifests: list[Object], tmp_path: Path) -> Iterator[ConfiguredServer]:
    (text,) = (value["data"]["nats-server.conf"] for value in of_kind(manifests, "ConfigMap") if "nats" in str(value))
    made = ConfiguredServer(tmp_path, text, environment_of(templates(manifests)["nats"], manifests))
    yield made
    made.kill()


@pytest.fixture
def addresses(server: ConfiguredServer, manifests: list[Object], tmp_path: Path) -> Iterator[dict[str, str]]:
    """Where the services' HTTP is; they run as their pods do, but on loopback and with the bucket as the target."""
    server.start()
    found: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        for part in ("labeler", "validator", "resolver", "detector"):
            template = templates(manifests)[part]
            port = pick_port()
            here = {"NODEWORTHY_SERVER": server.url, "NODEWORTHY_HTTP_HOST": "127.0.0.1", "HOME": str(tmp_path)}
            here |= {"NODEWORTHY_HTTP_PORT": str(port), "NODEWORTHY_HOST_ROOT": "/", "NODEWORTHY_TARGET": "bucket"}
            found[part] = f"http://127.0.0.1:{port}"
            stack.enter_context(run_service(template, environment_of(template, manifests) | here, tmp_path / part))
        yield found


@contextlib.contextmanager
def run_service(template: Object, environment: Mapping[str, str], log: Path) -> Iterator[None]:
    (container,) = template["spec"]["containers"]
    command = [NODEWORTHY, *container["args"]]
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=dict(environment), stdout=output, stderr=output)
    try:
        yield
    finally:
        process.terminate()
        process.wait(SECONDS)


def ask(url: str) -> int:
    """The status of an answer; 0 if there is none."""
    try:
        with urllib.request.urlopen(url, timeout=SECONDS) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def wait_for_probe(url: str, log: str = "") -> None:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if ask(url) == 200:
            return
        time.sleep(POLL_SECONDS)
    raise TimeoutError(f"{url} does not answer with 200\n{log}")


def probes(template: Object) -> list[str]:
    (container,) = template["spec"]["containers"]
    return [container[name]["httpGet"]["path"] for name in container if name.endswith("Probe")]


def test_services_that_are_started_as_in_the_manifests_answer_their_probes_and_a_reader(
    addresses: dict[str, str], server: ConfiguredServer, manifests: list[Object], tmp_path: Path
) -> None:
    for part, address in addresses.items():
        for path in probes(templates(manifests)[part]):
            wait_for_probe(address + path, (tmp_path / part).read_text())
    secret = environment_of(templates(manifests)["nats"], manifests)["PASSWORD_READER"]
    done = list_nodes(server, "reader", secret, tmp_path)
    assert done.returncode == 0, done.stderr
    assert NODE in done.stdout


def test_the_server_answers_the_kubelets_questions(server: ConfiguredServer, manifests: list[Object]) -> None:
    server.start()
    for path in probes(templates(manifests)["nats"]):
        wait_for_probe(f"http://{server.health}{path}")


def test_a_server_without_a_password_does_not_start(server: ConfiguredServer) -> None:
    del server.environment["PASSWORD_LABELER"]
    done = subprocess.run([*server.command, "-t"], env=server.environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "PASSWORD_LABELER" in done.stderr


@pytest.mark.parametrize(("user", "password"), [("detectors", "guessed"), ("", ""), ("admin", "x")])
def test_nobody_comes_in_without_the_right_password(
    user: str, password: str, server: ConfiguredServer, tmp_path: Path
) -> None:
    server.start()
    done = list_nodes(server, user, password, tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Authorization Violation" in done.stderr


def list_nodes(server: ConfiguredServer, user: str, password: str, home: Path) -> subprocess.CompletedProcess[str]:
    """What a person with this user of the bus sees."""
    person = {"NODEWORTHY_SERVER": server.url, "NODEWORTHY_USER": user, "NODEWORTHY_PASSWORD": password}
    return subprocess.run(
        [NODEWORTHY, "nodes"], env=person | {"HOME": str(home)}, capture_output=True, text=True, check=False
    )


def test_the_one_user_of_all_detectors_may_do_what_each_may_and_no_part_of_a_program() -> None:
    names = Names("local")
    everybody = load(ROOT / "scripts" / "write_manifests.py").detectors(names)
    one = permissions.detector(names, NODE)
    assert all(any(covers(pattern, subject) for pattern in everybody.publish) for subject in one.publish)
    heard = [subject for subject in one.subscribe if not subject.startswith(one.inbox_prefix)]
    assert all(any(covers(pattern, subject) for pattern in everybody.subscribe) for subject in heard)
    program = permissions.operator_program(names, NODE, "probe")
    assert not any(covers(pattern, program.publish[0]) for pattern in everybody.publish)
    assert everybody.account is one.account


def covers(pattern: str, subject: str) -> bool:
    """Whether a subject with wildcards matches another one, level by level."""
    wanted, given = pattern.split("."), subject.split(".")
    if wanted[-1] == ">":
        return len(given) >= len(wanted) and covers(".".join(wanted[:-1]), ".".join(given[: len(wanted) - 1]))
    return len(wanted) == len(given) and all(a in {"*", b} for a, b in zip(wanted, given, strict=True))
