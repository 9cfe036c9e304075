"""``nodeworthy check`` end to end: the installed program, real registries, exit codes."""

import json
import socket
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Nodeworthy
    from tests.conftest import Oras, SecuredRegistry

SPEC = """
version: v1alpha1
compatibilities:
- description: with the card
  tag: preferred
  weight: 10
  rules:
  - name: module
    matchFeatures:
    - feature: kernel.loadedmodule
      matchExpressions:
        vfio-pci: {op: Exists}
  - name: vendor
    matchFeatures:
    - feature: cpu.model
      matchExpressions:
        vendor_id: {op: In, value: [Intel]}
  - name: card
    matchFeatures:
    - feature: pci.device
      matchExpressions:
        vendor: {op: In, value: ["10de"]}
- description: without it
  tag: fallback
  weight: 1
  rules:
  - name: vendor
    matchFeatures:
    - feature: cpu.model
      matchExpressions:
        vendor_id: {op: In, value: [Intel]}
"""

ONLY_PREFERRED = SPEC[: SPEC.index("- description: without it")]

ARTIFACT_TYPE = "application/vnd.nfd.image-compatibility.v1alpha1"


def facts(vendor: str = "Intel", card: str | None = "10de", architecture: str = "amd64") -> str:
    document: dict[str, Any] = {
        "flags": {"kernel.loadedmodule": {"elements": {"vfio_pci": {}}}},
        "attributes": {
            "cpu.model": {"elements": {"vendor_id": vendor}},
            "system.architecture": {"elements": {"architecture": architecture}},
        },
        "instances": {},
        "sets": {},
        "catalogue": ["cpu.model", "kernel.loadedmodule", "pci.device", "system.architecture"],
    }
    if card is None:
        document["sets"] = {"pci.device": {"state": "unknown", "reason": "sys/bus/pci/devices: Permission denied"}}
    else:
        document["instances"]["pci.device"] = {"elements": [{"attributes": {"vendor": card, "class": "0302"}}]}
    return json.dumps(document)


NODES = {
    "both": (facts(), 0, "compatible", 10),
    "second": (facts(card="8086"), 0, "compatible", 1),
    "none": (facts(vendor="AMD"), 1, "incompatible", None),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "spec.yaml").write_text(SPEC)
    for name, (text, *_) in NODES.items():
        (tmp_path / f"{name}.json").write_text(text)
    (tmp_path / "blind.json").write_text(facts(card=None))
    return tmp_path


@pytest.fixture(params=["referrers_registry", "distribution_registry"])
def registry(request: pytest.FixtureRequest) -> str:
    """A registry with the referrers API and one without it."""
    host: str = request.getfixturevalue(request.param)
    return host


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
    for name, (_, code, answer, score) in NODES.items():
        done = nodeworthy("check", image, "--plain-http", "--on", f"{name}.json", "-o", "json", code=code)
        verdict = json.loads(done.stdout)
        assert (verdict["verdict"], verdict.get("score")) == (answer, score)
    table = nodeworthy("check", image, "--plain-http", "--on", "second.json", code=0).stdout
    assert "compatible (score 1)" in table
    assert "NOT MET   pci.device vendor   10de     8086" in table


@pytest.mark.usefixtures("folder")
def test_e9_a_set_over_facts_that_are_not_known_is_unknown(
    folder: Path, nodeworthy: "Nodeworthy", layout: Callable[..., str]
) -> None:
    (folder / "spec.yaml").write_text(ONLY_PREFERRED)
    image = layout("app")
    nodeworthy("spec", "attach", image, "spec.yaml", code=0)
    done = nodeworthy("check", image, "--on", "blind.json", code=3)
    assert "unknown" in done.stdout
    assert "Permission denied" in done.stdout


def test_oras_discovers_what_spec_attach_attached(
    folder: Path, registry: str, nodeworthy: "Nodeworthy", oras: "Oras", layout: Callable[..., str]
) -> None:
    layout("app")
    image = f"{registry}/app:1"
    oras("cp", "--from-oci-layout", "app:latest", "--to-plain-http", image)
    done = nodeworthy("spec", "attach", image, "spec.yaml", "--plain-http", "-o", "json", code=0)
    found = json.loads(oras("discover", "--plain-http", "--format", "json", image).stdout)
    [referrer] = found.get("referrers") or found["manifests"]
    assert referrer["digest"] == json.loads(done.stdout)["digest"]
    assert referrer["artifactType"] == ARTIFACT_TYPE
    assert nodeworthy("spec", "show", image, "--plain-http", code=0).stdout == (folder / "spec.yaml").read_text()


