"""``nodeworthy inspect``, and what other verbs make of it, as a user runs them: on disk, in a registry, bare files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cases.images.making import write
from tests.cases.images.parts import app, glibc, library, static
from tests.cases.images.records import Child, Image
from tests.cases.images.shapes import one
from tests.resolver.conftest import Builder
from tests.resolver.inspection.sources.conftest import LAYER, config_of
from tests.resolver.inspection.test_apart import packed

from nodeworthy_resolver.oci.manifests import IMAGE_CONFIG

if TYPE_CHECKING:
    from tests.cli.conftest import Nodeworthy
    from tests.conftest import Oras

WHOLE = {"/app": app(), **glibc()}
BROKEN = {"/app": app(needed=("libc.so.6", "libgone.so.1")), **glibc()}

Write = Callable[[str, Image], str]


@pytest.fixture
def make_image(tmp_path: Path) -> Write:
    def make(name: str, image: Image) -> str:
        folder = tmp_path / name
        folder.mkdir()
        return write(image, folder)

    return make


def test_an_image_on_disk_says_what_runs_and_what_is_needed(nodeworthy: "Nodeworthy", make_image: Write) -> None:
    image = make_image("whole", one(WHOLE))
    told = nodeworthy("inspect", image, code=0).stdout
    assert told.startswith(f"{image}: amd64\n  runs: /app\n")
    report = json.loads(nodeworthy("inspect", image, "-o", "json", code=0).stdout)
    assert report["digest"].startswith("sha256:")
    assert report["platform"] == "linux/amd64"
    assert report["inspection"]["machine"] == "amd64"
    assert "libraries" not in report["inspection"]


def test_a_fault_of_the_image_is_exit_code_1_with_its_place_and_cure(
    nodeworthy: "Nodeworthy", make_image: Write
) -> None:
    told = nodeworthy("inspect", make_image("broken", one(BROKEN)), code=1).stdout
    assert "libgone.so.1" in told
    assert "At fault in the image itself, on every node" in told


def test_the_image_of_an_index_is_chosen(nodeworthy: "Nodeworthy", make_image: Write) -> None:
    children = tuple(Child({"/app": static(one)}, platform=f"linux/{one}") for one in ("s390x", "arm64"))
    image = make_image("index", Image(children, is_index=True))
    assert "2 images" in nodeworthy("inspect", image, code=2).stderr
    assert nodeworthy("inspect", image, "--platform", "linux/arm64", code=0).stdout.startswith(f"{image}: arm64")


def test_a_root_folder_and_a_single_program_are_inspected_too(nodeworthy: "Nodeworthy", tmp_path: Path) -> None:
    root = tmp_path / "root"
    for path, content in {**WHOLE, "/bin/sh": static()}.items():
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            place.symlink_to(content.removeprefix("-> "))
        else:
            place.write_bytes(content)
            place.chmod(0o755)
    assert "runs: /bin/sh" in nodeworthy("inspect", "rootfs", "root", code=0).stdout
    assert "runs: /app" in nodeworthy("inspect", "rootfs:root", "--entrypoint", "/app", code=0).stdout
    assert "runs: /sh" in nodeworthy("inspect", "./root/bin/sh", code=0).stdout
    assert "names no folder" in nodeworthy("inspect", "rootfs", code=2).stderr
    assert "cannot be read" in nodeworthy("inspect", "rootfs", "nowhere", code=2).stderr


def test_libraries_are_listed_with_what_they_need(nodeworthy: "Nodeworthy", make_image: Write) -> None:
    image = make_image("whole", one(WHOLE))
    assert "libc.so.6" in nodeworthy("inspect", "--libraries", image, code=0).stdout
    report = json.loads(nodeworthy("inspect", "--libraries", image, "-o", "json", code=0).stdout)
    found = {library["path"]: library for library in report["inspection"]["libraries"]}
    assert found["/app"]["needs"] == ["libc.so.6"]


def test_two_images_are_compared(nodeworthy: "Nodeworthy", make_image: Write) -> None:
    whole, broken = make_image("whole", one(WHOLE)), make_image("broken", one(BROKEN))
    assert "libgone.so.1" in nodeworthy("inspect", "--diff", whole, broken, code=1).stdout
    assert "no difference" in nodeworthy("inspect", "--diff", whole, whole, code=0).stdout
    assert "--diff compares two images" in nodeworthy("inspect", "--diff", whole, code=2).stderr


def test_what_runs_is_written_out(nodeworthy: "Nodeworthy", make_image: Write, tmp_path: Path) -> None:
    files = {"/app": app(needed=("libz.so.1", "libc.so.6")), "/usr/lib/libz.so.1.2": library(name="libz.so.1")}
    image = make_image("whole", one({**files, "/usr/lib/libz.so.1": "-> libz.so.1.2", **glibc(), "/etc/x": b"text"}))
    nodeworthy("inspect", image, "--extract", "out", code=0)
    assert (tmp_path / "out/app").read_bytes() == files["/app"]
    assert (tmp_path / "out/usr/lib/libz.so.1").read_bytes() == files["/usr/lib/libz.so.1.2"]
    assert not (tmp_path / "out/etc").exists()
    assert "not empty" in nodeworthy("inspect", image, "--extract", "out", code=2).stderr


def test_a_draft_of_a_specification_comes_from_the_files(nodeworthy: "Nodeworthy", make_image: Write) -> None:
    image = make_image("whole", one(WHOLE))
    nodeworthy("spec", "new", "--from", image, "spec.yaml", code=0)
    nodeworthy("spec", "validate", "spec.yaml", code=0)
    assert "is there already" in nodeworthy("spec", "new", "--from", image, "spec.yaml", code=2).stderr
    nodeworthy("spec", "attach", image, "spec.yaml", code=0)
    nodeworthy("spec", "new", "--from", make_image("broken", one(BROKEN)), code=1)


def test_an_image_in_a_registry_is_inspected_and_judged_by_its_files(
    nodeworthy: "Nodeworthy", make_image: Write, referrers_registry: str, oras: "Oras", tmp_path: Path
) -> None:
    name = f"{referrers_registry}/inspected:1"
    source = make_image("broken", one(BROKEN)).removeprefix("oci:")
    tag = json.loads((tmp_path / "broken" / "index.json").read_bytes())["manifests"][0]["digest"]
    oras("cp", "--from-oci-layout", f"{source.partition('@')[0]}@{tag}", name, "--to-plain-http")
    assert "libgone.so.1" in nodeworthy("inspect", name, "--plain-http", code=1).stdout
    on = ("--plain-http", "--on", "this", "-o", "json")
    assert json.loads(nodeworthy("check", name, *on, code=3).stdout)["reason"].startswith("the image declares nothing")
    verdict = json.loads(nodeworthy("check", name, "--inspect", *on, code=1).stdout)
    assert verdict["verdict"] == "image-defect"
    assert "libgone.so.1" in verdict["reason"]


def test_an_image_whose_platform_only_its_index_says_is_judged_by_it(
    nodeworthy: "Nodeworthy", referrers_registry: str, oras: "Oras", tmp_path: Path
) -> None:
    build = Builder()
    layer = packed(app=static("arm64"))
    said = json.loads(config_of(layer, Entrypoint=["/app"])) | {"os": "", "architecture": ""}
    config = build.blob(json.dumps(said).encode(), IMAGE_CONFIG)
    image = build.document({"config": config, "layers": [build.blob(layer, LAYER)]})
    build.write_layout(tmp_path / "silent", build.tagged(build.index((image, "linux/amd64")), "1"))
    name = f"{referrers_registry}/silent:1"
    oras("cp", "--from-oci-layout", "silent:1", name, "--to-plain-http")
    for reference, more in (("oci:silent:1", ()), (name, ("--plain-http",))):
        asked = ("check", reference, *more, "--inspect", "-o", "json")
        assert "is for linux/amd64, but /app" in json.loads(nodeworthy(*asked, code=1).stdout)["reason"]
