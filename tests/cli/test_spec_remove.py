"""``nodeworthy spec remove`` as a user runs it."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Nodeworthy
    from tests.conftest import Oras, SecuredRegistry

PROGRAM = Path(sys.executable).parent / "nodeworthy"

GOOD = """
version: v1alpha1
compatibilities:
- rules:
  - name: kernel
    matchFeatures:
    - feature: kernel.version
      matchExpressions:
        major: {op: Ge, value: ["5"]}
"""


@pytest.fixture
def image(nodeworthy: "Nodeworthy", layout: Callable[..., str], tmp_path: Path) -> str:
    """An index of two images, with one specification on itself and one on each child."""
    name = layout("app", "amd64", "arm64")
    (tmp_path / "s.yaml").write_text(GOOD)
    nodeworthy("spec", "attach", name, "s.yaml", code=0)
    nodeworthy("spec", "attach", name, "s.yaml", "--platform", "all", code=0)
    return name


def test_a_dry_run_says_what_would_go_and_nothing_goes(nodeworthy: "Nodeworthy", image: str) -> None:
    done = nodeworthy("spec", "remove", image, "--platform", "all", "--dry-run", "-o", "json", code=0)
    planned = json.loads(done.stdout)
    assert [one["platform"] for one in planned] == ["linux/amd64", "linux/arm64"]
    assert {one["outcome"] for one in planned} == {"not removed"}
    nodeworthy("spec", "show", image, "--platform", "linux/arm64", code=0)


def test_only_what_is_named_goes(nodeworthy: "Nodeworthy", image: str) -> None:
    nodeworthy("spec", "remove", image, "--platform", "linux/arm64", "--yes", code=0)
    assert nodeworthy("spec", "remove", image, "--platform", "linux/arm64", "--yes", code=1).stdout == ""
    nodeworthy("spec", "show", image, code=0)
    nodeworthy("spec", "remove", image, "--platform", "linux/amd64", "--dry-run", code=0)


def test_one_artifact_of_several_can_be_named(nodeworthy: "Nodeworthy", image: str) -> None:
    first = json.loads(nodeworthy("spec", "show", image, "-o", "json", code=0).stdout)["digest"]
    nodeworthy("spec", "attach", image, "s.yaml", code=0)
    nodeworthy("spec", "remove", image, "--artifact", first, "--yes", code=0)
    assert json.loads(nodeworthy("spec", "show", image, "-o", "json", code=0).stdout)["digest"] != first
    assert "is not attached" in nodeworthy("spec", "remove", image, "--artifact", first, "--yes", code=2).stderr


def test_without_a_terminal_nothing_goes_unless_yes_is_said(nodeworthy: "Nodeworthy", image: str) -> None:
    assert "--yes" in nodeworthy("spec", "remove", image, input="y\n", code=2).stderr
    nodeworthy("spec", "show", image, code=0)


@pytest.mark.parametrize(("answer", "code", "left"), [("y", 0, 1), ("n", 2, 0), ("", 2, 0)])
def test_a_person_is_asked(
    answer: str, code: int, left: int, nodeworthy: "Nodeworthy", image: str, tmp_path: Path
) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, f"{answer}\n".encode())
    command = [str(PROGRAM), "spec", "remove", image]
    done = subprocess.run(command, stdin=theirs, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=60)
    os.close(ours)
    os.close(theirs)
    assert done.returncode == code, done.stderr
    assert f"Remove 1 from {image}?" in done.stderr
    nodeworthy("spec", "show", image, code=left)


def test_a_registry_that_deletes_nothing_is_explained(
    nodeworthy: "Nodeworthy", broken_registry: Callable[..., str]
) -> None:
    host = broken_registry(lambda _: (403, {}, b""))
    assert "denied" in nodeworthy("spec", "remove", f"{host}/app:1", "--plain-http", "--yes", code=2).stderr


def test_nothing_is_taken_from_an_archive(nodeworthy: "Nodeworthy") -> None:
    assert "only read" in nodeworthy("spec", "remove", "oci-archive:x.tar", "--yes", code=2).stderr


@pytest.fixture
def secured_image(
    distribution_basic_registry: "SecuredRegistry", oras: "Oras", layout: Callable[..., str], tmp_path: Path
) -> str:
    """An image in a registry that wants the password at every request."""
    layout("app")
    (tmp_path / "s.yaml").write_text(GOOD)
    secured = distribution_basic_registry
    login = ("--to-username", secured.username, "--to-password", secured.password)
    oras("cp", "--from-oci-layout", "app:latest", "--to-plain-http", *login, f"{secured.host}/app:1")
    return f"{secured.host}/app:1"


def test_a_password_from_standard_input_serves_every_verb(
    nodeworthy: "Nodeworthy", distribution_basic_registry: "SecuredRegistry", secured_image: str
) -> None:
    secured = distribution_basic_registry
    login = ("--plain-http", "--username", secured.username, "--password-stdin")
    for ending in ("\n", "\r\n", ""):
        nodeworthy("platforms", secured_image, *login, input=secured.password + ending, code=0)
    nodeworthy("spec", "attach", secured_image, "s.yaml", *login, input=secured.password, code=0)
    nodeworthy("spec", "show", secured_image, *login, input=secured.password, code=0)
    nodeworthy("check", secured_image, *login, input=secured.password, code=0)
    nodeworthy("spec", "remove", secured_image, "--yes", *login, input=secured.password, code=0)
    nodeworthy("spec", "show", secured_image, *login, input=secured.password, code=1)


def test_a_wrong_password_is_denied_and_not_shown(
    nodeworthy: "Nodeworthy", distribution_basic_registry: "SecuredRegistry", secured_image: str
) -> None:
    login = ("--plain-http", "--username", distribution_basic_registry.username, "--password-stdin")
    done = nodeworthy("platforms", secured_image, *login, "--debug", input="not-the-password", code=None)
    assert done.returncode == 3
    assert "401" in done.stderr
    assert "not-the-password" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "given", "says"),
    [
        (("platforms", "a.io/x", "--username", "me"), "", "go together"),
        (("platforms", "a.io/x", "--password-stdin"), "secret", "go together"),
        (("platforms", "a.io/x", "b.io/x", "--username", "me", "--password-stdin"), "secret", "several registries"),
        (("platforms", "oci:x", "--username", "me", "--password-stdin"), "secret", "says nothing"),
        (("platforms", "a.io/x", "--username", "me", "--password-stdin"), "\n", "no password"),
        (("platforms", "a.io/x", "--username", "me", "--password-stdin"), "x" * 70_000, "too long"),
        (("check", "a.io/x", "--spec", "-", "--username", "me", "--password-stdin"), GOOD, "standard input"),
        (("spec", "attach", "a.io/x", "-", "--username", "me", "--password-stdin"), GOOD, "standard input"),
        (("check", "a.io/x", "--on", "all", "--username", "me", "--password-stdin"), "s", "says nothing here"),
    ],
)
def test_a_password_that_is_for_nobody_or_for_several_is_refused(
    arguments: tuple[str, ...], given: str, says: str, nodeworthy: "Nodeworthy"
) -> None:
    done = nodeworthy(*arguments, input=given, code=2)
    assert says in done.stderr
    assert "secret" not in done.stderr
