"""Opening an archive as the store that it is."""

from collections.abc import Iterator
from contextlib import contextmanager

from nodeworthy.errors import ImageNotFoundError
from nodeworthy_resolver.oci.archive.docker import LISTING, DockerArchive
from nodeworthy_resolver.oci.archive.members import ArchiveFiles, Members
from nodeworthy_resolver.oci.archive.stream import open_stream
from nodeworthy_resolver.oci.layout import LayoutReader
from nodeworthy_resolver.oci.reference import ArchiveKind, ArchiveReference
from nodeworthy_resolver.oci.store import ContentStore


@contextmanager
def open_archive(reference: ArchiveReference) -> Iterator[ContentStore]:
    """The store that an archive is. What Docker saves since version 25 holds a layout too, which says more and is read.

    Raises:
        ImageNotFoundError: the file is not there, or holds no image of this kind.
        NodeworthyError: it cannot be read.
    """
    stream = open_stream(reference.file)
    try:
        yield _choose(reference, Members(reference.file, stream))
    finally:
        stream.close()


def _choose(reference: ArchiveReference, members: Members) -> ContentStore:
    has_layout = "oci-layout" in members and "index.json" in members
    is_docker = LISTING in members
    if has_layout and (is_docker or reference.kind is ArchiveKind.OCI):
        return LayoutReader(ArchiveFiles(members, reference.kind.value))
    if is_docker and reference.kind is ArchiveKind.DOCKER:
        return DockerArchive(members)
    other = ArchiveKind.OCI if reference.kind is ArchiveKind.DOCKER else ArchiveKind.DOCKER
    missing = LISTING if reference.kind is ArchiveKind.DOCKER else "oci-layout and index.json"
    raise ImageNotFoundError(
        f"{reference.file} holds no image",
        why=f"it has no {missing}",
        todo=f"write {other.value}:{reference.file}"
        if has_layout or is_docker
        else "name an archive with an image in it",
    )
