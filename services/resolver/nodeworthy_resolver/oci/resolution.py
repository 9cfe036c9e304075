"""From a reference to what is known of its image: platforms as claimed and as configured, and the artifacts attached."""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

import msgspec

from nodeworthy.errors import NodeworthyError
from nodeworthy.images import ArtifactSearch, ImageKnowledge, PlatformImage, SearchState
from nodeworthy.platforms import Platform
from nodeworthy_resolver.oci import artifact_kinds, candidates, children, concurrency, digests, manifests
from nodeworthy_resolver.oci.children import Child
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.manifests import Descriptor, ImageConfig, Manifest
from nodeworthy_resolver.oci.reference import AnyReference
from nodeworthy_resolver.oci.referrers import search_artifact
from nodeworthy_resolver.oci.store import Content, ContentStore

MAX_EXAMINED = 256
"""Children of one index that are read; each costs four requests or more."""


Search = Callable[[Digest], Coroutine[Any, Any, ArtifactSearch]]
"""Finds the artifact attached to a digest; :func:`search_artifact` on a store, or something that remembers what it said."""


async def resolve_image(
    store: ContentStore,
    reference: AnyReference,
    platforms: Sequence[Platform] | None,
    *,
    search: Search | None = None,
) -> ImageKnowledge:
    """What the store says of a reference.

    The index's own artifact is searched, and of its children only those that ``platforms`` take are read (``None``: all). A
    child that cannot be read harms only itself: its search failed, which is never "compatible".

    Raises:
        NodeworthyError: the reference itself cannot be resolved, or its only image cannot be read.
    """
    search = search or partial(search_artifact, store)
    root = await store.resolve(reference.target)
    document = manifests.parse_manifest(root.data, root.media_type, str(reference))
    if isinstance(document, Manifest):
        image, found = await concurrency.run_pair(_read_image(store, root, document, None), search(root.digest))
        image = msgspec.structs.replace(image, search=found)
        return ImageKnowledge(str(reference), root.digest, root.media_type, (image,))
    entries, notices = await children.list_children(store, document, str(reference))
    listed = ImageKnowledge(str(reference), root.digest, root.media_type, tuple(map(_unread, entries)), notices=notices)
    return await complete_image(store, listed, platforms, search=search)


async def complete_image(
    store: ContentStore, known: ImageKnowledge, platforms: Sequence[Platform] | None, *, search: Search
) -> ImageKnowledge:
    """What is known of an image, with what ``platforms`` need of it: unread children are read, artifacts are searched.

    What a digest names never changes, so what was read once is not read again; only artifacts come and go.
    """
    if _is_single(known):
        image = msgspec.structs.replace(known.images[0], search=await search(Digest(known.digest)))
        return msgspec.structs.replace(known, images=(image,))
    images, found = await concurrency.run_pair(
        _examine_children(store, known.images, platforms, search), search(Digest(known.digest))
    )
    examined = [image for image in images if image.search is not None]
    notices = known.notices
    if platforms is None and len(examined) < len(images):
        notices = (*notices, _describe_limit(images))
    return msgspec.structs.replace(known, images=images, search=found, notices=notices)


def _is_single(known: ImageKnowledge) -> bool:
    return len(known.images) == 1 and known.images[0].digest == known.digest


def lasting(knowledge: ImageKnowledge) -> ImageKnowledge:
    """What stays true of the digest for ever, for :func:`complete_image` to go on from: no artifacts, no failures."""
    images = tuple(map(_lasting, knowledge.images))
    notices = tuple(notice for notice in knowledge.notices if notice != _describe_limit(images))
    return msgspec.structs.replace(knowledge, images=images, search=None, notices=notices)


def _describe_limit(images: Sequence[PlatformImage]) -> str:
    return f"only {MAX_EXAMINED} of {len(images)} images were read"


def _lasting(image: PlatformImage) -> PlatformImage:
    is_failed = image.search is not None and image.search.state is SearchState.FAILED and image.configured is None
    # A notice of a failure would count as "examined"; at worst a child without an image config is read once more.
    return msgspec.structs.replace(image, search=None, notices=() if is_failed else image.notices)


def _is_examined(image: PlatformImage) -> bool:
    """Whether an image's own config was looked at: it then says something, or a notice says why it does not."""
    return image.configured is not None or bool(image.notices)


async def _examine_children(
    store: ContentStore, images: Sequence[PlatformImage], platforms: Sequence[Platform] | None, search: Search
) -> tuple[PlatformImage, ...]:
    """A record for each child, in the index's order; read and searched are those that are wanted."""
    # What a child's own config says stands in for a claim that its index does not make.
    offers = [Child(_descriptor(image), image.claimed or image.configured) for image in images]
    if platforms is None:
        chosen: Sequence[Child] = offers
    else:
        chosen, _ = await children.choose_children(store, offers, platforms)
    wanted = {id(child) for child in chosen[:MAX_EXAMINED]}
    places = [place for place, child in enumerate(offers) if id(child) in wanted]
    examined = await concurrency.run_all(_examine(store, images[place], search) for place in places)
    known = dict(zip(places, examined, strict=True))
    return tuple(known.get(place, image) for place, image in enumerate(images))


def _descriptor(image: PlatformImage) -> Descriptor:
    """What points at a child; its size is not known here, and content is verified by its digest."""
    return Descriptor(media_type=image.media_type, digest=image.digest, size=0)


def _unread(child: Child) -> PlatformImage:
    return PlatformImage(child.descriptor.digest, child.claimed, media_type=child.descriptor.media_type)


async def _examine(store: ContentStore, child: PlatformImage, search: Search) -> PlatformImage:
    """A child with its config and its artifact; a failure to read it is recorded as a failed search."""
    digest = Digest(child.digest)
    image, found = await concurrency.run_pair(_read_child(store, child), search(digest))
    if isinstance(image, NodeworthyError):
        failed = ArtifactSearch(SearchState.FAILED, reason=str(image))
        return msgspec.structs.replace(child, search=failed, notices=(str(image),))
    return msgspec.structs.replace(image, search=found)


async def _read_child(store: ContentStore, child: PlatformImage) -> PlatformImage | NodeworthyError:
    if _is_examined(child):
        return child
    try:
        content = await store.read_manifest(Digest(child.digest))
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
        kind=artifact_kinds.kind_of(manifest) if config is None else None,
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
    kind = artifact_kinds.kind_of(manifest)
    if config is None and kind is not None:
        return (f"it is {kind.phrase}, and no image with a platform",)
    if config is None:
        return (f"its config of type {candidates.printable(manifest.config.media_type)} is no image config",)
    if configured is None:
        return (f"its config {digests.short(manifest.config.digest)} names no operating system and architecture",)
    if claimed is not None and claimed != configured:
        return (f"the index says {claimed}, the image's config says {configured}",)
    return ()
