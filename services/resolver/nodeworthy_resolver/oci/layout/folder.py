"""The layout folder's side of a content store.

The methods are coroutines because a registry's are; the files are small and local, so they are read in place.
"""

from pathlib import Path
from typing import Any

from nodeworthy.errors import ImageNotFoundError, RegistryContentError
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.entries import add_entry, entry_of
from nodeworthy_resolver.oci.layout import blobs, manifests, referrers
from nodeworthy_resolver.oci.manifests import Descriptor, digest_of
from nodeworthy_resolver.oci.store import Content, Listing, Via


class LayoutStore:
    """One folder with the OCI image layout; a content store that can be written to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def name(self) -> str:
        """The folder, as a reference names it."""
        return f"oci:{self._folder}"

    async def resolve(self, target: str) -> Content:
        """The manifest that a tag, a digest or, in a folder with one image, nothing names."""
        return manifests.resolve(self._folder, target)

    async def read_manifest(self, digest: Digest) -> Content:
        """The manifest or index with this digest."""
        return manifests.read_manifest(self._folder, digest)

    async def read_blob(self, descriptor: Descriptor, limit: int) -> bytes:
        """The blob, of at most ``limit`` bytes."""
        return blobs.read_blob(self._folder, digest_of(descriptor), limit, size=descriptor.size)

    async def list_referrers(self, subject: Digest, artifact_type: str) -> Listing:  # noqa: ARG002 # a folder filters nothing
        """Every manifest of the folder that refers to ``subject``."""
        return referrers.list_referrers(self._folder, subject)

    async def write_blob(self, data: bytes, digest: Digest) -> None:
        """Write a blob; the same bytes again change nothing, and a damaged file is replaced."""
        manifests.read_index(self._folder)  # not a layout: say so before anything is written
        try:
            blobs.read_blob(self._folder, digest, len(data))
        except (ImageNotFoundError, RegistryContentError):
            blobs.write_file(blobs.blob_path(self._folder, digest), data)

    async def write_referrer(self, data: bytes, descriptor: Descriptor, subject: Digest) -> Via:  # noqa: ARG002 # in the manifest
        """Write the manifest and list it in the folder's index without a tag, as oras does."""
        await self.write_blob(data, digest_of(descriptor))

        def change(index: dict[str, Any]) -> dict[str, Any] | None:
            return add_entry(index, entry_of(descriptor))

        manifests.add_entry(self._folder, change)
        return Via.LAYOUT
