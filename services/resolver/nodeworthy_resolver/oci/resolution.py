"""From a reference to what is known of its image: platforms as claimed and as configured, and the artifacts attached."""

from collections.abc import Sequence

import msgspec

from nodeworthy.errors import NodeworthyError
from nodeworthy.images import ArtifactSearch, ImageKnowledge, PlatformImage, SearchState
from nodeworthy.platforms import Platform
from nodeworthy_resolver.oci import candidates, children, concurrency, digests, manifests
from nodeworthy_resolver.oci.children import Child
from nodeworthy_resolver.oci.manifests import ImageConfig, Index, Manifest
from nodeworthy_resolver.oci.reference import LayoutReference, Reference
from nodeworthy_resolver.oci.referrers import search_artifact
from nodeworthy_resolver.oci.store import Content, ContentStore

MAX_EXAMINED = 256
"""Children of one index that are read; each costs four requests or more."""


async def resolve_image(
    store: ContentStore, reference: Reference | LayoutReference, platforms: Sequence[Platform] | None
) -> ImageKnowledge:
    """What the store says of a reference.

    The index's own artifact is searched, and of its children only those that ``platforms`` take are read (``None``: all). A
    child that cannot be read harms only itself: its search failed, which is never "compatible".

    Raises:
        NodeworthyError: the reference itself cannot be resolved, or its only image cannot be read.
    """
    root = await store.resolve(reference.target)
    document = manifests.parse_manifest(root.data, root.media_type, str(reference))
    if isinstance(document, Manifest):
        return await _resolve_single(store, reference, root, document)
    return await _resolve_index(store, reference, root, document, platforms)


async def _resolve_single(
    store: ContentStore, reference: Reference | LayoutReference, root: Content, manifest: Manifest
) -> ImageKnowledge:
    image, search = await concurrency.run_pair(
        _read_image(store, root, manifest, None), search_artifact(store, root.digest)
    )
    image = msgspec.structs.replace(image, search=search)
    return ImageKnowledge(str(reference), root.digest, root.media_type, (image,))


async def _resolve_index(
    store: ContentStore,
    reference: Reference | LayoutReference,
    root: Content,
    index: Index,
    platforms: Sequence[Platform] | None,
) -> ImageKnowledge:
    entries, notices = await children.list_children(store, index, str(reference))
    images, search = await concurrency.run_pair(
        _examine_children(store, entries, platforms), search_artifact(store, root.digest)
    )
    examined = [image for image in images if image.search is not None]
    if platforms is None and len(examined) < len(images):
        notices = (*notices, f"only {MAX_EXAMINED} of {len(images)} images were read")
    return ImageKnowledge(str(reference), root.digest, root.media_type, images, search, notices)


async def _examine_children(
    store: ContentStore, entries: Sequence[Child], platforms: Sequence[Platform] | None
) -> tuple[PlatformImage, ...]:
    """A record for each child, in the index's order; read and searched are those that are wanted."""
    if platforms is None:
        chosen: Sequence[Child] = entries
    else:
        chosen, _ = await children.choose_children(store, entries, platforms)
    examined = await concurrency.run_all(_examine(store, child) for child in chosen[:MAX_EXAMINED])
    known = {id(child): image for child, image in zip(chosen, examined, strict=False)}
    return tuple(known.get(id(child)) or _unread(child) for child in entries)


def _unread(child: Child) -> PlatformImage:
    return PlatformImage(child.descriptor.digest, child.claimed, media_type=child.descriptor.media_type)


async def _examine(store: ContentStore, child: Child) -> PlatformImage:
    """A child with its config and its artifact; a failure to read it is recorded as a failed search."""
    digest = manifests.digest_of(child.descriptor)
    image, search = await concurrency.run_pair(_read_child(store, child), search_artifact(store, digest))
    if isinstance(image, NodeworthyError):
        failed = ArtifactSearch(SearchState.FAILED, reason=str(image))
        return PlatformImage(
            digest, child.claimed, media_type=child.descriptor.media_type, search=failed, notices=(str(image),)
        )
    return msgspec.structs.replace(image, search=search)


async def _read_child(store: ContentStore, child: Child) -> PlatformImage | NodeworthyError:
    try:
        content = await store.read_manifest(manifests.digest_of(child.descriptor))
        return await _read_image(store, content, children.parse_image(store, content), child.claimed)
    except NodeworthyError as error:
        return error


async def _read_image(
    store: ContentStore, content: Content, manifest: Manifest, claimed: Platform | None
) -> PlatformImage:
    config = await children.read_config(store, manifest)
    configured = configured_platform(config, claimed)
    return PlatformImage(
        digest=content.digest,
        claimed=claimed,
        configured=configured,
        environment=config.environment if config else (),
        media_type=content.media_type,
        notices=_describe(manifest, config, claimed, configured),
    )


def configured_platform(config: ImageConfig | None, claimed: Platform | None) -> Platform | None:
    """What the config says; where it leaves the variant out, which many builders do, the index's word fills it in."""
    if config is None or config.platform is None:
        return None
    said = config.platform
    is_same = claimed is not None and (claimed.os, claimed.architecture) == (said.os, said.architecture)
    if is_same and claimed is not None and not config.has_variant:
        return msgspec.structs.replace(said, variant=claimed.variant)
    return said


def _describe(
    manifest: Manifest, config: ImageConfig | None, claimed: Platform | None, configured: Platform | None
) -> tuple[str, ...]:
    if config is None:
        return (f"its config of type {candidates.printable(manifest.config.media_type)} is no image config",)
    if configured is None:
        return (f"its config {digests.short(manifest.config.digest)} names no operating system and architecture",)
    if claimed is not None and claimed != configured:
        return (f"the index says {claimed}, the image's config says {configured}",)
    return ()
