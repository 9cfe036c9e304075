"""The registries that other tests stand on do what those tests take for granted."""

import http.client
import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from tests.conftest import NatsCli, Oras, SecuredRegistry, StartNats

OPEN = ("referrers_registry", "distribution_registry")
SECURED = ("distribution_basic_registry", "distribution_token_registry", "distribution_public_registry")
ARTIFACT_TYPE = "application/vnd.example.note"


class Answer(NamedTuple):
    """What a registry answered."""

    status: int
    challenge: str
    body: bytes


def get(host: str, path: str) -> Answer:
    """Ask a registry without credentials."""
    connection = http.client.HTTPConnection(host, timeout=10)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return Answer(response.status, response.headers.get("WWW-Authenticate", ""), response.read())
    finally:
        connection.close()


@pytest.fixture
def open_registry(request: pytest.FixtureRequest) -> str:
    host: str = request.getfixturevalue(request.param)
    return host


@pytest.fixture
def secured_registry(request: pytest.FixtureRequest) -> "SecuredRegistry":
    registry: SecuredRegistry = request.getfixturevalue(request.param)
    return registry


@pytest.fixture
def note(tmp_path: Path) -> str:
    """A file to push, by the relative path that oras wants."""
    (tmp_path / "note.txt").write_text("a layer's content\n")
    return "note.txt:text/plain"


def credentials(registry: "SecuredRegistry") -> tuple[str, ...]:
    return ("--username", registry.username, "--password", registry.password)


def pushed_digest(oras: "Oras", image: str) -> str:
    return oras("resolve", "--plain-http", image).stdout.strip()


@pytest.mark.parametrize("open_registry", OPEN, indirect=True)
def test_an_open_registry_answers_without_credentials(open_registry: str) -> None:
    assert get(open_registry, "/v2/").status == 200


@pytest.mark.parametrize("open_registry", OPEN, indirect=True)
def test_what_oras_pushed_it_pulls_again(open_registry: str, oras: "Oras", note: str, tmp_path: Path) -> None:
    oras("push", "--plain-http", f"{open_registry}/app:1", note)
    oras("pull", "--plain-http", f"{open_registry}/app:1", "--output", "pulled")
    assert (tmp_path / "pulled" / "note.txt").read_text() == "a layer's content\n"


@pytest.mark.parametrize("open_registry", OPEN, indirect=True)
def test_input_reaches_oras(open_registry: str, oras: "Oras") -> None:
    # sha256 of "hello", as sha256sum prints it
    digest = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    oras("blob", "push", "--plain-http", "--size", "5", f"{open_registry}/app@{digest}", "-", input="hello")
    assert get(open_registry, f"/v2/app/blobs/{digest}").body == b"hello"


@pytest.mark.parametrize("open_registry", OPEN, indirect=True)
def test_no_test_sees_what_another_one_pushed(open_registry: str) -> None:
    assert get(open_registry, "/v2/app/tags/list").status == 404


def test_the_referrers_api_lists_what_is_attached(referrers_registry: str, oras: "Oras", note: str) -> None:
    oras("push", "--plain-http", f"{referrers_registry}/app:1", note)
    oras("attach", "--plain-http", "--artifact-type", ARTIFACT_TYPE, f"{referrers_registry}/app:1", note)
    digest = pushed_digest(oras, f"{referrers_registry}/app:1")
    answer = get(referrers_registry, f"/v2/app/referrers/{digest}")
    assert answer.status == 200
    assert [entry["artifactType"] for entry in json.loads(answer.body)["manifests"]] == [ARTIFACT_TYPE]


def test_distribution_has_no_referrers_api_and_oras_keeps_the_fallback_tag(
    distribution_registry: str, oras: "Oras", note: str
) -> None:
    oras("push", "--plain-http", f"{distribution_registry}/app:1", note)
    oras("attach", "--plain-http", "--artifact-type", ARTIFACT_TYPE, f"{distribution_registry}/app:1", note)
    digest = pushed_digest(oras, f"{distribution_registry}/app:1")
    assert get(distribution_registry, f"/v2/app/referrers/{digest}").status == 404
    assert digest.replace(":", "-") in oras("repo", "tags", "--plain-http", f"{distribution_registry}/app").stdout
    assert ARTIFACT_TYPE in oras("discover", "--plain-http", f"{distribution_registry}/app:1").stdout


def test_distribution_lets_manifests_be_deleted(distribution_registry: str, oras: "Oras", note: str) -> None:
    oras("push", "--plain-http", f"{distribution_registry}/app:1", note)
    oras("manifest", "delete", "--plain-http", "--force", f"{distribution_registry}/app:1")
    assert get(distribution_registry, "/v2/app/manifests/1").status == 404


@pytest.mark.parametrize("secured_registry", SECURED, indirect=True)
def test_a_push_without_credentials_is_refused(secured_registry: "SecuredRegistry", oras: "Oras", note: str) -> None:
    done = oras("push", "--plain-http", f"{secured_registry.host}/app:1", note, check=False)
    assert done.returncode != 0
    assert get(secured_registry.host, "/v2/").status == 401


