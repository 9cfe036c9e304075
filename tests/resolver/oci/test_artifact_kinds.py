"""Helm charts, WebAssembly modules and Singularity files in registries: told apart, and searched for what is declared."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nodeworthy.images import ArtifactKind, SearchState
from nodeworthy_resolver.oci import look_up, parse_reference
from nodeworthy_resolver.oci.manifests import EMPTY

if TYPE_CHECKING:
    from tests.resolver.conftest import Builder

HELM = ("application/vnd.cncf.helm.config.v1+json", "application/vnd.cncf.helm.chart.content.v1.tar+gzip")
WASM = ("application/vnd.wasm.config.v0+json", "application/wasm")
SIF = ("application/vnd.sylabs.sif.config.v1+json", "application/vnd.sylabs.sif.layer.v1.sif")


@pytest.mark.parametrize(
    ("config", "layer", "kind"),
    [
        (*HELM, ArtifactKind.HELM),
        (*WASM, ArtifactKind.WASM),
        (*SIF, ArtifactKind.SIF),
        ("application/vnd.sylabs.sif.config.v1", SIF[1], ArtifactKind.SIF),
        (EMPTY, SIF[1], ArtifactKind.SIF),
        (EMPTY, "application/octet-stream", None),
    ],
)
async def test_an_artifact_is_named_and_what_is_attached_to_it_is_found(
    config: str, layer: str, kind: ArtifactKind | None, build: "Builder", tmp_path: Path
) -> None:
    document = {"config": build.blob(b"{}", config), "layers": [build.blob(b"content", layer)]}
    chart = build.document(document)
    build.write_layout(tmp_path, build.tagged(chart, "v1"), build.entry(build.artifact(chart)))
    (image,) = (await look_up(parse_reference(f"oci:{tmp_path}:v1"), None)).images
    assert (image.kind, image.platform) == (kind, None)
    assert image.notices[0].startswith(f"it is {kind.phrase}" if kind else f"its config of type {config}")
    assert image.search is not None
    assert image.search.state is SearchState.FOUND


async def test_an_image_is_none_of_them(build: "Builder", tmp_path: Path) -> None:
    build.write_layout(tmp_path, build.tagged(build.image("wasip1/wasm"), "v1"))
    (image,) = (await look_up(parse_reference(f"oci:{tmp_path}:v1"), None)).images
    assert image.kind is None
    assert str(image.platform) == "wasip1/wasm"
