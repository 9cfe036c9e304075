"""The reading side of a content store over the files of a layout, wherever they lie."""

from collections.abc import Iterator

from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.layout import blobs, manifests, referrers
from nodeworthy_resolver.oci.layout.files import LayoutFiles
from nodeworthy_resolver.oci.manifests import Descriptor, digest_of
from nodeworthy_resolver.oci.store import Content, Listing


class LayoutReader:
    """One layout; a content store. The methods are coroutines because a registry's are; the files are read in place."""

    def __init__(self, files: LayoutFiles) -> None:
        self._files = files

    @property
    def name(self) -> str:
        """The folder or file, as a reference names it."""
        return f"{self._files.scheme}:{self._files.place}"

    async def resolve(self, target: str) -> Content:
        """The manifest that a tag, a digest or, in a layout with one image, nothing names."""
        return manifests.resolve(self._files, target)

    async def read_manifest(self, digest: Digest) -> Content:
        """The manifest or index with this digest."""
        return manifests.read_manifest(self._files, digest)

    async def read_blob(self, descriptor: Descriptor, limit: int) -> bytes:
        """The blob, of at most ``limit`` bytes."""
        return blobs.read_blob(self._files, digest_of(descriptor), limit, size=descriptor.size)

    def blob_pieces(self, descriptor: Descriptor) -> Iterator[bytes]:
        """The blob, piece by piece, not verified."""
        return blobs.blob_pieces(self._files, digest_of(descriptor))

    async def list_referrers(self, subject: Digest, artifact_type: str) -> Listing:  # noqa: ARG002 # a layout filters nothing
        """Every manifest of the layout that refers to ``subject``."""
        return referrers.list_referrers(self._files, subject)
