"""``nodeworthy spec new``: the draft is valid as it is, and so is every part that it only shows."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from nodeworthy_cli.spec.new import TEMPLATE

if TYPE_CHECKING:
    from tests.cli.conftest import Nodeworthy


def test_a_draft_is_valid_and_can_be_tried_here(nodeworthy: "Nodeworthy", tmp_path: Path) -> None:
    assert "spec validate draft.yaml" in nodeworthy("spec", "new", "draft.yaml", code=0).stdout
    nodeworthy("spec", "validate", "draft.yaml", code=0)
    assert nodeworthy("spec", "new", code=0).stdout == (tmp_path / "draft.yaml").read_text()


def test_what_the_draft_only_shows_is_valid_too(nodeworthy: "Nodeworthy") -> None:
    shown = re.sub(r"^( +)# (- | +|tag)", r"\1\2", TEMPLATE, flags=re.MULTILINE)
    (spec,) = yaml.safe_load(shown)["compatibilities"]
    assert len(spec["rules"]) > len(yaml.safe_load(TEMPLATE)["compatibilities"][0]["rules"])
    assert spec["tag"] == "required"
    nodeworthy("spec", "validate", "-", input=shown, code=0)


def test_a_file_that_is_there_is_kept(nodeworthy: "Nodeworthy", tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("mine")
    assert "--force" in nodeworthy("spec", "new", "mine.yaml", code=2).stderr
    assert (tmp_path / "mine.yaml").read_text() == "mine"
    nodeworthy("spec", "new", "mine.yaml", "--force", code=0)
    nodeworthy("spec", "validate", "mine.yaml", code=0)
    assert "cannot be written" in nodeworthy("spec", "new", "no/such/folder.yaml", code=2).stderr
