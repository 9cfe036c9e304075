"""``nodeworthy rules convert`` as its users run it; what it writes is proven in tests/shared/rules/test_conversion.py."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from tests.cli.test_rules_validate import E1, E3

if TYPE_CHECKING:
    from tests.cli.conftest import Nodeworthy


def test_what_is_converted_is_valid_for_us_without_a_warning_on_its_form(
    nodeworthy: "Nodeworthy", tmp_path: Path
) -> None:
    (tmp_path / "e3.yaml").write_text("# why\n" + E3)
    done = nodeworthy("rules", "convert", "e3.yaml", code=0)
    assert "comments are not kept" in done.stderr
    assert "apiVersion: nfd.k8s-sigs.io/v1alpha1\n" in done.stdout
    told = nodeworthy("rules", "validate", "-", input=done.stdout, code=0).stdout
    assert "short form" not in told
    assert "apiVersion" not in told
    again = nodeworthy("rules", "convert", "-", input=done.stdout, code=0)
    assert (again.stdout, again.stderr) == (done.stdout, "")


def test_all_documents_of_a_file_and_files_of_a_folder_are_written(nodeworthy: "Nodeworthy", tmp_path: Path) -> None:
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "a.yaml").write_text(E1 + "---\n" + E3)
    (folder / "b.yaml").write_text(
        "- {name: worker, matchFeatures: [{feature: pci.device, matchExpressions: {vendor: 10de}}]}"
    )
    documents = list(yaml.safe_load_all(nodeworthy("rules", "convert", "rules", code=0).stdout))
    assert [one["metadata"]["name"] for one in documents[:2]] == ["gpu-rule", "cpu-avx512-ready"]
    assert documents[2][0]["matchFeatures"][0]["matchExpressions"] == {"vendor": {"op": "In", "value": ["10de"]}}
    assert json.loads(nodeworthy("rules", "convert", "rules", "-o", "json", code=0).stdout) == documents


def test_a_file_with_a_broken_part_is_not_converted(nodeworthy: "Nodeworthy", tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text(E1 + "---\n" + E3.replace('{ in: ["true"] }', "{ op: Is }", 1))
    done = nodeworthy("rules", "convert", "r.yaml", code=1)
    assert done.stdout == ""
    assert "'Is' is no operator" in done.stderr
    assert "nodeworthy rules validate r.yaml" in done.stderr


def test_a_field_that_is_dropped_is_told(nodeworthy: "Nodeworthy") -> None:
    done = nodeworthy("rules", "convert", "-", input=E1.replace("labels:", "labelz: {}\n      labels:"), code=0)
    assert "labelz" not in done.stdout
    assert "did you mean labels?" in done.stderr


def test_a_file_that_is_not_there_is_a_usage_error(nodeworthy: "Nodeworthy") -> None:
    assert "No such file" in nodeworthy("rules", "convert", "nowhere.yaml", code=2).stderr
