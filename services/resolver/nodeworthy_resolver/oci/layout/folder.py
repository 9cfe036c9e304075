"""The layout folder's side of a content store that can be written to."""

import json
from pathlib import Path
from typing import Any

from nodeworthy.errors import ImageNotFoundError, RegistryContentError
from nodeworthy_resolver.oci import digests
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.entries import add_entry, entry_of, remove_entry
from nodeworthy_resolver.oci.layout import blobs, manifests
from nodeworthy_resolver.oci.layout.files import FolderFiles
from nodeworthy_resolver.oci.layout.reader import LayoutReader
from nodeworthy_resolver.oci.manifests import INDEX_TYPES, MAX_MANIFEST_BYTES, Descriptor, digest_of
from nodeworthy_resolver.oci.store import Removal, Via


class LayoutStore(LayoutReader):
    """One folder with the OCI image layout; a content store that can be written to."""

    def __init__(self, folder: Path) -> None:
        super().__init__(FolderFiles(folder))
        self._folder = folder

    async def write_blob(self, data: bytes, digest: Digest) -> None:
        """Write a blob; the same bytes again change nothing, and a damaged file is replaced."""
        manifests.read_index(self._files)  # not a layout: say so before anything is written
        try:
            blobs.read_blob(self._files, digest, len(data))
        except (ImageNotFoundError, RegistryContentError):
            blobs.write_file(self._path(digest), data)

    async def write_referrer(self, data: bytes, descriptor: Descriptor, subject: Digest) -> Via:  # noqa: ARG002 # in the manifest
        """Write the manifest and list it in the folder's index without a tag, as oras does."""
        await self.write_blob(data, digest_of(descriptor))

        def change(index: dict[str, Any]) -> dict[str, Any] | None:
            return add_entry(index, entry_of(descriptor))

        manifests.change_index(self._folder, change)
        return Via.LAYOUT

    async def remove_referrer(self, digest: Digest, subject: Digest) -> Removal:
        """Take the manifest out of the folder's index and out of the subject's fallback tag, then delete its file.

        The files of its document and of the older list stay: something else may share them, and a file that nothing names
        harms nobody.
        """

        def change(index: dict[str, Any]) -> dict[str, Any] | None:
            shorter = remove_entry(index, digest)
            return self._shorten_tag(shorter or index, digest, subject) or shorter

        manifests.change_index(self._folder, change)
        blobs.remove_file(self._path(digest))
        return Removal.DELETED

    def _shorten_tag(self, index: dict[str, Any], digest: Digest, subject: Digest) -> dict[str, Any] | None:
        """The folder's index with a fallback tag that no longer lists ``digest``; ``None`` if it did not."""
        tag = digests.fallback_tag(subject)
        entries = index.get("manifests") or []
        for place, entry in enumerate(entries):
            if (entry.get("annotations") or {}).get(manifests.REF_NAME) != tag or entry["mediaType"] not in INDEX_TYPES:
                continue
            listing = json.loads(blobs.read_blob(self._files, Digest(entry["digest"]), MAX_MANIFEST_BYTES))
            shorter = remove_entry(listing, digest)
            if shorter is None:
                return None
            data = json.dumps(shorter, separators=(",", ":")).encode()
            blobs.write_file(self._path(digests.compute(data)), data)
            new = entry | {"digest": digests.compute(data), "size": len(data)}
            return index | {"manifests": [*entries[:place], new, *entries[place + 1 :]]}
        return None

    def _path(self, digest: Digest) -> Path:
        return self._folder / blobs.blob_name(digest)
