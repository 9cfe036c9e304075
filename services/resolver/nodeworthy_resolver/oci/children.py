"""The images that an index lists, and which of them given platforms take."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from nodeworthy import platforms
from nodeworthy.errors import ImageNotFoundError, RegistryContentError
from nodeworthy.platforms import Platform
from nodeworthy_resolver.oci import candidates, concurrency, digests, manifests
from nodeworthy_resolver.oci.manifests import (
    CONFIG_TYPES,
    INDEX_TYPES,
    MANIFEST_TYPES,
    MAX_CONFIG_BYTES,
    Descriptor,
    ImageConfig,
    Index,
    Manifest,
)
from nodeworthy_resolver.oci.store import Content, ContentStore

MAX_DEPTH = 3
"""Indexes inside indexes; the specification allows them, engines follow them, nobody is known to nest twice."""

MAX_INNER = 64
"""Indexes inside one index that are read, each once: who lists them by the thousand wants us to be busy."""
MAX_SILENT = 256
"""Children without a claim whose configs are read to choose among them; each costs two requests."""
MAX_NOTICES = 20
"""Entries that are no images and are named; the rest is counted."""

_ATTESTATION = ("vnd.docker.reference.type", "attestation-manifest")
"""How BuildKit marks what it puts beside the images; its platform is unknown/unknown."""
_UNKNOWN = "unknown"


@dataclass(frozen=True)
class Child:
    """An entry of an index that may be an image, and what the index says of its platform."""

    descriptor: Descriptor
    claimed: Platform | None


@dataclass
class _Listed:
    """What was found so far."""

    images: list[Child] = field(default_factory=list)
    others: list[Descriptor] = field(default_factory=list)
    """Entries that are no images."""
    inner: set[str] = field(default_factory=set)
    """Digests of the indexes inside that were read; one that is listed again has nothing new."""


async def list_children(store: ContentStore, index: Index, source: str) -> tuple[tuple[Child, ...], tuple[str, ...]]:
    """The images of an index and of the indexes in it, in order, and notices of entries that are none.

    What BuildKit attests about the images (platform unknown/unknown) is left out without a word: it stands in most indexes.

    Raises:
        NodeworthyError: an inner index cannot be read, there are too many, or they are nested too deep.
    """
    listed = _Listed()
    await _list(store, index, source, listed, 1)
    notices = [_describe_other(entry) for entry in listed.others[:MAX_NOTICES]]
    if more := len(listed.others) - len(notices):
        notices.append(f"{more} more entries are no images")
    return tuple(listed.images), tuple(notices)


async def _list(store: ContentStore, index: Index, source: str, listed: _Listed, depth: int) -> None:
    for entry in index.manifests:
        if _is_attestation(entry):
            continue
        if entry.media_type in MANIFEST_TYPES:
            listed.images.append(Child(entry, manifests.claimed_platform(entry)))
        elif entry.media_type not in INDEX_TYPES:
            listed.others.append(entry)
        elif entry.digest not in listed.inner:
            listed.inner.add(entry.digest)
            await _list_inner(store, entry, source, listed, depth)
    if len(listed.images) + len(listed.others) > manifests.MAX_ENTRIES:
        raise RegistryContentError(
            f"{source} is too large", why=f"it lists more than {manifests.MAX_ENTRIES} manifests"
        )


def _describe_other(entry: Descriptor) -> str:
    return f"{digests.short(entry.digest)} of type {candidates.printable(entry.media_type or 'unknown')} is no image"


async def _list_inner(store: ContentStore, entry: Descriptor, source: str, listed: _Listed, depth: int) -> None:
    if len(listed.inner) > MAX_INNER:
        raise RegistryContentError(f"{source} is too large", why=f"it lists more than {MAX_INNER} indexes")
    if depth >= MAX_DEPTH:
        raise RegistryContentError(f"{source} cannot be read", why=f"it nests indexes more than {MAX_DEPTH} deep")
    content = await store.read_manifest(manifests.digest_of(entry))
    name = f"{store.name}@{content.digest}"
    inner = manifests.parse_manifest(content.data, content.media_type, name)
    if not isinstance(inner, Index):
        raise RegistryContentError(
            f"{source} cannot be read", why=f"it lists {content.digest} as an index, and it is none"
        )
    await _list(store, inner, name, listed, depth + 1)


def _is_attestation(entry: Descriptor) -> bool:
    key, value = _ATTESTATION
    claimed = entry.platform
    is_unknown = claimed is not None and (claimed.os, claimed.architecture) == (_UNKNOWN, _UNKNOWN)
    return is_unknown or (entry.annotations or {}).get(key) == value


async def choose_children(
    store: ContentStore, children: Sequence[Child], wanted: Sequence[Platform]
) -> tuple[tuple[Child, ...], tuple[Platform, ...]]:
    """The child that each platform takes, each once and in the index's order, and the platforms that take none.

    An index decides by its own claims, as engines do; only a child without a claim is asked for its config.

    Raises:
        NodeworthyError: the config of a child without a claim cannot be read.
    """
    silent = [child for child in children if child.claimed is None][:MAX_SILENT]
    answers = await concurrency.run_all(_read_platform(store, child) for child in silent)
    asked = dict(zip([child.descriptor.digest for child in silent], answers, strict=True))
    offers = [
        (platform, child) for child in children if (platform := child.claimed or asked.get(child.descriptor.digest))
    ]
    chosen = [platforms.choose(platform, offers) for platform in wanted]
    homeless = tuple(platform for platform, child in zip(wanted, chosen, strict=True) if child is None)
    return tuple(child for child in children if any(child is one for one in chosen)), homeless


async def _read_platform(store: ContentStore, child: Child) -> Platform | None:
    config = await read_config(store, await read_image(store, child.descriptor))
    return config.platform if config else None


async def read_image(store: ContentStore, descriptor: Descriptor) -> Manifest:
    """The image manifest that an index lists.

    Raises:
        NodeworthyError: it cannot be read, or is none.
    """
    content = await store.read_manifest(manifests.digest_of(descriptor))
    return parse_image(store, content)


def parse_image(store: ContentStore, content: Content) -> Manifest:
    """The image manifest in some content.

    Raises:
        RegistryContentError: it is none.
    """
    name = f"{store.name}@{content.digest}"
    manifest = manifests.parse_manifest(content.data, content.media_type, name)
    if not isinstance(manifest, Manifest):
        raise RegistryContentError(f"{name} is no image", why="it is listed as an image and is an index")
    return manifest


async def read_config(store: ContentStore, manifest: Manifest) -> ImageConfig | None:
    """What the image's config says; ``None`` if the manifest is an artifact's and has no image config.

    Raises:
        NodeworthyError: it cannot be read.
    """
    if manifest.config.media_type not in CONFIG_TYPES:
        return None
    name = f"config {manifest.config.digest} of {store.name}"
    try:
        data = await store.read_blob(manifest.config, MAX_CONFIG_BYTES)
    except ImageNotFoundError as error:
        # The image is there: whoever asked has nothing to correct.
        raise RegistryContentError(f"{name} is missing", why=error.why, todo="push the image again") from error
    return manifests.parse_config(data, name)
