"""What is published is what is on disk, and importing it stays light."""

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE_FOLDERS = ("shared/*", "services/*/*", "cli/*")
HEAVY = frozenset({"pydantic", "yaml", "re2", "aiohttp", "click", "rich"})
LIBRARY = ("nodeworthy", "nodeworthy.errors", "nodeworthy.features", "nodeworthy.images", "nodeworthy.platforms")


def packages_on_disk() -> list[str]:
    marked = (path.parent for pattern in PACKAGE_FOLDERS for path in ROOT.glob(f"{pattern}/py.typed"))
    return sorted(path.relative_to(ROOT).as_posix() for path in marked)


def packages_in_project_file() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    listed: list[str] = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    return sorted(listed)


def files_of(package: Path) -> set[str]:
    """Every file of a package, as the wheel names it."""
    files = (path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(package.parent).as_posix() for path in files}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a wheel is made from, so that a build leaves nothing in the tree and nothing changes under it."""
    folder = tmp_path_factory.mktemp("packaging") / "checkout"
    folder.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, folder)
    for package in packages_on_disk():
        shutil.copytree(ROOT / package, folder / package)
    return folder


@pytest.fixture(scope="module")
def wheel_files(checkout: Path) -> set[str]:
    """The names in a wheel built by the backend itself, without the network."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist"]
    subprocess.run(command, cwd=checkout, check=True, capture_output=True, timeout=60)
    (wheel,) = (checkout / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def modules_after(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after it ran this."""
    command = [sys.executable, "-I", "-c", f"{code}\nimport sys; print(*sys.modules)"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_the_project_file_lists_the_packages_that_are_there() -> None:
    assert packages_in_project_file() == packages_on_disk()


def test_every_folder_with_code_is_a_typed_package() -> None:
    with_code = {path.parent for pattern in PACKAGE_FOLDERS for path in ROOT.glob(f"{pattern}/__init__.py")}
    assert sorted(path.relative_to(ROOT).as_posix() for path in with_code) == packages_on_disk()


def test_the_wheel_holds_every_module_and_data_file_and_nothing_else(checkout: Path, wheel_files: set[str]) -> None:
    expected = set().union(*(files_of(checkout / package) for package in packages_on_disk()))
    assert sorted(wheel_files) == sorted(expected)


def test_every_folder_of_modules_says_what_belongs_there() -> None:
    folders = {path.parent for package in packages_on_disk() for path in (ROOT / package).rglob("*.py")}
    silent = (folder for folder in folders if not says_what_belongs_there(folder / "__init__.py"))
    assert sorted(folder.relative_to(ROOT).as_posix() for folder in silent) == []


def says_what_belongs_there(path: Path) -> bool:
    return path.is_file() and path.read_text().startswith('"""')


def test_no_module_of_the_detector_imports_a_heavy_library() -> None:
    code = """
import importlib, pkgutil, nodeworthy_detector
for module in pkgutil.walk_packages(nodeworthy_detector.__path__, "nodeworthy_detector."):
    importlib.import_module(module.name)
"""
    held = modules_after(code)
    assert "nodeworthy_detector" in held
    assert held & HEAVY == set()


@pytest.mark.parametrize("module", LIBRARY)
def test_the_core_of_the_library_imports_no_heavy_library(module: str) -> None:
    held = modules_after(f"import {module}")
    assert "nodeworthy" in held
    assert held & HEAVY == set()
