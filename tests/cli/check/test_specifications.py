"""``nodeworthy check`` and what an image declares: attached by us or by others, to it or to a child, or only tried."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.check.conftest import MakeFacts
    from tests.cli.conftest import Nodeworthy
    from tests.conftest import Oras

ARTIFACT_TYPE = "application/vnd.nfd.image-compatibility.v1alpha1"

NODES = {
    "both": (0, "compatible", 10),
    "second": (0, "compatible", 1),
    "none": (1, "incompatible", None),
}


@pytest.mark.parametrize("attached_by", ["oras", "oras without a media type", "spec attach"])
@pytest.mark.usefixtures("folder")
def test_e9_an_attached_specification_decides(
    attached_by: str, registry: str, nodeworthy: "Nodeworthy", oras: "Oras", layout: Callable[..., str]
) -> None:
    layout("app")
    image = f"{registry}/team/app:1"
    oras("cp", "--from-oci-layout", "app:latest", "--to-plain-http", image)
    if attached_by == "spec attach":
        nodeworthy("spec", "attach", image, "spec.yaml", "--plain-http", code=0)
    else:
        media_type = ":application/vnd.nfd.image-compatibility.spec.v1alpha1+yaml" if attached_by == "oras" else ""
        oras("attach", "--plain-http", "--artifact-type", ARTIFACT_TYPE, image, f"spec.yaml{media_type}")
    for name, (code, answer, score) in NODES.items():
        done = nodeworthy("check", image, "--plain-http", "--on", f"{name}.json", "-o", "json", code=code)
        verdict = json.loads(done.stdout)
        assert (verdict["verdict"], verdict.get("score")) == (answer, score)
    table = nodeworthy("check", image, "--plain-http", "--on", "second.json", code=0).stdout
    assert "compatible (score 1)" in table
    assert "NOT MET   pci.device vendor   10de     8086" in table


@pytest.mark.usefixtures("folder")
def test_e9_a_set_over_facts_that_are_not_known_is_unknown(
    folder: Path, nodeworthy: "Nodeworthy", layout: Callable[..., str], spec: str
) -> None:
    (folder / "spec.yaml").write_text(spec[: spec.index("- description: without it")])
    image = layout("app")
    nodeworthy("spec", "attach", image, "spec.yaml", code=0)
    done = nodeworthy("check", image, "--on", "blind.json", code=3)
    assert "unknown" in done.stdout
    assert "Permission denied" in done.stdout


@pytest.mark.usefixtures("folder")
def test_oras_discovers_what_spec_attach_attached(
    registry: str, nodeworthy: "Nodeworthy", oras: "Oras", layout: Callable[..., str], spec: str
) -> None:
    layout("app")
    image = f"{registry}/app:1"
    oras("cp", "--from-oci-layout", "app:latest", "--to-plain-http", image)
    done = nodeworthy("spec", "attach", image, "spec.yaml", "--plain-http", "-o", "json", code=0)
    found = json.loads(oras("discover", "--plain-http", "--format", "json", image).stdout)
    [referrer] = found.get("referrers") or found["manifests"]
    assert referrer["digest"] == json.loads(done.stdout)["digest"]
    assert referrer["artifactType"] == ARTIFACT_TYPE
    assert nodeworthy("spec", "show", image, "--plain-http", code=0).stdout == spec


def test_a_specification_can_be_attached_to_one_child_of_an_index(
    folder: Path, nodeworthy: "Nodeworthy", layout: Callable[..., str], make_facts: "MakeFacts"
) -> None:
    image = layout("app", "amd64", "arm64")
    nodeworthy("spec", "attach", image, "spec.yaml", "--platform", "linux/arm64", code=0)
    (folder / "arm.json").write_text(make_facts(architecture="arm64"))
    assert nodeworthy("check", image, "--on", "arm.json", code=0).stdout.startswith("oci:app")
    assert (
        "nothing-declared"
        in nodeworthy("check", image, "--no-inspect", "--on", "both.json", "-o", "json", code=3).stdout
    )
    nodeworthy("spec", "show", image, code=1)
    nodeworthy("spec", "show", image, "--platform", "linux/arm64", code=0)


def test_a_specification_on_the_index_counts_for_every_child(
    folder: Path, nodeworthy: "Nodeworthy", layout: Callable[..., str], make_facts: "MakeFacts"
) -> None:
    image = layout("app", "amd64", "arm64")
    nodeworthy("spec", "attach", image, "spec.yaml", code=0)
    (folder / "arm.json").write_text(make_facts(architecture="arm64"))
    for node in ("arm.json", "both.json"):
        nodeworthy("check", image, "--on", node, code=0)


@pytest.mark.usefixtures("folder")
def test_the_childs_specification_comes_first_even_where_its_level_is_unknown(
    nodeworthy: "Nodeworthy", builder: ModuleType, tmp_path: Path, spec: str
) -> None:
    made = builder.Layout(tmp_path / "app")
    child = {**made.add_image("x", "amd64"), "platform": {"os": "linux", "architecture": "amd64", "variant": "v3"}}
    media_type = "application/vnd.oci.image.index.v1+json"
    index = {"schemaVersion": 2, "mediaType": media_type, "manifests": [child]}
    made.finish(made.add(media_type, json.dumps(index).encode()), "latest")
    nodeworthy("spec", "attach", "oci:app", "-", input=spec.replace("Intel", "Nobody"), code=0)
    nodeworthy("check", "oci:app", "--on", "both.json", code=1)
    nodeworthy("spec", "attach", "oci:app", "spec.yaml", "--platform", "linux/amd64/v3", code=0)
    nodeworthy("check", "oci:app", "--on", "both.json", code=3)


@pytest.mark.usefixtures("folder")
def test_a_specification_that_is_not_attached_yet_can_be_tried(
    nodeworthy: "Nodeworthy", layout: Callable[..., str], spec: str
) -> None:
    image = layout("app")
    for name, (code, *_) in NODES.items():
        nodeworthy("check", image, "--on", f"{name}.json", "--spec", "spec.yaml", code=code)
    nodeworthy("check", image, "--on", "both.json", "--spec", "-", input=spec, code=0)


@pytest.mark.usefixtures("folder")
def test_tags_choose_among_the_sets(nodeworthy: "Nodeworthy", layout: Callable[..., str]) -> None:
    ask = ("check", layout("app"), "--spec", "spec.yaml", "--on", "second.json")
    nodeworthy(*ask, "--tag", "preferred", code=1)
    nodeworthy(*ask, "--tag", "preferred", "--tag", "fallback", code=0)
    done = nodeworthy(*ask, "--tag", "fast", code=2)
    assert "fallback, preferred" in done.stderr


@pytest.mark.usefixtures("folder")
def test_an_attached_tag_that_nothing_carries_is_a_usage_error(
    nodeworthy: "Nodeworthy", layout: Callable[..., str]
) -> None:
    image = layout("app")
    nodeworthy("spec", "attach", image, "spec.yaml", code=0)
    nodeworthy("check", image, "--on", "both.json", "--tag", "fast", code=2)


@pytest.mark.parametrize("text", ["", "{}", "version: v1alpha1\n", "version: v1alpha1\ncompatibilities: []\n"])
def test_an_artifact_without_any_set_is_an_error_and_not_compatible(
    text: str, folder: Path, referrers_registry: str, nodeworthy: "Nodeworthy", oras: "Oras", layout: Callable[..., str]
) -> None:
    layout("app")
    (folder / "empty.yaml").write_text(text or "\n")
    image = f"{referrers_registry}/app:1"
    oras("cp", "--from-oci-layout", "app:latest", "--to-plain-http", image)
    oras("attach", "--plain-http", "--artifact-type", ARTIFACT_TYPE, image, "empty.yaml")
    done = nodeworthy("check", image, "--plain-http", "--on", "both.json", code=2)
    assert "no compatibility set" in done.stderr
    done = nodeworthy("check", "oci:app", "--spec", "empty.yaml", "--on", "both.json", code=2)
    assert "no compatibility set" in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("v1alpha1", "v9", "unsupported version"),
        ("op: Exists", "op: Exits", "Exits"),
        ("weight: 10", "weight: heavy", "weight"),
        ("compatibilities:", "compatibilities: 5\nx:", "compatibilities"),
        ("matchFeatures:", "matchFeature:", "matchFeature"),  # passed over, it would be a rule that always matches
        ("version", "\tversion", "YAML"),
    ],
)
def test_a_bad_specification_is_named_with_its_line_whoever_brings_it(
    old: str, new: str, says: str, folder: Path, nodeworthy: "Nodeworthy", layout: Callable[..., str], spec: str
) -> None:
    bad = folder / "bad.yaml"
    bad.write_text(spec.replace(old, new, 1))
    image = layout("app")
    done = nodeworthy("check", image, "--spec", "bad.yaml", "--on", "both.json", code=2)
    assert says in done.stderr
    assert "bad.yaml:" in done.stderr
    assert says in nodeworthy("spec", "validate", "bad.yaml", code=1).stdout
    assert says in nodeworthy("spec", "attach", image, "bad.yaml", code=2).stderr


@pytest.mark.parametrize(
    ("old", "new"), [("v1alpha1", "v9"), ("weight: 10", "weight: heavy"), ("version", "\tversion")]
)
def test_an_attached_specification_that_cannot_be_read_is_unknown(
    old: str,
    new: str,
    folder: Path,
    referrers_registry: str,
    nodeworthy: "Nodeworthy",
    oras: "Oras",
    layout: Callable[..., str],
    spec: str,
) -> None:
    layout("app")
    (folder / "bad.yaml").write_text(spec.replace(old, new, 1))
    image = f"{referrers_registry}/app:1"
    oras("cp", "--from-oci-layout", "app:latest", "--to-plain-http", image)
    oras("attach", "--plain-http", "--artifact-type", ARTIFACT_TYPE, image, "bad.yaml")
    done = nodeworthy("check", image, "--plain-http", "--on", "both.json", "-o", "json", code=3)
    assert json.loads(done.stdout)["verdict"] == "unknown"


def test_one_rule_that_cannot_be_read_harms_only_its_set(
    folder: Path, referrers_registry: str, nodeworthy: "Nodeworthy", oras: "Oras", layout: Callable[..., str], spec: str
) -> None:
    layout("app")
    (folder / "bad.yaml").write_text(spec.replace("op: Exists", "op: Exits", 1))
    image = f"{referrers_registry}/app:1"
    oras("cp", "--from-oci-layout", "app:latest", "--to-plain-http", image)
    oras("attach", "--plain-http", "--artifact-type", ARTIFACT_TYPE, image, "bad.yaml")
    ask = ("check", image, "--plain-http", "--on", "both.json", "-o", "json")
    verdict = json.loads(nodeworthy(*ask, code=0).stdout)
    assert verdict["score"] == 1
    assert verdict["sets"][0]["state"] == "unknown"
    nodeworthy(*ask, "--tag", "preferred", code=3)
