"""Images in archive files: an OCI layout in a tar, and what ``docker save`` writes; plain or gzip, read only.

Belongs here: finding the members of a tar within bounds, without unpacking anything, and the two forms that archives of
images have. Does not belong here: the layout's own rules, which layout/ knows, and what is inside layers.
"""

from nodeworthy_resolver.oci.archive.docker import ArchivedLayer, DockerArchive
from nodeworthy_resolver.oci.archive.opening import open_archive

__all__ = ["ArchivedLayer", "DockerArchive", "open_archive"]
