"""What is known of an image without running it: its platforms and the compatibility artifacts attached to it.

The resolver makes these records, verdicts are made from them; on the bus they travel as they are.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from nodeworthy.platforms import Platform
from nodeworthy.requirements import Inspection

ARTIFACT_TYPE = "application/vnd.nfd.image-compatibility.v1alpha1"
"""NFD's artifact type (api/image-compatibility/v1alpha1, spec.go)."""

SPEC_MEDIA_TYPE = "application/vnd.nfd.image-compatibility.spec.v1alpha1+yaml"
"""The media type of the layer that holds the specification (NFD's documentation of the artifact)."""


class Artifact(msgspec.Struct, frozen=True):
    """One compatibility artifact as a registry holds it; ``data`` is the document, not parsed."""

    digest: str
    """Of the artifact's manifest."""
    subject: str
    """Digest of the manifest or index that it is attached to."""
    created: str
    """Its ``org.opencontainers.image.created``; empty when missing."""
    data: bytes


class SearchState(StrEnum):
    """How the search for an artifact ended. Only NONE says that nothing is declared."""

    FOUND = "found"
    NONE = "none"
    FAILED = "failed"


class ArtifactSearch(msgspec.Struct, frozen=True, omit_defaults=True):
    """The artifact attached to one digest, or that there is none, or why that could not be found out.

    ``reason`` is for a person; ``notices`` name what was passed over (other artifact types, entries that prove not to be
    referrers, ties).
    """

    state: SearchState
    artifact: Artifact | None = None
    reason: str = ""
    notices: tuple[str, ...] = ()


class ArtifactKind(StrEnum):
    """What is kept like an image and is none."""

    SIF = "sif"
    HELM = "helm"
    WASM = "wasm"

    @property
    def phrase(self) -> str:
        """As a sentence names it."""
        return _TITLES[self]


_TITLES = {
    ArtifactKind.SIF: "a Singularity image file",
    ArtifactKind.HELM: "a Helm chart",
    ArtifactKind.WASM: "a WebAssembly module",
}


class PlatformImage(msgspec.Struct, frozen=True, omit_defaults=True):
    """One runnable image: a child of an index, or the manifest itself.

    ``claimed`` is what the index says of it (``None``: there is no index), ``configured`` what its own config
    says (``None``: not read, or the config is no image config). ``search`` is ``None`` where it was not asked for.
    """

    digest: str
    claimed: Platform | None = None
    configured: Platform | None = None
    environment: tuple[str, ...] = ()
    """The config's ``Env``; NVIDIA_REQUIRE_* stand there."""
    media_type: str = ""
    search: ArtifactSearch | None = None
    notices: tuple[str, ...] = ()
    kind: ArtifactKind | None = None
    """Where it is known to be something else than an image; ``claimed`` and ``configured`` then say nothing."""
    inspection: Inspection | None = None
    """What its files ask for; ``None`` where nobody looked."""

    @property
    def platform(self) -> Platform | None:
        """The config decides what is in the layers; the index is the next best source."""
        return self.configured or self.claimed


class ImageKnowledge(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a registry, layout folder or archive says of one reference."""

    reference: str
    digest: str
    """What the reference resolved to."""
    media_type: str
    images: tuple[PlatformImage, ...]
    search: ArtifactSearch | None = None
    """For the index itself; ``None`` where the reference is a single manifest."""
    notices: tuple[str, ...] = ()


def with_inspections(knowledge: ImageKnowledge, found: Mapping[str, Inspection | None]) -> ImageKnowledge:
    """The knowledge with what the files of its images say, by their digests; the others stay as they are."""
    images = tuple(
        msgspec.structs.replace(one, inspection=found[one.digest]) if one.digest in found else one
        for one in knowledge.images
    )
    return msgspec.structs.replace(knowledge, images=images)