def test_a_failure_of_oras_shows_what_it_said(oras: "Oras") -> None:
    with pytest.raises(subprocess.CalledProcessError) as failure:
        oras("resolve", "no reference")
    assert failure.value.returncode != 0
    assert "invalid reference" in "".join(failure.value.__notes__)


@pytest.mark.parametrize("secured_registry", SECURED, indirect=True)
def test_a_wrong_password_is_refused(secured_registry: "SecuredRegistry", oras: "Oras", note: str) -> None:
    wrong = ("--username", secured_registry.username, "--password", "wrong")
    done = oras("push", "--plain-http", *wrong, f"{secured_registry.host}/app:1", note, check=False)
    assert done.returncode != 0
    assert "401" in done.stderr or "unauthorized" in done.stderr.lower()


@pytest.mark.parametrize("secured_registry", SECURED, indirect=True)
def test_the_credentials_open_the_registry(
    secured_registry: "SecuredRegistry", oras: "Oras", note: str, tmp_path: Path
) -> None:
    image = f"{secured_registry.host}/team/app:1"
    oras("push", "--plain-http", *credentials(secured_registry), image, note)
    oras("pull", "--plain-http", *credentials(secured_registry), image, "--output", "pulled")
    assert (tmp_path / "pulled" / "note.txt").read_text() == "a layer's content\n"


@pytest.mark.parametrize(
    ("secured_registry", "challenge"),
    [
        ("distribution_basic_registry", 'Basic realm="'),
        ("distribution_token_registry", 'Bearer realm="http://'),
    ],
    indirect=["secured_registry"],
)
def test_each_way_to_authenticate_has_its_challenge(secured_registry: "SecuredRegistry", challenge: str) -> None:
    answer = get(secured_registry.host, "/v2/")
    assert answer.status == 401
    assert answer.challenge.startswith(challenge)


def test_a_private_registry_gives_no_token_to_nobody(distribution_token_registry: "SecuredRegistry") -> None:
    path = "/token?service=test%20registry&scope=repository:app:pull"
    assert get(distribution_token_registry.host, path).status == 401


def test_a_public_registry_lets_everybody_pull(
    distribution_public_registry: "SecuredRegistry", oras: "Oras", note: str, tmp_path: Path
) -> None:
    image = f"{distribution_public_registry.host}/app:1"
    oras("push", "--plain-http", *credentials(distribution_public_registry), image, note)
    oras("pull", "--plain-http", image, "--output", "pulled")
    assert (tmp_path / "pulled" / "note.txt").exists()


def test_oras_leaves_the_configuration_of_the_person_alone(
    distribution_basic_registry: "SecuredRegistry", oras: "Oras", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "person"))
    password = distribution_basic_registry.password
    login = ("login", "--plain-http", "--username", distribution_basic_registry.username, "--password-stdin")
    oras(*login, distribution_basic_registry.host, input=password)
    assert not (tmp_path / "person").exists()
    assert oras("repo", "ls", "--plain-http", distribution_basic_registry.host).returncode == 0


@pytest.mark.parametrize("program", ["registry-referrers", "registry-distribution"])
def test_a_server_ends_when_its_standard_input_is_closed(program: str, server_programs: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [str(server_programs / program)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={"TMPDIR": str(tmp_path)},
        timeout=20,
        check=False,
    )
    assert (done.returncode, list(tmp_path.iterdir())) == (0, [])


def test_a_server_ends_with_its_parent_even_if_its_standard_input_stays_open(server_programs: Path) -> None:
    # The server's standard error closes when it ends; its standard input is a pipe that we hold open until then.
    # On one processor, and with one of Go's own, the parent is gone before anything else of the server has run.
    start = "import os, subprocess, sys; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); "
    start += "print(subprocess.Popen(sys.argv[1], stdout=subprocess.PIPE).stdout.readline())"
    command = [sys.executable, "-c", f"{start}; sys.stdout.flush(); os._exit(0)"]
    inner, outer = os.pipe()
    try:
        with subprocess.Popen(
            [*command, str(server_programs / "registry-referrers")],
            stdin=inner,
            env={**os.environ, "GOMAXPROCS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as parent:
            assert parent.stdout is not None
            assert parent.stderr is not None
            assert b"127.0.0.1:" in parent.stdout.readline()
            assert parent.wait(20) == 0
            ended, _, _ = select.select([parent.stderr], [], [], 20)
            assert ended
            assert parent.stderr.read() == b""
    finally:
        os.close(inner)
        os.close(outer)


def test_the_stock_client_of_the_bus_stores_and_reads_on_a_nats_server(
    nats_cli: "NatsCli", nats_server: "StartNats"
) -> None:
    server = ("--server", nats_server().url)
    nats_cli(*server, "kv", "add", "notes")
    nats_cli(*server, "kv", "put", "notes", "one", "a value")
    assert nats_cli(*server, "kv", "get", "notes", "one", "--raw").stdout.strip() == "a value"


def test_the_stock_client_of_the_bus_tells_that_there_is_none(nats_cli: "NatsCli") -> None:
    assert nats_cli("--server", "nats://127.0.0.1:1", "kv", "ls", check=False).returncode
    assert nats_cli("context", "ls", "--names").stdout.strip() == ""
