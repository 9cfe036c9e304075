"""Entries of an index that is kept by several writers: added and removed without touching what others wrote; pure.

An index is changed as the JSON that it is, so that fields nobody here knows survive.
"""

from typing import Any

from nodeworthy_resolver.oci.manifests import IMAGE_INDEX, Descriptor


def empty_index() -> dict[str, Any]:
    """An index with nothing in it."""
    return {"schemaVersion": 2, "mediaType": IMAGE_INDEX, "manifests": []}


def add_entry(index: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any] | None:
    """The index with one more entry at its end; ``None`` if it has that digest already."""
    entries = index.get("manifests") or []
    if any(isinstance(other, dict) and other.get("digest") == entry["digest"] for other in entries):
        return None
    return index | {"manifests": [*entries, entry]}


def remove_entry(index: dict[str, Any], digest: str) -> dict[str, Any] | None:
    """The index without the entries of a digest; ``None`` if it has none."""
    entries = index.get("manifests") or []
    left = [entry for entry in entries if not (isinstance(entry, dict) and entry.get("digest") == digest)]
    return None if len(left) == len(entries) else index | {"manifests": left}


def entry_of(descriptor: Descriptor) -> dict[str, Any]:
    """A descriptor as it stands in a list of referrers: with the type and all annotations of its manifest."""
    entry: dict[str, Any] = {"mediaType": descriptor.media_type, "digest": descriptor.digest, "size": descriptor.size}
    if descriptor.artifact_type:
        entry["artifactType"] = descriptor.artifact_type
    if descriptor.annotations:
        entry["annotations"] = descriptor.annotations
    return entry
