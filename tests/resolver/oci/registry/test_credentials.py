import base64
import json
import os
import select
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nodeworthy.errors import UsageError
from nodeworthy_resolver.oci.access import Login, RegistryAccess
from nodeworthy_resolver.oci.registry.credential import Credential
from nodeworthy_resolver.oci.registry.credentials import (
    LIFETIME,
    Credentials,
    find_in_file,
    helper_for,
    parse_config,
)
from nodeworthy_resolver.oci.registry.helpers import ask_helper, parse_helper_output

if TYPE_CHECKING:
    from tests.resolver.conftest import Clock

HUB = "https://index.docker.io/v1/"


def encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.fixture
def helpers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path for programs that a test writes."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return folder


def write_helper(folder: Path, name: str, script: str) -> None:
    path = folder / f"docker-credential-{name}"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("key", ["quay.io", "https://quay.io", "http://quay.io/", "https://quay.io/v2/"])
def test_an_entry_is_found_under_every_form_of_its_host(key: str) -> None:
    config = parse_config(json.dumps({"auths": {key: {"auth": encode("me:a:b")}}}).encode(), "config.json")
    assert find_in_file(config, "quay.io", "config.json") == Credential("me", "a:b")


def test_another_hosts_entry_is_not_taken() -> None:
    config = parse_config(json.dumps({"auths": {"quay.io:5000": {"auth": encode("me:x")}}}).encode(), "config.json")
    assert find_in_file(config, "quay.io", "config.json") is None


@pytest.mark.parametrize("entry", [{}, {"auth": ""}, {"auth": None, "email": "x"}])
def test_an_entry_that_holds_nothing_is_none(entry: dict[str, str]) -> None:
    config = parse_config(json.dumps({"auths": {"quay.io": entry}}).encode(), "config.json")
    assert find_in_file(config, "quay.io", "config.json") is None


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"\xff", b'{"auths": []}', b'{"auths": {"a": {"auth": 1}}}', b"[" * 99999]
)
def test_a_file_of_another_shape_is_refused(data: bytes) -> None:
    with pytest.raises(UsageError, match="not a docker configuration file"):
        parse_config(data, "config.json")


def test_credentials_that_cannot_be_decoded_are_named_by_their_host_and_not_shown() -> None:
    config = parse_config(b'{"auths": {"quay.io": {"auth": "c2VjcmV0!"}}}', "config.json")
    with pytest.raises(UsageError) as caught:
        find_in_file(config, "quay.io", "config.json")
    text = str(caught.value.diagnostics())
    assert "quay.io" in text
    assert "c2VjcmV0" not in text


def test_secrets_are_in_no_repr() -> None:
    config = parse_config(b'{"auths": {"quay.io": {"password": "hidden", "username": "me"}}}', "config.json")
    found = find_in_file(config, "quay.io", "config.json")
    assert found is not None
    assert "hidden" not in repr(config) + repr(found)


def test_a_hosts_own_helper_comes_before_the_general_one() -> None:
    config = parse_config(b'{"credHelpers": {"quay.io": "own", "index.docker.io": "hub"}, "credsStore": "all"}', "x")
    assert [helper_for(config, key) for key in ("quay.io", HUB, "ghcr.io")] == ["own", "hub", "all"]


async def test_a_helper_is_asked_for_the_key_that_login_used(helpers: Path) -> None:
    write_helper(helpers, "echo", 'read key; echo "{\\"Username\\": \\"$1 $key\\", \\"Secret\\": \\"s\\"}"')
    assert await ask_helper("echo", HUB, 10) == Credential(f"get {HUB}", "s")


def test_a_helpers_token_user_marks_an_identity_token() -> None:
    found = parse_helper_output(b'{"ServerURL": "x", "Username": "<token>", "Secret": "abc"}', "x")
    assert found == Credential(identity_token="abc")


@pytest.mark.parametrize("output", [b"", b"[]", b"{}", b'{"Username": 1, "Secret": "x"}', b"\xff"])
def test_a_helper_that_prints_something_else_is_named(output: bytes) -> None:
    with pytest.raises(UsageError, match="docker-credential-odd printed no credentials"):
        parse_helper_output(output, "odd")


async def test_a_helper_without_credentials_means_that_there_are_none(helpers: Path) -> None:
    write_helper(helpers, "empty", "echo credentials not found in native keychain; exit 1")
    assert await ask_helper("empty", "quay.io", 10) is None


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("exit 3", "failed"),
        ("exec tail -f /dev/null", "did not answer"),
        ("exec cat /dev/zero", "printed too much"),
        ("echo '{}'; tail -f /dev/null & exit 0", "did not answer"),
    ],
)
async def test_a_helper_that_misbehaves_is_ended_and_named(script: str, says: str, helpers: Path) -> None:
    write_helper(helpers, "bad", script)
    with pytest.raises(UsageError, match=f"docker-credential-bad {says}"):
        await ask_helper("bad", "quay.io", 0.3 if "tail" in script else 10)


async def test_what_a_helper_started_ends_with_it(helpers: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "alive")
    alive = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    write_helper(helpers, "wrapper", f"exec 9>{tmp_path}/alive\ncat /dev/zero\necho ended")
    with pytest.raises(UsageError, match="printed too much"):
        await ask_helper("wrapper", "quay.io", 10)
    assert select.select([alive], [], [], 10)[0], "somebody still holds the other end"
    assert os.read(alive, 1) == b""
    os.close(alive)