def test_a_specification_can_be_attached_to_one_child_of_an_index(
    folder: Path, nodeworthy: "Nodeworthy", layout: Callable[..., str]
) -> None:
    image = layout("app", "amd64", "arm64")
    nodeworthy("spec", "attach", image, "spec.yaml", "--platform", "linux/arm64", code=0)
    (folder / "arm.json").write_text(facts(architecture="arm64"))
    assert nodeworthy("check", image, "--on", "arm.json", code=0).stdout.startswith("oci:app")
    assert "nothing-declared" in nodeworthy("check", image, "--on", "both.json", "-o", "json", code=3).stdout
    nodeworthy("spec", "show", image, code=1)
    nodeworthy("spec", "show", image, "--platform", "linux/arm64", code=0)


def test_a_specification_on_the_index_counts_for_every_child(
    folder: Path, nodeworthy: "Nodeworthy", layout: Callable[..., str]
) -> None:
    image = layout("app", "amd64", "arm64")
    nodeworthy("spec", "attach", image, "spec.yaml", code=0)
    (folder / "arm.json").write_text(facts(architecture="arm64"))
    for node in ("arm.json", "both.json"):
        nodeworthy("check", image, "--on", node, code=0)


@pytest.mark.usefixtures("folder")
def test_the_childs_specification_comes_first_even_where_its_level_is_unknown(
    nodeworthy: "Nodeworthy", builder: ModuleType, tmp_path: Path
) -> None:
    made = builder.Layout(tmp_path / "app")
    child = {**made.add_image("x", "amd64"), "platform": {"os": "linux", "architecture": "amd64", "variant": "v3"}}
    media_type = "application/vnd.oci.image.index.v1+json"
    index = {"schemaVersion": 2, "mediaType": media_type, "manifests": [child]}
    made.finish(made.add(media_type, json.dumps(index).encode()), "latest")
    nodeworthy("spec", "attach", "oci:app", "-", input=SPEC.replace("Intel", "Nobody"), code=0)
    nodeworthy("check", "oci:app", "--on", "both.json", code=1)
    nodeworthy("spec", "attach", "oci:app", "spec.yaml", "--platform", "linux/amd64/v3", code=0)
    nodeworthy("check", "oci:app", "--on", "both.json", code=3)


@pytest.mark.usefixtures("folder")
def test_a_specification_that_is_not_attached_yet_can_be_tried(
    nodeworthy: "Nodeworthy", layout: Callable[..., str]
) -> None:
    image = layout("app")
    for name, (_, code, *_) in NODES.items():
        nodeworthy("check", image, "--on", f"{name}.json", "--spec", "spec.yaml", code=code)
    nodeworthy("check", image, "--on", "both.json", "--spec", "-", input=SPEC, code=0)


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
    old: str, new: str, says: str, folder: Path, nodeworthy: "Nodeworthy", layout: Callable[..., str]
) -> None:
    bad = folder / "bad.yaml"
    bad.write_text(SPEC.replace(old, new, 1))
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
) -> None:
    layout("app")
    (folder / "bad.yaml").write_text(SPEC.replace(old, new, 1))
    image = f"{referrers_registry}/app:1"
    oras("cp", "--from-oci-layout", "app:latest", "--to-plain-http", image)
    oras("attach", "--plain-http", "--artifact-type", ARTIFACT_TYPE, image, "bad.yaml")
    done = nodeworthy("check", image, "--plain-http", "--on", "both.json", "-o", "json", code=3)
    assert json.loads(done.stdout)["verdict"] == "unknown"


def test_one_rule_that_cannot_be_read_harms_only_its_set(
    folder: Path, referrers_registry: str, nodeworthy: "Nodeworthy", oras: "Oras", layout: Callable[..., str]
) -> None:
    layout("app")
    (folder / "bad.yaml").write_text(SPEC.replace("op: Exists", "op: Exits", 1))
    image = f"{referrers_registry}/app:1"
    oras("cp", "--from-oci-layout", "app:latest", "--to-plain-http", image)
    oras("attach", "--plain-http", "--artifact-type", ARTIFACT_TYPE, image, "bad.yaml")
    ask = ("check", image, "--plain-http", "--on", "both.json", "-o", "json")
    verdict = json.loads(nodeworthy(*ask, code=0).stdout)
    assert verdict["score"] == 1
    assert verdict["sets"][0]["state"] == "unknown"
    nodeworthy(*ask, "--tag", "preferred", code=3)


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
def test_an_image_that_declares_nothing_is_unknown_unless_asked_otherwise(
    nodeworthy: "Nodeworthy", layout: Callable[..., str]
) -> None:
    image = layout("app")
    assert "nothing-declared" in nodeworthy("check", image, "--on", "both.json", "-o", "yaml", code=3).stdout
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
def test_a_registry_that_is_down_is_unknown(nodeworthy: "Nodeworthy") -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    done = nodeworthy("check", f"127.0.0.1:{port}/app:1", "--plain-http", "--on", "both.json", code=3)
    assert f"127.0.0.1:{port}" in done.stdout
    assert "unknown" in done.stdout


@pytest.mark.usefixtures("folder")
def test_an_image_that_is_not_there_is_a_usage_error(registry: str, nodeworthy: "Nodeworthy") -> None:
    done = nodeworthy("check", f"{registry}/nobody/nothing:1", "--plain-http", "--on", "both.json", code=2)
    assert "not found or no permission" in done.stderr


