"""Making the environment, with the real uv and a project that needs nothing from the network."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "environment.sh"
PROJECT = '[project]\nname = "nothing"\nversion = "1"\nrequires-python = ">=3.11"\n[tool.uv]\npackage = false\n'
LOCK = 'version = 1\nrequires-python = ">=3.11"\n[[package]]\nname = "nothing"\nversion = "1"\nsource = { virtual = "." }\n'
TOOLS = ("sh", "dirname", "mkdir", "sed", "touch")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of the same layout, with a copy of the very script."""
    folder = tmp_path / "project"
    for name in ("scripts", "shared", "services", "cli"):
        (folder / name).mkdir(parents=True)
    shutil.copy(SCRIPT, folder / "scripts")
    (folder / "pyproject.toml").write_text(PROJECT)
    (folder / "uv.lock").write_text(LOCK)
    return folder


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder for PATH with uv and what the script itself calls, and without Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    (folder / "uv").symlink_to(Path(sys.executable).parent / "uv")
    return folder


def run(project: Path, programs: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    # No Python but the one in PATH: none that uv brought, and none of the environment that runs the tests.
    own = {"PATH": str(programs), "HOME": str(project.parent), "UV_PYTHON_INSTALL_DIR": str(project.parent / "none")}
    command = [str(programs / "sh"), "scripts/environment.sh", *arguments]
    return subprocess.run(
        command, cwd=project, env=own | environment, capture_output=True, text=True, timeout=120, check=False
    )


def with_python(programs: Path) -> Path:
    (programs / "python3").symlink_to(os.path.realpath(sys.executable))
    return programs


def test_the_environment_is_made_after_saying_so(project: Path, programs: Path) -> None:
    done = run(project, with_python(programs), "run")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("making the environment in .venv")
    assert done.stdout == ""
    assert (project / ".venv" / ".run").exists()
    assert not (project / ".venv" / ".cache").exists()


def test_without_a_python_uv_fetches_none_and_a_person_is_told(project: Path, programs: Path) -> None:
    done = run(project, programs, "run")
    assert done.returncode == 2
    assert "error: uv finds no Python 3.11 or newer on this machine" in done.stderr
    assert "do: install one, or let uv fetch it" in done.stderr
    assert not (project / ".venv").exists()


def test_a_home_that_cannot_be_written_does_not_matter(project: Path, programs: Path) -> None:
    done = run(project, with_python(programs), "run", HOME="/dev/null/home")
    assert done.returncode == 0, done.stderr
    assert (project / ".venv" / ".cache").is_dir()
    again = run(project, programs, "dev", HOME="/dev/null/home")
    assert again.returncode == 0, again.stderr
    assert (project / ".venv" / ".dev").exists()


@pytest.mark.parametrize("arguments", [(), ("prod",)])
def test_an_environment_that_does_not_exist_is_refused(
    arguments: tuple[str, ...], project: Path, programs: Path
) -> None:
    done = run(project, programs, *arguments)
    assert done.returncode == 2
    assert "ask for run or dev" in done.stderr
