"""Images of cases as layout folders, looked up, inspected and judged as ``nodeworthy check`` does it."""

import io
import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cases.images.records import Child, Image, Trial
from tests.resolver.conftest import Builder

from nodeworthy.platforms import Platform
from nodeworthy.verdicts import NodeFacts, Verdict, judge
from nodeworthy_cli.learning import learn
from nodeworthy_resolver.oci import RegistryAccess, digests
from nodeworthy_resolver.oci.manifests import IMAGE_CONFIG
from nodeworthy_resolver.oci.store import Content

_LAYER = "application/vnd.oci.image.layer.v1.tar"
_UNKNOWN = {"architecture": "unknown", "os": "unknown"}


@dataclass(frozen=True)
class Asked:
    """A question of the command line, with its usual answers."""

    node: NodeFacts
    wanted: Platform | None = None
    inspect: bool | None = None


async def judged(trial: Trial, folder: Path) -> Verdict:
    """The verdict on a trial, whose image is written into an empty folder."""
    reference = write(trial.image(), folder)
    knowledge = await learn(reference, Asked(trial.node, trial.wanted), RegistryAccess())
    return judge(knowledge, trial.node, wanted=trial.wanted)


def write(image: Image, folder: Path) -> str:
    """Writes a layout folder; gives the reference by which the image is asked for."""
    build = Builder()
    made = [_child(build, child) for child in image.children]
    top = made[0]
    if image.is_index:
        entries = [
            build.entry(content, **_platform(child)) for content, child in zip(made, image.children, strict=True)
        ]
        top = _index(build, entries, image)
    build.write_layout(folder, build.entry(top))
    pin = f"@{made[image.pinned].digest}" if image.pinned is not None else ""
    return f"oci:{folder}{pin}"


def _index(build: Builder, entries: list[dict[str, Any]], image: Image) -> Content:
    if image.with_attestation:
        said = {
            "vnd.docker.reference.type": "attestation-manifest",
            "vnd.docker.reference.digest": entries[0]["digest"],
        }
        statement = build.image("unknown/unknown")
        entries = [build.entry(statement, platform=_UNKNOWN, annotations=said), *entries]
    return build.document({"manifests": entries}, "application/vnd.oci.image.index.v1+json")


def _child(build: Builder, child: Child) -> Content:
    layers = [_pack(files, child.modes) for files in (child.lower, child.files) if files]
    said: dict[str, Any] = {
        **_names(child.platform),
        "config": {
            "Entrypoint": list(child.entrypoint),
            "Env": list(child.environment),
            "WorkingDir": child.folder,
        },
        "rootfs": {"type": "layers", "diff_ids": [digests.compute(layer) for layer in layers]},
    }
    if child.os_version:
        said["os.version"] = child.os_version
    config = build.blob(json.dumps(said).encode(), IMAGE_CONFIG)
    return build.document({"config": config, "layers": [build.blob(layer, _LAYER) for layer in layers]})


def _platform(child: Child) -> dict[str, Any]:
    claimed = child.platform if child.claimed is None else child.claimed
    if not claimed:
        return {}
    version = {"os.version": child.os_version} if child.os_version else {}
    return {"platform": _names(claimed) | version}


def _names(platform: str) -> dict[str, str]:
    return dict(zip(("os", "architecture", "variant"), platform.split("/"), strict=False))


def _pack(files: Mapping[str, bytes | str], modes: Mapping[str, int]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for path, content in files.items():
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.mode = modes.get(path, 0o755)
            if isinstance(content, str):
                entry.type, entry.linkname = tarfile.SYMTYPE, content.removeprefix("-> ")
                archive.addfile(entry)
            else:
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()