@pytest.mark.parametrize(("name", "says"), [("missing", "cannot be started"), ("../../bin/sh", "no credential helper")])
async def test_a_helper_that_is_no_program_on_the_path_is_refused(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        await ask_helper(name, "quay.io", 10)


async def test_the_files_entry_counts_where_the_helper_has_none_and_the_helper_is_asked_once(
    helpers: Path, tmp_path: Path, clock: "Clock"
) -> None:
    write_helper(helpers, "empty", f"echo x >> {tmp_path}/asked; echo credentials not found; exit 1")
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"credsStore": "empty", "auths": {"quay.io": {"auth": encode("me:x")}}}))
    credentials = Credentials(RegistryAccess(config=path), clock)
    assert [await credentials.find("quay.io") for _ in range(2)] == [Credential("me", "x")] * 2
    assert (tmp_path / "asked").read_text() == "x\n"


async def test_credentials_name_where_they_are_from(helpers: Path, tmp_path: Path, clock: "Clock") -> None:
    write_helper(helpers, "echo", 'echo "{\\"Username\\": \\"me\\", \\"Secret\\": \\"s\\"}"')
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"credHelpers": {"ghcr.io": "echo"}, "auths": {"quay.io": {"auth": encode("me:x")}}}))
    found = [await Credentials(RegistryAccess(config=path), clock).find(name) for name in ("quay.io", "ghcr.io")]
    assert [one and one.source for one in found] == [str(path), f"docker-credential-echo, which {path} names"]


async def test_without_a_file_everybody_is_anonymous(clock: "Clock") -> None:
    assert await Credentials(RegistryAccess(), clock).find("quay.io") is None


@pytest.mark.parametrize("content", [None, b" " * 2_000_000])
async def test_a_file_that_cannot_be_used_is_named(content: bytes | None, tmp_path: Path, clock: "Clock") -> None:
    path = tmp_path / "config.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=r"config\.json"):
        await Credentials(RegistryAccess(config=path), clock).find("quay.io")


def write_auths(path: Path, **auths: str) -> Path:
    path.write_text(json.dumps({"auths": {name: {"auth": encode(f"{user}:x")} for name, user in auths.items()}}))
    return path


async def test_a_password_that_was_corrected_is_read_after_a_while(tmp_path: Path, clock: "Clock") -> None:
    path = write_auths(tmp_path / "config.json", **{"quay.io": "old"})
    credentials = Credentials(RegistryAccess(config=path), clock)
    assert await credentials.find("quay.io") == Credential("old", "x")
    write_auths(path, **{"quay.io": "new"})
    assert await credentials.find("quay.io") == Credential("old", "x")
    clock.now += LIFETIME
    assert await credentials.find("quay.io") == Credential("new", "x")


async def test_the_first_file_that_has_a_credential_counts(tmp_path: Path, clock: "Clock") -> None:
    docker = write_auths(tmp_path / "docker.json", **{"quay.io": "docker"})
    podman = write_auths(tmp_path / "podman.json", **{"quay.io": "podman", "ghcr.io": "podman"})
    credentials = Credentials(RegistryAccess(default_configs=(docker, podman)), clock)
    assert await credentials.find("quay.io") == Credential("docker", "x")
    assert await credentials.find("ghcr.io") == Credential("podman", "x")


async def test_a_named_file_counts_alone(tmp_path: Path, clock: "Clock") -> None:
    named = write_auths(tmp_path / "named.json", **{"quay.io": "named"})
    other = write_auths(tmp_path / "other.json", **{"ghcr.io": "other"})
    credentials = Credentials(RegistryAccess(config=named, default_configs=(other,)), clock)
    assert await credentials.find("ghcr.io") is None


async def test_an_entry_for_a_part_of_a_registry_goes_before_the_helper(
    helpers: Path, tmp_path: Path, clock: "Clock"
) -> None:
    write_helper(helpers, "echo", 'echo "{\\"Username\\": \\"helper\\", \\"Secret\\": \\"x\\"}"')
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"credsStore": "echo", "auths": {"quay.io/team": {"auth": encode("team:x")}}}))
    credentials = Credentials(RegistryAccess(config=path), clock)
    assert await credentials.find("quay.io", "team/app") == Credential("team", "x")
    assert await credentials.find("quay.io", "other/app") == Credential("helper", "x")


async def test_a_login_by_hand_is_for_its_registry_alone(tmp_path: Path, clock: "Clock") -> None:
    path = write_auths(tmp_path / "config.json", **{"quay.io": "file", "ghcr.io": "file"})
    access = RegistryAccess(config=path, login=Login("quay.io", "me", "by hand"))
    credentials = Credentials(access, clock)
    assert await credentials.find("quay.io") == Credential("me", "by hand")
    assert await credentials.find("ghcr.io") == Credential("file", "x")
    assert "by hand" not in repr(access)


async def test_a_service_names_files_without_their_folders(tmp_path: Path, clock: "Clock") -> None:
    path = write_auths(tmp_path / "config.json", **{"quay.io": "me"})
    found = await Credentials(RegistryAccess(config=path, names_files=False), clock).find("quay.io")
    assert found is not None
    assert found.source == "config.json"
