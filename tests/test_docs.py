"""What the documents promise is there: commands, links, tests."""

import re
from pathlib import Path

import pytest

from nodeworthy_cli.main import VERBS

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").glob("*.md"))]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text()):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_commands_in_documents_exist(path: Path) -> None:
    for verb in re.findall(r"(?:^\$ |`)nodeworthy ([a-z][a-z-]*)", path.read_text(), re.MULTILINE):
        assert verb in VERBS, f"{path.name} shows: nodeworthy {verb}"


def test_the_readme_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert "make run" in text
    assert "make test" in text


def test_every_difference_from_nfd_names_a_test_that_exists() -> None:
    text = (ROOT / "docs" / "nfd-differences.md").read_text()
    files = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    named = set(re.findall(r"test_\w+\.py", text))
    assert named
    assert named <= files
