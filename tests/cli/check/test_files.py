"""``nodeworthy check`` and ``spec show`` on images that lie in files: archives and SIF files; no registry is needed."""

import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Nodeworthy

RESOLVER = Path(__file__).parents[2] / "resolver" / "oci"
SIF = RESOLVER / "sif" / "siftool-2.24.2-arm64.sif"
CRANE = RESOLVER / "archive" / "crane-0.22.1.tar"


@pytest.mark.parametrize("mode", ["w", "w:gz"])
@pytest.mark.usefixtures("folder")
def test_an_archive_is_checked_like_the_folder_that_it_was(
    mode: str, nodeworthy: "Nodeworthy", layout: Callable[..., str], tmp_path: Path
) -> None:
    nodeworthy("spec", "attach", layout("app", "amd64", "arm64"), "spec.yaml", code=0)
    with tarfile.open(tmp_path / "app.tar", mode) as archive:  # type: ignore[call-overload] # one of the two modes
        archive.add(tmp_path / "app", ".")
    for name, code in (("both", 0), ("none", 1)):
        nodeworthy("check", "oci-archive:app.tar", "--on", f"{name}.json", code=code)
    nodeworthy("check", "oci-archive:app.tar:latest", "--on", "both.json", code=0)
    assert "no image tagged 'v9'" in nodeworthy("check", "oci-archive:app.tar:v9", "--on", "both.json", code=2).stderr
    shown = nodeworthy("spec", "show", "oci-archive:app.tar", code=0).stdout
    assert shown == (tmp_path / "spec.yaml").read_text()
    assert "oci-archive:./app.tar" in nodeworthy("check", "./app.tar", "--on", "both.json", code=2).stderr


@pytest.mark.usefixtures("folder")
def test_what_another_tool_saved_for_docker_is_checked_by_its_platform(nodeworthy: "Nodeworthy") -> None:
    done = nodeworthy("check", f"docker-archive:{CRANE}", "--no-inspect", "--on", "both.json", "-o", "json", code=3)
    verdict = json.loads(done.stdout)
    assert verdict["platform"] == "linux/amd64"
    assert "nothing-declared" in {finding["code"] for finding in verdict["findings"]}
    nodeworthy("check", f"docker-archive:{CRANE}", "--no-inspect", "--spec", "spec.yaml", "--on", "both.json", code=0)
    # Its config starts a program that no layer has.
    found = nodeworthy("check", f"docker-archive:{CRANE}", "--on", "both.json", code=1).stdout
    assert "image-defect" in found
    assert "/bin/cat" in found


@pytest.mark.usefixtures("folder")
def test_a_singularity_file_is_checked_by_its_header_and_the_specification_beside_it(
    nodeworthy: "Nodeworthy", tmp_path: Path, make_facts: Callable[..., str], spec: str
) -> None:
    (tmp_path / "app.sif").write_bytes(SIF.read_bytes())
    (tmp_path / "arm.json").write_text(make_facts(architecture="arm64"))
    nodeworthy("check", "app.sif", "--on", "both.json", code=1)
    nodeworthy("check", "app.sif", "--on", "arm.json", code=3)
    nodeworthy("check", "app.sif", "--on", "arm.json", "--spec", "spec.yaml", code=0)
    (tmp_path / "app.sif.compat.yaml").write_text(spec)
    nodeworthy("check", "app.sif", "--on", "arm.json", code=0)
    assert nodeworthy("spec", "show", "app.sif", code=0).stdout == spec
    assert "app.sif.compat.yaml" in nodeworthy("spec", "attach", "app.sif", "spec.yaml", code=2).stderr
    (tmp_path / "app.sif.compat.yaml").write_text("nonsense")
    nodeworthy("check", "app.sif", "--on", "arm.json", code=3)
