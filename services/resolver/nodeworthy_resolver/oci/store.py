"""What reading and writing images needs of the place where they are kept: the two protocols, and the records they speak in.

Implemented by :mod:`nodeworthy_resolver.oci.registry`, :mod:`nodeworthy_resolver.oci.layout` and, for reading only, by
:mod:`nodeworthy_resolver.oci.archive`; a store is bound to one repository, folder or file.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.manifests import Descriptor


@dataclass(frozen=True)
class Content:
    """A manifest or index as it is kept, byte by byte; verified against its digest."""

    data: bytes
    media_type: str
    digest: Digest

    @property
    def descriptor(self) -> Descriptor:
        """What points at it, exactly."""
        return Descriptor(media_type=self.media_type, digest=self.digest, size=len(self.data))


@dataclass(frozen=True)
class Listing:
    """What a store names as the referrers of a subject. Not proof: each entry has to be opened and must name the subject."""

    entries: tuple[Descriptor, ...]
    how: str
    """How the answer was found, for a person: which lists were asked and what they said."""
    notices: tuple[str, ...] = ()


class Via(StrEnum):
    """How a written artifact can be found from its subject."""

    REFERRERS_API = "referrers-api"
    FALLBACK_TAG = "fallback-tag"
    LAYOUT = "layout"


class Removal(StrEnum):
    """What became of an artifact that was removed; in both cases it no longer counts for its subject."""

    DELETED = "deleted"
    UNLISTED = "unlisted"
    """Taken off the fallback tag by which alone it was found; the registry deletes nothing, and keeps its bytes."""


class ContentStore(Protocol):
    """A repository to read from. Whatever it returns was verified; whatever it cannot verify, it raises."""

    @property
    def name(self) -> str:
        """The repository or folder, as messages name it."""
        ...

    async def resolve(self, target: str) -> Content:
        """The manifest that a tag or digest names."""
        ...

    async def read_manifest(self, digest: Digest) -> Content:
        """The manifest or index with this digest."""
        ...

    async def read_blob(self, descriptor: Descriptor, limit: int) -> bytes:
        """The blob, of at most ``limit`` bytes."""
        ...

    async def list_referrers(self, subject: Digest, artifact_type: str) -> Listing:
        """What claims to refer to ``subject``; other types than the one looked for may be left out."""
        ...


class BlobSink(Protocol):
    """Takes a large blob piece by piece. It may begin again, when a connection broke or another host is asked."""

    def begin(self) -> None:
        """What comes now are the blob's bytes from its first one on."""
        ...

    async def take(self, piece: bytes) -> None:
        """The next bytes; whoever gives them waits until there is room for more."""
        ...


@runtime_checkable
class StreamingStore(ContentStore, Protocol):
    """A repository whose large blobs come over a network."""

    async def stream_blob(self, descriptor: Descriptor, sink: BlobSink) -> None:
        """Give a blob to a sink. Not verified: whoever takes the bytes holds them against the digest."""
        ...


@runtime_checkable
class LocalStore(ContentStore, Protocol):
    """A folder or file whose large blobs lie on a disk."""

    def blob_pieces(self, descriptor: Descriptor) -> Iterator[bytes]:
        """A blob, piece by piece. Not verified: whoever takes the bytes holds them against the digest."""
        ...


class WritableStore(ContentStore, Protocol):
    """A repository to attach to."""

    async def write_blob(self, data: bytes, digest: Digest) -> None:
        """Keep a blob; nothing happens if it is there already."""
        ...

    async def write_referrer(self, data: bytes, descriptor: Descriptor, subject: Digest) -> Via:
        """Keep a manifest by its digest, and see that it is found from its subject."""
        ...

    async def remove_referrer(self, digest: Digest, subject: Digest) -> Removal:
        """Remove a manifest, and see that it is no longer listed for its subject."""
        ...
