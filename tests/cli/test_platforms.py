"""``nodeworthy platforms`` as a pipeline runs it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from nodeworthy import platforms

if TYPE_CHECKING:
    from tests.cli.conftest import Nodeworthy
    from tests.conftest import Oras

Layout = Callable[..., str]


@pytest.fixture
def mislabelled(tmp_path: Path, builder: ModuleType) -> str:
    """An index whose child for arm64 was built for s390x, and that lists one child which is not there."""
    made = builder.Layout(tmp_path / "mislabelled")
    children: list[dict[str, Any]] = []
    for claimed, built in (("amd64", "amd64"), ("arm64", "s390x"), ("ppc64le", "ppc64le")):
        image = made.add_image(f"{built}\n", built)
        children.append({**image, "platform": {"os": "linux", "architecture": claimed}})
    lost = children[2]["digest"].removeprefix("sha256:")
    (tmp_path / "mislabelled" / "blobs" / "sha256" / lost).unlink()
    media_type = "application/vnd.oci.image.index.v1+json"
    index = {"schemaVersion": 2, "mediaType": media_type, "manifests": children}
    made.finish(made.add(media_type, msgspec.json.encode(index)), "latest")
    return "oci:mislabelled"


def test_all_that_is_required_is_there(nodeworthy: "Nodeworthy", layout: Layout) -> None:
    image = layout("app", "amd64", "arm64")
    nodeworthy("platforms", image, code=0)
    nodeworthy("platforms", image, "--require", "linux/amd64,linux/arm64/v8", code=0)
    nodeworthy("platforms", image, "--require", "linux/amd64", "--require", "linux/aarch64", code=0)


def test_what_is_missing_is_listed_with_what_is_there(nodeworthy: "Nodeworthy", layout: Layout) -> None:
    done = nodeworthy("platforms", layout("app", "amd64", "arm64"), "--require", "linux/amd64,linux/s390x", code=1)
    assert "missing: linux/s390x: it is offered for linux/amd64, linux/arm64" in done.stdout
    assert "missing: linux/amd64" not in done.stdout


def test_a_single_image_offers_what_its_config_says(nodeworthy: "Nodeworthy", layout: Layout) -> None:
    image = layout("app", "arm64")
    nodeworthy("platforms", image, "--require", "linux/arm64", code=0)
    nodeworthy("platforms", image, "--require", "linux/amd64", code=1)


def test_a_32_bit_image_does_not_stand_in_for_a_64_bit_one(nodeworthy: "Nodeworthy", layout: Layout) -> None:
    assert "missing" in nodeworthy("platforms", layout("app", "arm"), "--require", "linux/arm64", code=1).stdout


def test_a_child_that_is_not_what_its_platform_says_is_a_no(nodeworthy: "Nodeworthy", mislabelled: str) -> None:
    done = nodeworthy("platforms", mislabelled, code=1)
    assert "the index says linux/arm64, the image's config linux/s390x" in done.stdout
    done = nodeworthy("platforms", mislabelled, "--require", "linux/arm64", code=1)
    assert "contradicts: linux/arm64" in done.stdout
    nodeworthy("platforms", mislabelled, "--require", "linux/amd64", code=0)


def test_a_child_that_cannot_be_read_is_unknown(nodeworthy: "Nodeworthy", mislabelled: str) -> None:
    done = nodeworthy("platforms", mislabelled, "--require", "linux/amd64,linux/ppc64le", "-o", "json", code=3)
    report = json.loads(done.stdout)
    assert (report["answer"], report["level"]) == ("unknown", "content")
    assert [one["standing"] for one in report["wanted"]] == ["agrees", "unknown"]
    assert "not in mislabelled" in report["wanted"][1]["reason"]


def test_of_several_images_each_is_answered(nodeworthy: "Nodeworthy", layout: Layout) -> None:
    images = (layout("a", "amd64", "arm64"), layout("b", "amd64"))
    done = nodeworthy("platforms", *images, "oci:nowhere", "--require", "linux/arm64", "-o", "json", code=2)
    assert [report["answer"] for report in json.loads(done.stdout)] == ["yes", "no"]
    assert "nowhere" in done.stderr
    nodeworthy("platforms", *images, "--require", "linux/arm64", code=1)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "no image is named"),
        (("oci:app", "--require", "arm64"), "not a platform"),
        (("oci:app", "--require", "linux/amd64,"), "not a platform"),
        (("oci:app", "--build-arg", "A=1"), "--containerfile"),
        (("--containerfile", "missing"), "No such file"),
        (("UPPER/x",), "upper-case"),
    ],
)
def test_a_wrong_call_is_a_usage_error(arguments: tuple[str, ...], says: str, nodeworthy: "Nodeworthy") -> None:
    assert says in nodeworthy("platforms", *arguments, code=2).stderr


def test_images_of_a_containerfile_are_asked_before_a_build(
    nodeworthy: "Nodeworthy", layout: Layout, tmp_path: Path
) -> None:
    layout("both", "amd64", "arm64")
    layout("one", "amd64")
    (tmp_path / "Containerfile").write_text(
        "ARG BASE\nFROM --platform=linux/amd64 oci:one AS build\nFROM ${BASE:-oci:both}\nCOPY --from=build /x /x\n"
    )
    ask = ("platforms", "--containerfile", "Containerfile", "--require", "linux/amd64,linux/arm64")
    assert "oci:both (Containerfile:3): yes" in nodeworthy(*ask, code=0).stdout
    done = nodeworthy(*ask, "--build-arg", "BASE=oci:one", code=1)
    assert "oci:one (Containerfile:2, Containerfile:3): no" in done.stdout
    assert "missing: linux/arm64" in done.stdout


def test_without_required_platforms_a_containerfile_is_for_this_machine(
    nodeworthy: "Nodeworthy", layout: Layout
) -> None:
    here = platforms.normalize("linux", os.uname().machine)
    layout("app", here.architecture)
    text = "FROM oci:app\nFROM --platform=$BUILDPLATFORM oci:app\nFROM scratch\n"
    done = nodeworthy("platforms", "--containerfile", "-", "-o", "json", input=text, code=0)
    (report,) = json.loads(done.stdout)
    assert [one["platform"] for one in report["wanted"]] == [str(here)]
    assert report["named_by"] == ["-:1", "-:2"]
    done = nodeworthy("platforms", "--containerfile", "-", input="FROM scratch", code=0)
    assert "builds from no image" in done.stderr


def test_an_image_that_cannot_be_told_is_an_error_and_the_others_are_answered(
    nodeworthy: "Nodeworthy", layout: Layout
) -> None:
    layout("app", "amd64")
    text = "FROM oci:app\nFROM $BASE\n"
    done = nodeworthy("platforms", "--containerfile", "-", "--require", "linux/amd64", input=text, code=2)
    assert "oci:app (-:1): yes" in done.stdout
    assert "-:2: $BASE is empty (give its value: --build-arg NAME=VALUE)" in done.stderr


def test_an_image_of_a_containerfile_that_cannot_be_looked_up_is_named_with_its_line(nodeworthy: "Nodeworthy") -> None:
    done = nodeworthy("platforms", "--containerfile", "-", input="FROM localhost:1/$BASE\n", code=2)
    assert "-:1: 'localhost:1/' is not an image reference" in done.stderr


@pytest.mark.parametrize("registry", ["referrers_registry", "distribution_registry"])
def test_in_a_registry_the_attestations_of_a_build_are_no_platform(
    registry: str,
    request: pytest.FixtureRequest,
    nodeworthy: "Nodeworthy",
    oras: "Oras",
    tmp_path: Path,
    builder: ModuleType,
) -> None:
    made = builder.Layout(tmp_path / "app")
    image, attestation = made.add_image("x\n", "amd64"), made.add_image("y\n", "unknown")
    children = [
        {**image, "platform": {"os": "linux", "architecture": "amd64"}},
        {**attestation, "platform": {"os": "unknown", "architecture": "unknown"}},
    ]
    media_type = "application/vnd.oci.image.index.v1+json"
    index = {"schemaVersion": 2, "mediaType": media_type, "manifests": children}
    made.finish(made.add(media_type, msgspec.json.encode(index)), "latest")
    name = f"{request.getfixturevalue(registry)}/app:1"
    oras("cp", "--from-oci-layout", "app:latest", "--to-plain-http", name)
    report = json.loads(nodeworthy("platforms", name, "--plain-http", "-o", "json", code=0).stdout)
    assert [offer["platform"] for offer in report["offers"]] == ["linux/amd64"]
    nodeworthy("platforms", name, "--plain-http", "--require", "linux/arm64", code=1)


def test_a_registry_that_is_busy_is_unknown(nodeworthy: "Nodeworthy", broken_registry: Callable[..., str]) -> None:
    host = broken_registry(lambda _: (503, {}, b""))
    done = nodeworthy(
        "platforms", f"{host}/app:1", "--plain-http", "--timeout", "1", "--require", "linux/amd64", code=3
    )
    assert "is not served now" in done.stderr


def test_only_what_is_wanted_is_asked_of_a_registry(
    nodeworthy: "Nodeworthy", layout: Layout, tmp_path: Path, broken_registry: Callable[..., str]
) -> None:
    layout("app", "amd64", "arm64", "s390x")
    asked: list[str] = []

    def answer(path: str) -> tuple[int, dict[str, str], bytes]:
        asked.append(path)
        if path.endswith("/manifests/1"):
            index = json.loads((tmp_path / "app" / "index.json").read_bytes())["manifests"][0]
            path = path.replace("/manifests/1", f"/manifests/{index['digest']}")
        kind, digest = path.split("/")[-2:]
        data = (tmp_path / "app" / "blobs" / digest.replace(":", "/")).read_bytes()
        media_type = json.loads(data)["mediaType"] if kind == "manifests" else "application/octet-stream"
        return 200, {"Content-Type": media_type}, data

    host = broken_registry(answer)
    nodeworthy("platforms", f"{host}/app:1", "--plain-http", "--no-content", "--require", "linux/arm64", code=0)
    assert len(asked) == 3  # the index, one manifest, its config
