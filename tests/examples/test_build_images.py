"""The script is run as a person runs it."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "build_images.py"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)


def test_two_layout_folders_are_built_and_named(tmp_path: Path) -> None:
    done = run(str(tmp_path / "new"))
    assert done.stdout.splitlines() == [str(tmp_path / "new" / name) for name in ("fits", "does-not-fit")]
    assert all((Path(line) / "index.json").is_file() for line in done.stdout.splitlines())


def test_help_says_what_it_is_for() -> None:
    done = run("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "FOLDER" in done.stdout


def test_a_missing_argument_is_told() -> None:
    done = run()
    assert done.returncode == 2
    assert "required: FOLDER" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["fits", "does-not-fit"])
def test_what_is_there_already_is_left_alone(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    done = run(str(tmp_path))
    assert done.returncode == 2
    assert f"{tmp_path / name} is there already; remove it, or name another folder" in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run(str(tmp_path / "file"))
    assert done.returncode == 2
    assert "cannot be written: Not a directory" in done.stderr
    assert "Traceback" not in done.stderr
