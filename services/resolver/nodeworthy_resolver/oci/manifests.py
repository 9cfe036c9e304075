"""Manifests, indexes and image configs: parsed from bytes, bounded, checked; pure.

The shapes are those of the OCI image specification 1.1 (manifest.md, image-index.md, config.md, descriptor.md) and of
Docker's schema 2, which has the same fields. What is not needed here is not looked at.
"""

import base64
import re
from typing import Annotated, Any, TypeVar

import msgspec

from nodeworthy import platforms
from nodeworthy.errors import RegistryContentError
from nodeworthy.platforms import Platform
from nodeworthy_resolver.oci import digests
from nodeworthy_resolver.oci.digests import Digest

IMAGE_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
IMAGE_INDEX = "application/vnd.oci.image.index.v1+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
IMAGE_CONFIG = "application/vnd.oci.image.config.v1+json"
DOCKER_CONFIG = "application/vnd.docker.container.image.v1+json"
EMPTY = "application/vnd.oci.empty.v1+json"

MANIFEST_TYPES = frozenset({IMAGE_MANIFEST, DOCKER_MANIFEST})
INDEX_TYPES = frozenset({IMAGE_INDEX, DOCKER_LIST})
CONFIG_TYPES = frozenset({IMAGE_CONFIG, DOCKER_CONFIG})
READABLE_TYPES = (IMAGE_INDEX, IMAGE_MANIFEST, DOCKER_LIST, DOCKER_MANIFEST)
"""What a registry is told that we read, the forms that keep most first."""

MAX_MANIFEST_BYTES = 4 * 1024 * 1024
"""What registries have to accept, so the largest that exists (distribution specification, "Pushing Manifests")."""
MAX_CONFIG_BYTES = 8 * 1024 * 1024
"""Image configs with a long history and many labels stay far below."""
MAX_ENTRIES = 10_000
"""Entries of one index, and layers of one manifest; 4 MiB hold about that many."""

EMPTY_DATA = b"{}"
"""The content of an empty config (manifest.md, "Guidance for an Empty Descriptor")."""

_PLATFORM_PART = re.compile(r"[A-Za-z0-9_.-]{0,64}")

_SCHEMA_1 = "application/vnd.docker.distribution.manifest.v1"
_WITHDRAWN = "application/vnd.oci.artifact.manifest.v1+json"
_NO_TYPES = frozenset({"", "application/json", "application/octet-stream", "binary/octet-stream", "text/plain"})
"""Content types that servers of plain files send; they say nothing, so the body's own mediaType counts."""


class ClaimedPlatform(msgspec.Struct, frozen=True, kw_only=True):
    """The ``platform`` object of an index's entry, as written."""

    os: str = ""
    architecture: str = ""
    variant: str | None = None
    os_version: str | None = msgspec.field(default=None, name="os.version")


