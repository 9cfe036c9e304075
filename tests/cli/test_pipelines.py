"""The pipelines of docs/pipelines do what they say: their own commands are run, for platforms that are there and not."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from tests.conftest import Oras, SecuredRegistry

PIPELINES = sorted((Path(__file__).parents[2] / "docs" / "pipelines").glob("*.yaml"))
PROGRAMS = Path(sys.executable).parent


def commands_in(node: Any) -> Iterator[str]:
    """Every text of a pipeline that calls the program."""
    if isinstance(node, dict):
        for value in node.values():
            yield from commands_in(value)
    elif isinstance(node, list):
        for value in node:
            yield from commands_in(value)
    elif isinstance(node, str) and "nodeworthy platforms" in node:
        yield node


def run(command: str, folder: Path, **variables: str) -> int:
    """The exit code of a command of a pipeline, without its step that installs."""
    lines = [line for line in command.splitlines() if "pip install" not in line and not line.startswith("PATH=")]
    environment = {"PATH": f"{PROGRAMS}:{os.defpath}", "HOME": str(folder)} | variables
    return subprocess.run(
        ["sh", "-c", "\n".join(lines)], cwd=folder, env=environment, check=False, timeout=60
    ).returncode


@pytest.mark.parametrize("path", PIPELINES, ids=lambda path: path.stem)
def test_a_pipeline_passes_what_is_complete_and_stops_what_is_not(
    path: Path,
    distribution_basic_registry: "SecuredRegistry",
    oras: "Oras",
    layout: Callable[..., str],
    tmp_path: Path,
) -> None:
    commands = list(commands_in(yaml.safe_load(path.read_text())))
    assert commands
    secured = distribution_basic_registry
    layout("app", "amd64", "arm64")
    login = ("--to-username", secured.username, "--to-password", secured.password)
    image = f"localhost:{secured.host.rpartition(':')[2]}/app:1"  # plain HTTP by its name
    oras("cp", "--from-oci-layout", "app:latest", "--to-plain-http", *login, image)
    # Tekton writes the credentials of its service account where docker does.
    config = str(tmp_path / ".docker" / "config.json")
    oras("login", "--plain-http", "localhost:" + secured.host.rpartition(":")[2], "-u", secured.username,
         "-p", secured.password, "--registry-config", config)  # fmt: skip
    (tmp_path / "Containerfile").write_text("FROM oci:app\n")
    variables = {"IMAGE": image, "GITHUB_ACTOR": secured.username, "CI_REGISTRY_USER": secured.username}
    variables |= {"REGISTRY_TOKEN": secured.password, "CI_REGISTRY_PASSWORD": secured.password}
    variables["ANSWER"] = str(tmp_path / "answer")
    for platforms, code in (("linux/amd64,linux/arm64", 0), ("linux/amd64,linux/s390x", 1)):
        for command in commands:
            assert run(command, tmp_path, PLATFORMS=platforms, **variables) == code, command
    if (tmp_path / "answer").exists():
        assert (tmp_path / "answer").read_text() == "no"
