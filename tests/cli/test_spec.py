"""``nodeworthy spec`` as a user runs it; attaching to real registries is in tests/cli/check/test_specifications.py."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Nodeworthy
    from tests.conftest import Oras

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

TWO_FAULTS = """
version: v1alpha1
compatibilities:
- wieght: 10
  rules:
  - name: kernel
    matchFeatures:
    - feature: kernel.version
      matchExpressions:
        major: {op: AtLeast, value: ["5"]}
        minor: {op: Gt, value: [many]}
"""


def test_a_good_file_is_valid(nodeworthy: "Nodeworthy", tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(GOOD)
    assert nodeworthy("spec", "validate", "s.yaml", code=0).stdout == "s.yaml: valid\n"
    assert nodeworthy("spec", "validate", "-", input=GOOD, code=0).stdout == "-: valid\n"


def test_every_fault_is_named_at_once_with_line_and_path(nodeworthy: "Nodeworthy", tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(TWO_FAULTS)
    report = json.loads(nodeworthy("spec", "validate", "s.yaml", "-o", "json", code=1).stdout)
    assert not report["valid"]
    assert [problem["line"] for problem in report["problems"]] == [4, 10, 11]
    messages = " ".join(f"{problem['path']} {problem['message']}" for problem in report["problems"])
    assert "wieght" in messages
    assert "AtLeast" in messages
    assert "many" in messages


def test_of_several_files_one_bad_one_is_enough(nodeworthy: "Nodeworthy", tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "bad.yaml").write_text(TWO_FAULTS)
    done = nodeworthy("spec", "validate", "good.yaml", "bad.yaml", code=1)
    assert "good.yaml: valid" in done.stdout
    assert "bad.yaml: not valid" in done.stdout


def test_a_file_that_is_not_there_is_a_usage_error(nodeworthy: "Nodeworthy") -> None:
    assert "No such file" in nodeworthy("spec", "validate", "nowhere.yaml", code=2).stderr


@pytest.mark.parametrize("text", ["[1, 2]", "just words", "{", "\x00", "a: &a [*a]", "[" * 5000])
def test_what_is_no_specification_is_invalid(text: str, nodeworthy: "Nodeworthy", tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(text)
    assert "not valid" in nodeworthy("spec", "validate", "s.yaml", code=1).stdout


def test_nothing_attached_is_a_no(nodeworthy: "Nodeworthy", layout: Callable[..., str]) -> None:
    assert "nothing is attached" in nodeworthy("spec", "show", layout("app"), code=1).stderr


def test_the_newest_attached_document_is_shown_as_it_is(
    nodeworthy: "Nodeworthy", layout: Callable[..., str], tmp_path: Path
) -> None:
    image = layout("app")
    for comment in ("first", "second"):
        (tmp_path / "s.yaml").write_text(f"# the {comment}\n{GOOD}")
        nodeworthy("spec", "attach", image, "s.yaml", code=0)
    assert nodeworthy("spec", "show", image, code=0).stdout.startswith("# the second\n")
    shown = json.loads(nodeworthy("spec", "show", image, "-o", "json", code=0).stdout)
    assert shown["document"].startswith("# the second\n")
    assert shown["digest"].startswith("sha256:")
    assert shown["created"].endswith("Z")


def test_an_invalid_file_is_not_attached(nodeworthy: "Nodeworthy", layout: Callable[..., str], tmp_path: Path) -> None:
    image = layout("app")
    (tmp_path / "s.yaml").write_text(TWO_FAULTS)
    assert "AtLeast" in nodeworthy("spec", "attach", image, "s.yaml", code=2).stderr
    nodeworthy("spec", "show", image, code=1)


def test_all_children_of_an_index_get_one(nodeworthy: "Nodeworthy", layout: Callable[..., str], tmp_path: Path) -> None:
    image = layout("app", "amd64", "arm64")
    (tmp_path / "s.yaml").write_text(GOOD)
    done = nodeworthy("spec", "attach", image, "s.yaml", "--platform", "all", "-o", "json", code=0)
    assert [one["platform"] for one in json.loads(done.stdout)] == ["linux/amd64", "linux/arm64"]
    for platform in ("linux/amd64", "linux/arm64"):
        nodeworthy("spec", "show", image, "--platform", platform, code=0)


def test_a_platform_that_is_not_offered_is_said_and_nothing_is_attached(
    nodeworthy: "Nodeworthy", layout: Callable[..., str], tmp_path: Path
) -> None:
    image = layout("app", "amd64", "arm64")
    (tmp_path / "s.yaml").write_text(GOOD)
    done = nodeworthy("spec", "attach", image, "s.yaml", "--platform", "linux/s390x", code=2)
    assert "linux/amd64, linux/arm64" in done.stderr
    assert "linux/amd64" in nodeworthy("spec", "show", image, "--platform", "linux/s390x", code=2).stderr


def test_whatever_stops_attaching_ends_with_2(
    nodeworthy: "Nodeworthy", broken_registry: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "s.yaml").write_text(GOOD)
    host = broken_registry(lambda _: (401, {}, b""))
    nodeworthy("spec", "attach", f"{host}/app:1", "s.yaml", "--plain-http", code=2)
    nodeworthy("spec", "attach", "oci:nowhere", "s.yaml", code=2)


def test_another_artifact_type_is_passed_over_with_a_note(
    nodeworthy: "Nodeworthy", referrers_registry: str, oras: "Oras", layout: Callable[..., str], tmp_path: Path
) -> None:
    layout("app")
    (tmp_path / "s.yaml").write_text(GOOD)
    image = f"{referrers_registry}/app:1"
    oras("cp", "--from-oci-layout", "app:latest", "--to-plain-http", image)
    older = "application/vnd.k8s.nfd.image-compatibility.v1"
    oras("attach", "--plain-http", "--artifact-type", older, image, "s.yaml")
    done = nodeworthy("spec", "show", image, "--plain-http", code=1)
    assert older in done.stderr
