"""The search for the compatibility artifact attached to a digest.

Every outcome is a value with its reason: found, none, failed. A failure is never reported as "none", since an outage
would then look like an image that asks for nothing.
"""

from nodeworthy.errors import ArtifactError, ImageNotFoundError, NodeworthyError, RegistryContentError
from nodeworthy.images import ARTIFACT_TYPE, SPEC_MEDIA_TYPE, Artifact, ArtifactSearch, SearchState
from nodeworthy_resolver.oci import candidates, concurrency, digests, manifests
from nodeworthy_resolver.oci.candidates import Opened
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.manifests import Descriptor, Index, Manifest
from nodeworthy_resolver.oci.store import ContentStore

MAX_SPEC_BYTES = 4 * 1024 * 1024
"""NFD's client reads as much; real documents have a few KiB."""

_UNPACK = "io.deis.oras.content.unpack"
"""The annotation by which oras marks a folder that it packed into a compressed archive."""


async def search_artifact(store: ContentStore, subject: Digest) -> ArtifactSearch:
    """The compatibility artifact attached to ``subject``, the newest if there are several."""
    notices: list[str] = []
    try:
        artifact, reason = await _search(store, subject, notices)
    except NodeworthyError as error:
        return ArtifactSearch(SearchState.FAILED, reason=str(error), notices=tuple(notices))
    state = SearchState.NONE if artifact is None else SearchState.FOUND
    return ArtifactSearch(state, artifact, reason, tuple(notices))


async def list_artifacts(store: ContentStore, subject: Digest, notices: list[str]) -> tuple[tuple[Opened, ...], str]:
    """Every compatibility artifact attached to ``subject``, and how the answer was found; ``notices`` gets more.

    Raises:
        NodeworthyError: it cannot be found out.
    """
    listing = await store.list_referrers(subject, ARTIFACT_TYPE)
    notices += listing.notices
    entries, passed_over = candidates.select(listing.entries, ARTIFACT_TYPE)
    notices += passed_over
    found = await concurrency.run_all(_open(store, entry, subject, notices) for entry in entries)
    return tuple(one for one in found if one is not None), listing.how


async def _search(store: ContentStore, subject: Digest, notices: list[str]) -> tuple[Artifact | None, str]:
    opened, how = await list_artifacts(store, subject, notices)
    if not opened:
        return None, how
    best, doubts = candidates.newest(opened)
    notices += doubts
    return await _read(store, best, subject, notices), ""


async def _open(store: ContentStore, entry: Descriptor, subject: Digest, notices: list[str]) -> Opened | None:
    """The entry's manifest, if it proves to be an artifact of ours on this subject; else ``None`` and a notice.

    An entry that is listed and gone was deleted, which registries without the API cannot write into the fallback tag.

    Raises:
        NodeworthyError: whether it is one cannot be found out.
    """
    name = digests.short(entry.digest)
    try:
        content = await store.read_manifest(manifests.digest_of(entry))
    except ImageNotFoundError:
        notices.append(f"{name} is listed and no longer there")
        return None
    if entry.size != len(content.data):
        raise RegistryContentError(
            f"{store.name}@{entry.digest} cannot be trusted", why="its size is not the listed one"
        )
    says_so = entry.artifact_type == ARTIFACT_TYPE
    try:
        manifest = manifests.parse_manifest(content.data, content.media_type, f"{store.name}@{content.digest}")
    except RegistryContentError as error:
        if says_so:
            raise
        notices.append(f"{name} is passed over: {error.why}")
        return None
    if not isinstance(manifest, Manifest) or manifest.artifact_type != ARTIFACT_TYPE:
        kind = (
            "an index"
            if isinstance(manifest, Index)
            else f"of type {candidates.printable(manifest.artifact_type or 'unknown')}"
        )
        notices.append(f"{name} is passed over: it is {kind}" + (f", and listed as {ARTIFACT_TYPE}" if says_so else ""))
        return None
    if manifest.subject is None or manifest.subject.digest != subject:
        notices.append(f"{name} is listed as a referrer of {digests.short(subject)} and does not refer to it")
        return None
    return Opened.of(content.digest, manifest)


async def _read(store: ContentStore, best: Opened, subject: Digest, notices: list[str]) -> Artifact:
    """The document in the first layer, as NFD's client reads it; the layer's type is not held against it.

    ``oras attach IMAGE FILE`` without a type for the file gives the layer the type of an archive and the file's own bytes.
    """
    name = digests.short(best.digest)
    layer = best.layer
    if layer is None:
        raise ArtifactError(
            f"artifact {best.digest} cannot be used", why="it has no layer", todo="attach the specification again"
        )
    _check_packed(best, layer)
    if best.layers > 1:
        notices.append(f"{name} has {best.layers} layers; only the first was read")
    if layer.media_type != SPEC_MEDIA_TYPE:
        notices.append(f"the layer of {name} has the type {layer.media_type[:100]!r} instead of {SPEC_MEDIA_TYPE}")
    data = manifests.embedded(layer)
    if data is None or len(data) > MAX_SPEC_BYTES:
        data = await store.read_blob(layer, MAX_SPEC_BYTES)
    return Artifact(digest=best.digest, subject=subject, created=best.created, data=data)


def _check_packed(best: Opened, layer: Descriptor) -> None:
    is_folder = (layer.annotations or {}).get(_UNPACK) == "true"
    if is_folder or layer.media_type.endswith(("+gzip", "+zstd", ".gzip")):
        raise ArtifactError(
            f"artifact {best.digest} cannot be used",
            why=f"its layer is a packed folder ({candidates.printable(layer.media_type)})",
            todo="attach the file itself: oras attach IMAGE FILE, not the folder that it is in",
        )
