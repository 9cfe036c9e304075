"""Build two small images into OCI layout folders: `python examples/build_images.py FOLDER`.

An image here is what the OCI image specification calls one: a layer with a file, a config with the platform, a manifest and
an index.json that names it.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
from pathlib import Path
from typing import Any

NAMES = ("fits", "does-not-fit")

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
"""``uname -m`` to the name that images use; others are spelt alike in both."""


class Layout:
    """An OCI image layout folder that is being written."""

    def __init__(self, folder: Path) -> None:
        self.blobs = folder / "blobs" / "sha256"
        self.blobs.mkdir(parents=True)
        self.folder = folder
        (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')

    def add(self, media_type: str, data: bytes) -> dict[str, Any]:
        """Store a blob and return its descriptor."""
        digest = hashlib.sha256(data).hexdigest()
        (self.blobs / digest).write_bytes(data)
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}

    def add_image(self, text: str, architecture: str) -> dict[str, Any]:
        """Store an image with one file and return its manifest's descriptor."""
        layer = _layer(text)
        config = {
            "architecture": architecture,
            "os": "linux",
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        }
        media_type = "application/vnd.oci.image.manifest.v1+json"
        manifest = {
            "schemaVersion": 2,
            "mediaType": media_type,
            "config": self.add("application/vnd.oci.image.config.v1+json", _json(config)),
            "layers": [self.add("application/vnd.oci.image.layer.v1.tar+gzip", gzip.compress(layer, mtime=0))],
        }
        return self.add(media_type, _json(manifest))

    def finish(self, descriptor: dict[str, Any], tag: str) -> None:
        """Write the index that makes the folder a layout with one tagged image."""
        entry = {**descriptor, "annotations": {"org.opencontainers.image.ref.name": tag}}
        index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [entry]}
        (self.folder / "index.json").write_bytes(_json(index))


def build(folder: Path, architecture: str) -> list[Path]:
    """Build the images ``fits`` and ``does-not-fit`` below the folder and return their layout folders."""
    built = []
    for name in NAMES:
        layout = Layout(folder / name)
        layout.finish(layout.add_image(f"I am the example {name}.\n", architecture), "latest")
        built.append(layout.folder)
    return built


def _layer(text: str) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        entry = tarfile.TarInfo("hello")
        entry.size = len(text.encode())
        archive.addfile(entry, io.BytesIO(text.encode()))
    return stream.getvalue()


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def machine_architecture() -> str:
    """This machine's architecture as images name it."""
    machine = os.uname().machine
    return ARCHITECTURES.get(machine, machine)


def main(arguments: list[str]) -> int:
    """Build the images where the arguments say; status 2 and the reason on standard error if that cannot be done."""
    parser = argparse.ArgumentParser(description="Build two small images, each into an OCI layout folder of its own.")
    parser.add_argument("folder", metavar="FOLDER", type=Path, help=f"gets the folders {' and '.join(NAMES)}")
    folder: Path = parser.parse_args(arguments).folder
    try:
        there = [folder / name for name in NAMES if (folder / name).exists()]
        if there:
            parser.error(f"{there[0]} is there already; remove it, or name another folder")
        for path in build(folder, machine_architecture()):
            print(path)
    except OSError as error:
        parser.error(f"{error.filename or folder} cannot be written: {error.strerror}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
