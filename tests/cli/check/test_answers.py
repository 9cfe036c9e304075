"""``nodeworthy check`` end to end: what it asks of whom, what it prints, exit codes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.check.conftest import MakeFacts
    from tests.cli.conftest import Nodeworthy


@pytest.mark.usefixtures("folder")
def test_an_image_for_another_architecture_is_incompatible(
    nodeworthy: "Nodeworthy", layout: Callable[..., str]
) -> None:
    done = nodeworthy("check", layout("app", "arm64"), "--on", "both.json", code=1)
    assert "the image is for linux/arm64, the node is linux/amd64" in done.stdout
    done = nodeworthy("check", layout("two", "arm64", "s390x"), "--on", "both.json", code=1)
    assert "linux/arm64, linux/s390x" in done.stdout


@pytest.mark.usefixtures("folder")
def test_a_platform_can_be_asked_for(nodeworthy: "Nodeworthy", layout: Callable[..., str]) -> None:
    image = layout("app", "amd64", "arm64")
    nodeworthy("check", image, "--on", "both.json", "--platform", "linux/arm64", code=1)
    done = nodeworthy("check", image, "--on", "both.json", "--platform", "linux/ppc64le", code=1)
    assert "not offered for linux/ppc64le" in done.stdout
    assert "not a platform" in nodeworthy("check", image, "--platform", "linux", code=2).stderr


@pytest.mark.usefixtures("folder")
def test_a_platform_that_a_single_image_is_not_for_does_not_hide_what_it_declares(
    nodeworthy: "Nodeworthy", layout: Callable[..., str]
) -> None:
    image = layout("app")
    nodeworthy("spec", "attach", image, "spec.yaml", code=0)
    done = nodeworthy("check", image, "--on", "both.json", "--platform", "linux/arm64", "-o", "json", code=1)
    verdict = json.loads(done.stdout)
    assert len(verdict["sets"]) == 2
    assert "nothing-declared" not in {finding["code"] for finding in verdict["findings"]}


@pytest.mark.usefixtures("folder")
def test_an_image_that_declares_nothing_is_unknown_unless_asked_otherwise(
    nodeworthy: "Nodeworthy", layout: Callable[..., str]
) -> None:
    image = layout("app")
    on = ("--no-inspect", "--on", "both.json", "-o", "yaml")
    assert "nothing-declared" in nodeworthy("check", image, *on, code=3).stdout
    assert "not-inspected" in nodeworthy("check", image, *on[1:], code=3).stdout
    nodeworthy("check", image, "--on", "both.json", "--undeclared=compatible", code=0)


@pytest.mark.usefixtures("folder")
def test_of_several_images_the_exit_code_is_the_first_of_2_1_3_0(
    nodeworthy: "Nodeworthy", layout: Callable[..., str]
) -> None:
    good, bare, wrong = layout("good"), layout("bare"), layout("wrong", "arm64")
    nodeworthy("spec", "attach", good, "spec.yaml", code=0)
    on = ("--on", "both.json", "-o", "json")
    assert len(json.loads(nodeworthy("check", good, good, *on, code=0).stdout)) == 2
    nodeworthy("check", good, bare, *on, code=3)
    nodeworthy("check", good, bare, wrong, *on, code=1)
    done = nodeworthy("check", good, bare, wrong, "oci:nowhere", *on, code=2)
    assert [v["verdict"] for v in json.loads(done.stdout)] == ["compatible", "unknown", "incompatible"]
    assert "nowhere" in done.stderr


@pytest.mark.parametrize("reference", ["UPPER/x", "a b", "", "https://example.com/a", "a@sha256:12", "oci:", ":tag"])
def test_what_is_no_reference_is_a_usage_error(reference: str, nodeworthy: "Nodeworthy") -> None:
    done = nodeworthy("check", reference, code=2)
    assert done.stderr.startswith("error: ")
    assert "why:" in done.stderr


@pytest.mark.usefixtures("folder")
def test_the_name_of_a_layout_folder_without_oci_is_recognised(
    nodeworthy: "Nodeworthy", layout: Callable[..., str]
) -> None:
    layout("app")
    assert "write oci:./app" in nodeworthy("check", "./app", code=2).stderr


def test_a_node_is_not_known_without_a_bus(nodeworthy: "Nodeworthy", layout: Callable[..., str]) -> None:
    done = nodeworthy("check", layout("app"), "--on", "node-7", code=2)
    assert "nodeworthy up" in done.stderr


@pytest.mark.parametrize("text", ["", "nonsense", "{}", '{"flags": []}', "\x00"])
def test_a_features_file_that_is_none_is_a_usage_error(
    text: str, tmp_path: Path, nodeworthy: "Nodeworthy", layout: Callable[..., str]
) -> None:
    (tmp_path / "f.json").write_text(text)
    assert "f.json" in nodeworthy("check", layout("app"), "--on", "f.json", code=2).stderr


def test_facts_can_come_on_standard_input(
    nodeworthy: "Nodeworthy", layout: Callable[..., str], make_facts: "MakeFacts"
) -> None:
    verdict = json.loads(
        nodeworthy("check", layout("app", "arm64"), "--on", "-", "-o", "json", input=make_facts(), code=1).stdout
    )
    assert verdict["node_platform"] == "linux/amd64"


def test_on_this_machine_the_facts_are_its_own(nodeworthy: "Nodeworthy", layout: Callable[..., str]) -> None:
    spec = "version: v1alpha1\ncompatibilities:\n- rules:\n  - name: k\n    matchFeatures:\n"
    spec += "    - feature: kernel.version\n      matchExpressions: {major: {op: Ge, value: ['1']}}\n"
    nodeworthy("check", layout("app", "amd64", "arm64"), "--spec", "-", input=spec, code=0)


def test_debug_shows_the_trace(nodeworthy: "Nodeworthy") -> None:
    with pytest.raises(AssertionError, match="Traceback"):
        nodeworthy("check", "UPPER/x", "--debug")
