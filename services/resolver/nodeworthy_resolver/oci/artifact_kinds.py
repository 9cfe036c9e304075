"""What else than images is kept in registries and asked about: told by the media types of its manifest; pure."""

from nodeworthy.images import ArtifactKind
from nodeworthy_resolver.oci.manifests import Manifest

_KINDS = {
    # Singularity up to 3.6 and later (client/oras: push.go); what "push" writes to oras:// addresses.
    "application/vnd.sylabs.sif.config.v1+json": ArtifactKind.SIF,
    "application/vnd.sylabs.sif.config.v1": ArtifactKind.SIF,
    "application/vnd.sylabs.sif.layer.v1.sif": ArtifactKind.SIF,
    "appliciation/vnd.sylabs.sif.layer.tar": ArtifactKind.SIF,  # codespell:ignore # so they are spelt, to this day
    # Helm, "Use OCI-based registries".
    "application/vnd.cncf.helm.config.v1+json": ArtifactKind.HELM,
    "application/vnd.cncf.helm.chart.content.v1.tar+gzip": ArtifactKind.HELM,
    # CNCF TAG Runtime, "Wasm OCI Artifact layout", and the forms before it.
    "application/vnd.wasm.config.v0+json": ArtifactKind.WASM,
    "application/vnd.wasm.config.v1+json": ArtifactKind.WASM,
    "application/vnd.module.wasm.config.v1+json": ArtifactKind.WASM,
    "application/vnd.wasm.content.layer.v1+wasm": ArtifactKind.WASM,
    "application/wasm": ArtifactKind.WASM,
}


def kind_of(manifest: Manifest) -> ArtifactKind | None:
    """The kind of a manifest without an image config; ``None`` for any other.

    The config's type first: it is what registries tell artifacts by. Layers say it where a client gave no config type.
    """
    types = (manifest.config.media_type, manifest.artifact_type, *(layer.media_type for layer in manifest.layers[:1]))
    return next((_KINDS[one] for one in types if one in _KINDS), None)