@pytest.mark.usefixtures("folder")
def test_a_registry_that_asks_for_a_password_is_unknown_and_answers_with_one(
    folder: Path,
    distribution_basic_registry: "SecuredRegistry",
    nodeworthy: "Nodeworthy",
    oras: "Oras",
    layout: Callable[..., str],
) -> None:
    layout("app")
    secured = distribution_basic_registry
    image = f"{secured.host}/app:1"
    login = ("--to-username", secured.username, "--to-password", secured.password)
    oras("cp", "--from-oci-layout", "app:latest", "--to-plain-http", *login, image)
    assert "401" in nodeworthy("check", image, "--plain-http", "--on", "both.json", code=3).stdout
    oras(
        "login", "--plain-http", secured.host, "-u", secured.username, "-p", secured.password, "--registry-config", "c"
    )
    known = ("--plain-http", "--registry-config", "c")
    nodeworthy("spec", "attach", image, "spec.yaml", *known, code=0)
    nodeworthy("check", image, *known, "--on", "both.json", code=0)
    assert nodeworthy("spec", "attach", image, "spec.yaml", "--plain-http", code=2).stderr.startswith("error: ")
    assert (folder / "c").exists()


HTML = (200, {"Content-Type": "text/html"}, b"<html>please sign in</html>")


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ((500, {}, b"oops"), "500"),
        ((403, {}, b"{}"), "403"),
        (HTML, "web page"),
        ((200, {"Content-Type": "application/vnd.oci.image.manifest.v1+json"}, b"{"), "truncated"),
        ((200, {"Content-Type": "application/vnd.oci.image.manifest.v1+json"}, b"x" * 5_000_000), "4"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_registry_that_answers_nonsense_is_unknown(
    reply: Any, says: str, broken_registry: Callable[[Callable[[str], Any]], str], nodeworthy: "Nodeworthy"
) -> None:
    host = broken_registry(lambda path: (200, {}, b"{}") if path == "/v2/" else reply)
    done = nodeworthy("check", f"{host}/app:1", "--plain-http", "--on", "both.json", "--timeout", "5", code=3)
    assert says in done.stdout


@pytest.mark.usefixtures("folder")
def test_a_manifest_that_is_not_its_digest_is_unknown(
    broken_registry: Callable[[Callable[[str], Any]], str], nodeworthy: "Nodeworthy"
) -> None:
    manifest = (200, {"Content-Type": "application/vnd.oci.image.manifest.v1+json"}, b'{"schemaVersion": 2}')
    host = broken_registry(lambda _: manifest)
    done = nodeworthy("check", f"{host}/app@sha256:{'0' * 64}", "--plain-http", "--on", "both.json", code=3)
    assert "digest" in done.stdout


def test_a_node_is_not_known_without_a_bus(nodeworthy: "Nodeworthy", layout: Callable[..., str]) -> None:
    done = nodeworthy("check", layout("app"), "--on", "node-7", code=2)
    assert "nodeworthy up" in done.stderr


@pytest.mark.parametrize("text", ["", "nonsense", "{}", '{"flags": []}', "\x00"])
def test_a_features_file_that_is_none_is_a_usage_error(
    text: str, tmp_path: Path, nodeworthy: "Nodeworthy", layout: Callable[..., str]
) -> None:
    (tmp_path / "f.json").write_text(text)
    assert "f.json" in nodeworthy("check", layout("app"), "--on", "f.json", code=2).stderr


def test_on_this_machine_the_facts_are_its_own(nodeworthy: "Nodeworthy", layout: Callable[..., str]) -> None:
    spec = "version: v1alpha1\ncompatibilities:\n- rules:\n  - name: k\n    matchFeatures:\n"
    spec += "    - feature: kernel.version\n      matchExpressions: {major: {op: Ge, value: ['1']}}\n"
    nodeworthy("check", layout("app", "amd64", "arm64"), "--spec", "-", input=spec, code=0)


def test_debug_shows_the_trace(nodeworthy: "Nodeworthy") -> None:
    with pytest.raises(AssertionError, match="Traceback"):
        nodeworthy("check", "UPPER/x", "--debug")


@pytest.mark.usefixtures("folder")
def test_the_name_of_a_layout_folder_without_oci_is_recognised(
    nodeworthy: "Nodeworthy", layout: Callable[..., str]
) -> None:
    layout("app")
    assert "write oci:./app" in nodeworthy("check", "./app", code=2).stderr


def test_facts_can_come_on_standard_input(nodeworthy: "Nodeworthy", layout: Callable[..., str]) -> None:
    verdict = json.loads(
        nodeworthy("check", layout("app", "arm64"), "--on", "-", "-o", "json", input=facts(), code=1).stdout
    )
    assert verdict["node_platform"] == "linux/amd64"


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
