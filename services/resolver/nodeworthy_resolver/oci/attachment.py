"""Attaching a compatibility specification to an image, as the artifact that NFD's client and ``oras discover`` find.

An OCI image manifest 1.1 with NFD's artifact type, an empty config, the document as its one layer, and the image as its
subject. The document is not judged here.
"""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from nodeworthy import platforms as platform_names
from nodeworthy.errors import UsageError
from nodeworthy.images import ARTIFACT_TYPE, SPEC_MEDIA_TYPE
from nodeworthy.platforms import Platform
from nodeworthy_resolver.oci import children, digests, manifests
from nodeworthy_resolver.oci.candidates import CREATED
from nodeworthy_resolver.oci.children import Child
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.entries import entry_of
from nodeworthy_resolver.oci.manifests import EMPTY, EMPTY_DATA, IMAGE_MANIFEST, Descriptor, Manifest
from nodeworthy_resolver.oci.reference import AnyReference
from nodeworthy_resolver.oci.referrers import MAX_SPEC_BYTES
from nodeworthy_resolver.oci.store import ContentStore, Via, WritableStore

_TITLE = "org.opencontainers.image.title"
"""The annotation under which ``oras pull`` writes a layer to a file."""

MAX_EMBEDDED_BYTES = 8 * 1024
"""Documents up to here stand in the manifest too, which saves each reader a request; most have one or two kilobytes."""


@dataclass(frozen=True)
class Attached:
    """One artifact that was written."""

    digest: Digest
    subject: Digest
    platform: Platform | None
    """The subject's, as its index claims it; ``None`` where what the reference resolves to is the subject."""
    via: Via


async def attach(
    store: WritableStore,
    reference: AnyReference,
    spec: bytes,
    *,
    platforms: Literal["all"] | Sequence[Platform] | None,
    created: datetime,
    title: str = "image-compatibility-spec.yaml",
) -> tuple[Attached, ...]:
    """Attach a specification to what the reference resolves to, or to the children of the index that platforms take.

    Attaching the same again makes a second artifact with a newer date, and the newest counts.

    Raises:
        UsageError: no document, one too large, or no image for a platform; nothing was written then.
        NodeworthyError: the store cannot be read or written.
    """
    if not 0 < len(spec) <= MAX_SPEC_BYTES:
        raise UsageError(f"{title} cannot be attached", why=f"it has {len(spec)} bytes, not 1 to {MAX_SPEC_BYTES}")
    subjects = await find_subjects(store, reference, platforms)
    layer = Descriptor(
        media_type=SPEC_MEDIA_TYPE,
        digest=digests.compute(spec),
        size=len(spec),
        annotations={_TITLE: title},
        data=base64.b64encode(spec).decode() if len(spec) <= MAX_EMBEDDED_BYTES else None,
    )
    empty = Descriptor(media_type=EMPTY, digest=digests.compute(EMPTY_DATA), size=len(EMPTY_DATA))
    await store.write_blob(EMPTY_DATA, manifests.digest_of(empty))
    await store.write_blob(spec, manifests.digest_of(layer))
    return tuple([await _attach_one(store, subject, empty, layer, created) for subject in subjects])


async def _attach_one(
    store: WritableStore, subject: Child, config: Descriptor, layer: Descriptor, created: datetime
) -> Attached:
    data = build_manifest(subject.descriptor, config, layer, created)
    descriptor = Descriptor(
        media_type=IMAGE_MANIFEST,
        digest=digests.compute(data),
        size=len(data),
        artifact_type=ARTIFACT_TYPE,
        annotations={CREATED: format_moment(created)},
    )
    digest = manifests.digest_of(subject.descriptor)
    via = await store.write_referrer(data, descriptor, digest)
    return Attached(manifests.digest_of(descriptor), digest, subject.claimed, via)


def build_manifest(subject: Descriptor, config: Descriptor, layer: Descriptor, created: datetime) -> bytes:
    """The artifact's manifest (manifest.md, "Guidelines for Artifact Usage"); the same input gives the same bytes."""
    manifest = {
        "schemaVersion": 2,
        "mediaType": IMAGE_MANIFEST,
        "artifactType": ARTIFACT_TYPE,
        "config": entry_of(config),
        "layers": [entry_of(layer) | ({"data": layer.data} if layer.data else {})],
        "subject": {"mediaType": subject.media_type, "digest": subject.digest, "size": subject.size},
        "annotations": {CREATED: format_moment(created)},
    }
    return json.dumps(manifest, separators=(",", ":")).encode()


def format_moment(moment: datetime) -> str:
    """A moment as RFC 3339 in UTC, ``2026-05-01T12:00:00Z``; a fraction is kept, since two artifacts may share a second."""
    if moment.tzinfo is None:
        raise UsageError("the date of the artifact has no time zone", why="whoever reads it may be in another one")
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


async def find_subjects(
    store: ContentStore,
    reference: AnyReference,
    platforms: Literal["all"] | Sequence[Platform] | None,
) -> tuple[Child, ...]:
    """What the reference resolves to, or the children of the index that platforms take.

    Raises:
        UsageError: there is no image for a platform.
        NodeworthyError: the store cannot be read.
    """
    root = await store.resolve(reference.target)
    document = manifests.parse_manifest(root.data, root.media_type, str(reference))
    if platforms is None:
        return (Child(root.descriptor, None),)
    if isinstance(document, Manifest):
        config = await children.read_config(store, document)
        offered: tuple[Child, ...] = (Child(root.descriptor, config.platform if config else None),)
    else:
        offered, _ = await children.list_children(store, document, str(reference))
    if not offered:
        raise UsageError(f"{reference} lists no image to attach to")
    return _distinct(offered) if platforms == "all" else await _choose(store, reference, offered, platforms)


def _distinct(offered: Sequence[Child]) -> tuple[Child, ...]:
    """An index may list one image under several platforms; it gets one artifact."""
    return tuple({child.descriptor.digest: child for child in reversed(offered)}.values())[::-1]


async def _choose(
    store: ContentStore, reference: AnyReference, offered: Sequence[Child], wanted: Sequence[Platform]
) -> tuple[Child, ...]:
    chosen, homeless = await children.choose_children(store, offered, wanted)
    if homeless or not chosen:
        has = platform_names.names([child.claimed for child in offered if child.claimed])
        raise UsageError(
            f"{reference} has no image for {platform_names.names(homeless)}",
            why=f"it has {has}",
            todo="name one of these",
        )
    return _distinct(chosen)
