"""``nodeworthy platforms --content``: programs that are not what the platform of their image says."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from tests.resolver.inspection.elves import Made

if TYPE_CHECKING:
    from tests.cli.conftest import Nodeworthy
    from tests.conftest import Oras

AMD64, ARM64 = Made(machine=62, kind=2).bytes(), Made(machine=183, kind=2).bytes()
INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"

Build = Callable[..., str]


def pack(files: Mapping[str, bytes]) -> bytes:
    """A layer with these files, all of them executable."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o755
            archive.addfile(member, io.BytesIO(data))
    return stream.getvalue()


@pytest.fixture
def build(tmp_path: Path, builder: ModuleType) -> Build:
    """Makes ``oci:app``, an index of images by architecture: files, and the command line that is started."""

    def make(images: Mapping[str, tuple[Mapping[str, bytes], tuple[str, ...]]], system: str = "linux") -> str:
        made = builder.Layout(tmp_path / "app")
        children: list[dict[str, Any]] = []
        for architecture, (files, entrypoint) in images.items():
            layer = pack(files)
            diff = f"sha256:{hashlib.sha256(layer).hexdigest()}"
            config = {"os": system, "architecture": architecture, "config": {"Entrypoint": entrypoint}}
            config |= {"rootfs": {"type": "layers", "diff_ids": [diff]}}
            manifest = {
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": made.add("application/vnd.oci.image.config.v1+json", json.dumps(config).encode()),
                "layers": [made.add("application/vnd.oci.image.layer.v1.tar+gzip", gzip.compress(layer, mtime=0))],
            }
            said = {"platform": {"os": system, "architecture": architecture}}
            children.append(made.add(MANIFEST, json.dumps(manifest).encode()) | said)
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": children}
        made.finish(made.add(INDEX, json.dumps(index).encode()), "latest")
        return "oci:app"

    return make


def test_a_program_for_another_machine_is_found_by_looking_inside(nodeworthy: "Nodeworthy", build: Build) -> None:
    image = build({"amd64": ({"app": AMD64}, ("/app",)), "arm64": ({"app": AMD64}, ("/app",))})
    ask = ("platforms", image, "--require", "linux/amd64,linux/arm64")
    assert "CONFIG" in nodeworthy(*ask, "--no-content", code=0).stdout
    said = nodeworthy(*ask, code=1).stdout
    assert (
        "contradicts: linux/arm64: the image says it is for linux/arm64, but /app, which it starts, is for amd64"
        in said
    )
    assert "CONTENT" in said
    assert "linux/amd64: " not in said
    report = json.loads(nodeworthy("platforms", image, "--content", "-o", "json", code=1).stdout)
    assert report["level"] == "content"
    assert [offer["standing"] for offer in report["offers"]] == ["agrees", "contradicts"]


@pytest.mark.parametrize(
    ("files", "entrypoint", "code"),
    [
        ({"app": ARM64}, ("/app",), 0),
        ({"bin/sh": ARM64, "run": b"#!/bin/sh\nexit\n"}, ("/run",), 0),
        ({"bin/sh": AMD64, "run": b"#!/bin/sh\nexit\n"}, ("/run",), 1),
        ({"bin/one": ARM64, "bin/two": AMD64}, (), 0),
        ({"bin/one": AMD64, "bin/two": AMD64}, (), 1),
        ({"data": b"1"}, (), 0),
    ],
    ids=["program", "shell", "foreign shell", "some of its programs", "none of its programs", "no program"],
)
def test_what_is_started_decides_or_else_all_programs_do(
    files: Mapping[str, bytes], entrypoint: tuple[str, ...], code: int, nodeworthy: "Nodeworthy", build: Build
) -> None:
    nodeworthy("platforms", build({"arm64": (files, entrypoint)}), "--content", code=code)


def test_programs_of_another_system_are_not_known(nodeworthy: "Nodeworthy", build: Build) -> None:
    image = build({"amd64": ({"app.exe": b"MZ"}, ("/app.exe",))}, system="windows")
    nodeworthy("platforms", image, code=0)
    assert "programs of windows are not looked at" in nodeworthy("platforms", image, "--content", code=3).stdout


def test_only_the_layers_of_what_is_wanted_are_read_and_one_that_cannot_be_is_unknown(
    nodeworthy: "Nodeworthy", build: Build, tmp_path: Path
) -> None:
    image = build({"amd64": ({"app": AMD64}, ("/app",)), "arm64": ({"app": ARM64}, ("/app",))})
    for blob in (tmp_path / "app" / "blobs" / "sha256").iterdir():
        data = blob.read_bytes()
        if data.startswith(b"\x1f\x8b") and ARM64 in gzip.decompress(data):
            blob.write_bytes(b"\x1f\x8b damaged")
    nodeworthy("platforms", image, "--content", "--require", "linux/amd64", code=0)
    said = nodeworthy("platforms", image, "--content", "--require", "linux/arm64", code=3).stdout
    assert "unknown: linux/arm64: its layers could not be read" in said


def test_in_a_registry_too(referrers_registry: str, nodeworthy: "Nodeworthy", build: Build, oras: "Oras") -> None:
    build({"amd64": ({"app": AMD64}, ("/app",)), "arm64": ({"app": AMD64}, ("/app",))})
    name = f"{referrers_registry}/app:1"
    oras("cp", "--from-oci-layout", "app:latest", "--to-plain-http", name)
    nodeworthy("platforms", name, "--plain-http", "--content", "--require", "linux/amd64", code=0)
    nodeworthy("platforms", name, "--plain-http", "--content", "--require", "linux/arm64", code=1)