class Descriptor(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What points at content: type, digest, size and what is said about it."""

    media_type: str = ""
    digest: str
    size: Annotated[int, msgspec.Meta(ge=0)]
    artifact_type: str | None = None
    annotations: dict[str, str] | None = None
    platform: ClaimedPlatform | None = None
    data: Any = None
    """The content itself in base64, for content of a few bytes (image specification, "Descriptor"); never trusted."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """An image manifest: an image, or an artifact in its clothes."""

    media_type: str
    config: Descriptor
    layers: tuple[Descriptor, ...]
    subject: Descriptor | None
    artifact_type: str
    """Its own, else the config's media type, as the distribution specification derives it for referrers."""
    annotations: dict[str, str]


class Index(msgspec.Struct, frozen=True, kw_only=True):
    """An image index or Docker manifest list."""

    media_type: str
    manifests: tuple[Descriptor, ...]
    subject: Descriptor | None
    artifact_type: str
    """Empty where the index has none: nothing is derived for indexes."""
    annotations: dict[str, str]


class ImageConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What the config of a runnable image says of where it runs."""

    platform: Platform | None
    """``None``: it names no operating system or no architecture."""
    has_variant: bool
    environment: tuple[str, ...]


class _Document(msgspec.Struct, rename="camel"):
    media_type: str | None = None
    artifact_type: str | None = None
    config: Descriptor | None = None
    layers: list[Descriptor] | None = None
    manifests: list[Descriptor] | msgspec.UnsetType | None = msgspec.UNSET
    subject: Descriptor | None = None
    annotations: dict[str, str] | None = None


class _Shape(msgspec.Struct, rename="camel"):
    media_type: str | None = None
    config: msgspec.Raw = msgspec.Raw()
    layers: msgspec.Raw = msgspec.Raw()
    manifests: msgspec.Raw = msgspec.Raw()

    def has(self, *fields: msgspec.Raw) -> bool:
        """Whether at least one of these fields says something."""
        return any(bytes(field) not in {b"", b"null"} for field in fields)


class _ConfigSection(msgspec.Struct):
    environment: list[str] | None = msgspec.field(default=None, name="Env")


class _Config(msgspec.Struct):
    os: str | None = None
    architecture: str | None = None
    variant: str | None = None
    os_version: str | None = msgspec.field(default=None, name="os.version")
    config: _ConfigSection | None = None


_Type = TypeVar("_Type")


def _decode(data: bytes, kind: type[_Type], source: str) -> _Type:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RegistryContentError(
            f"{source} cannot be read", why=f"its JSON is not what it should be: {error}", todo="push the image again"
        ) from error


def media_type_of(data: bytes, served: str, source: str) -> str:
    """The type of a manifest's bytes, from what the server says and what the bytes say.

    The two must agree, and a document that has the fields of both kinds is refused: clients that read it differently would
    see different images (CVE-2021-41190).

    Raises:
        RegistryContentError: no JSON object, a disagreement, or no known kind.
    """
    shape = _decode(data, _Shape, source)
    served = served.partition(";")[0].strip().lower()
    said = shape.media_type or ""
    is_manifest, is_index = shape.has(shape.layers, shape.config), shape.has(shape.manifests)
    if is_index and is_manifest:
        raise RegistryContentError(
            f"{source} is ambiguous", why="it has the fields of a manifest and those of an index"
        )
    if served in _NO_TYPES:
        return said or (IMAGE_MANIFEST if is_manifest else IMAGE_INDEX if is_index else "")
    if (served in INDEX_TYPES and is_manifest) or (served in MANIFEST_TYPES and is_index):
        raise RegistryContentError(f"{source} is ambiguous", why=f"it is served as {served} and has other fields")
    if said and said != served:
        raise RegistryContentError(
            f"{source} is ambiguous", why=f"it is served as {served[:100]!r} and calls itself {said[:100]!r}"
        )
    return served


def parse_manifest(data: bytes, media_type: str, source: str) -> Manifest | Index:
    """The image manifest or index that some bytes are, told by their media type.

    Raises:
        RegistryContentError: another type, or its fields are not as the specification says; ``source`` begins the sentence.
    """
    if media_type in INDEX_TYPES:
        return _parse_index(data, media_type, source)
    if media_type in MANIFEST_TYPES:
        return _parse_image(data, media_type, source)
    raise RegistryContentError(f"{source} is no image", why=_explain_type(media_type), todo=_advise_type(media_type))


def _explain_type(media_type: str) -> str:
    if media_type.startswith(_SCHEMA_1):
        return "it is a Docker manifest of schema 1, which engines stopped reading"
    if media_type == _WITHDRAWN:
        return "it is an OCI artifact manifest, a kind that was withdrawn from the specification"
    return (
        f"its media type {media_type[:100]!r} is no manifest's and no index's" if media_type else "it has no media type"
    )


def _advise_type(media_type: str) -> str:
    return "pull and push it with a current engine" if media_type.startswith(_SCHEMA_1) else ""


def _parse_index(data: bytes, media_type: str, source: str) -> Index:
    document = _decode(data, _Document, source)
    if document.manifests is msgspec.UNSET:
        raise RegistryContentError(f"{source} cannot be read", why="an index lists manifests, and it has no list")
    # cuelabs' registry writes null where nothing is listed.
    entries = tuple(document.manifests or ())
    if len(entries) > MAX_ENTRIES:
        raise RegistryContentError(f"{source} is too large", why=f"it lists more than {MAX_ENTRIES} manifests")
    return Index(
        media_type=media_type,
        manifests=tuple(_checked(entry, source) for entry in entries),
        subject=document.subject,
        artifact_type=document.artifact_type or "",
        annotations=document.annotations or {},
    )


def _parse_image(data: bytes, media_type: str, source: str) -> Manifest:
    document = _decode(data, _Document, source)
    if document.config is None:
        raise RegistryContentError(f"{source} cannot be read", why="a manifest needs a config, and it has none")
    if len(document.layers or ()) > MAX_ENTRIES:
        raise RegistryContentError(f"{source} is too large", why=f"it lists more than {MAX_ENTRIES} layers")
    return Manifest(
        media_type=media_type,
        config=_checked(document.config, source),
        layers=tuple(_checked(layer, source) for layer in document.layers or ()),
        subject=document.subject,
        artifact_type=document.artifact_type or document.config.media_type,
        annotations=document.annotations or {},
    )


def _checked(descriptor: Descriptor, source: str) -> Descriptor:
    if digests.parse_digest(descriptor.digest) is None:
        raise RegistryContentError(f"{source} cannot be read", why=f"{descriptor.digest[:200]!r} in it is not a digest")
    if descriptor.data is not None and not isinstance(descriptor.data, str):
        return msgspec.structs.replace(descriptor, data=None)  # whatever it is, it would only take memory
    return descriptor


def digest_of(descriptor: Descriptor) -> Digest:
    """The digest of a parsed descriptor; parsing checked it."""
    return Digest(descriptor.digest)


def claimed_platform(descriptor: Descriptor) -> Platform | None:
    """What an index says of an entry, in normal form; ``None`` if it does not say both system and architecture."""
    claimed = descriptor.platform
    if claimed is None:
        return None
    return _platform(claimed.os, claimed.architecture, claimed.variant, claimed.os_version)


def _platform(os: str | None, architecture: str | None, variant: str | None, os_version: str | None) -> Platform | None:
    """Names of another alphabet are no platform's; they come from strangers and are shown on terminals."""
    parts = [part or "" for part in (os, architecture, variant, os_version)]
    if not parts[0] or not parts[1] or not all(_PLATFORM_PART.fullmatch(part) for part in parts):
        return None
    return platforms.normalize(*parts)


def parse_config(data: bytes, source: str) -> ImageConfig:
    """What an image config says of where the image runs.

    Raises:
        RegistryContentError: it is no JSON object of the right shape.
    """
    config = _decode(data, _Config, source)
    platform = _platform(config.os, config.architecture, config.variant, config.os_version)
    section = config.config or _ConfigSection()
    return ImageConfig(
        platform=platform, has_variant=bool(config.variant), environment=tuple(section.environment or ())
    )


def embedded(descriptor: Descriptor) -> bytes | None:
    """The content that a descriptor carries itself; ``None``: none, or other content than it promises, so fetch it."""
    if not isinstance(descriptor.data, str) or len(descriptor.data) > MAX_MANIFEST_BYTES:
        return None
    digest = digests.parse_digest(descriptor.digest)
    try:
        data = base64.b64decode(descriptor.data, validate=True)
    except ValueError:
        return None
    return data if len(data) == descriptor.size and digest is not None and digests.is_of(digest, data) else None


def verify(data: bytes, digest: Digest, source: str, *, size: int | None = None) -> bytes:
    """The bytes, if they are what the digest names and as many as were promised.

    Raises:
        RegistryContentError: they are not.
    """
    if not digests.is_of(digest, data):
        raise RegistryContentError(
            f"{source} is not what was asked for",
            why=f"its content has the digest {digests.compute(data, digest.partition(':')[0])}, not {digest}",
            todo="something between here and there changes or damages content; try again, or push it again",
        )
    if size is not None and size != len(data):
        raise RegistryContentError(f"{source} is not what was asked for", why=f"{len(data)} bytes, not {size}")
    return data
