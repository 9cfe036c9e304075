"""Referrers in a layout: there is no API, so the manifests that the index lists are looked at.

``oras attach --oci-layout`` lists the artifact in ``index.json`` without a tag; ``oras copy -r`` and other tools may
bring the fallback tag along, as an index under that name.
"""

from collections.abc import Iterator

from nodeworthy.errors import ImageNotFoundError, RegistryContentError
from nodeworthy_resolver.oci import digests, manifests
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.layout.files import LayoutFiles
from nodeworthy_resolver.oci.layout.manifests import find_tag, read_index, read_manifest
from nodeworthy_resolver.oci.manifests import INDEX_TYPES, MANIFEST_TYPES, Descriptor, Index, Manifest
from nodeworthy_resolver.oci.store import Listing

_NONE = "no manifest beside it refers to it"


def list_referrers(files: LayoutFiles, subject: Digest) -> Listing:
    """The manifests of the layout that name ``subject``, and those that its fallback tag lists.

    Raises:
        NodeworthyError: an entry that may be one cannot be read.
    """
    index = read_index(files)
    notices: list[str] = []
    found = {entry.digest: entry for entry in _scan(files, index, subject, notices)}
    found |= {entry.digest: entry for entry in _read_tag(files, index, subject, notices) if entry.digest not in found}
    return Listing(tuple(found.values()), _NONE, tuple(notices))


def _scan(files: LayoutFiles, index: Index, subject: Digest, notices: list[str]) -> Iterator[Descriptor]:
    for entry in index.manifests:
        if entry.media_type not in MANIFEST_TYPES | INDEX_TYPES or entry.digest == subject:
            continue
        try:
            content = read_manifest(files, manifests.digest_of(entry), entry)
        except ImageNotFoundError:
            notices.append(f"{digests.short(entry.digest)} is listed in index.json and not there")
            continue
        document = manifests.parse_manifest(content.data, content.media_type, f"{files.place}@{content.digest}")
        if document.subject is not None and document.subject.digest == subject:
            yield _described(content.descriptor, document)


def _described(descriptor: Descriptor, document: Manifest | Index) -> Descriptor:
    """The entry with the type and annotations of its manifest, as a registry would list it."""
    return Descriptor(
        media_type=descriptor.media_type,
        digest=descriptor.digest,
        size=descriptor.size,
        artifact_type=document.artifact_type or None,
        annotations=document.annotations or None,
    )


def _read_tag(files: LayoutFiles, index: Index, subject: Digest, notices: list[str]) -> tuple[Descriptor, ...]:
    tag = digests.fallback_tag(subject)
    entry = find_tag(index, tag)
    if entry is None:
        return ()
    if entry.media_type not in INDEX_TYPES:
        notices.append(f"the tag {digests.short(tag)} is no index and was passed over")
        return ()
    content = read_manifest(files, manifests.digest_of(entry), entry)
    listed = manifests.parse_manifest(content.data, content.media_type, f"{files.place}:{tag}")
    if not isinstance(listed, Index):
        raise RegistryContentError(f"{files.place}:{tag} cannot be read", why="it is no index")
    return listed.manifests
