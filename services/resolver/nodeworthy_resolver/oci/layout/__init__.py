"""Images in the OCI image layout, as ``oras``, ``skopeo``, ``podman`` and ``docker buildx`` write it.

Belongs here: the layout's files (``oci-layout``, ``index.json``, ``blobs/``), read as a content store wherever they lie,
and written in a folder. Does not belong here: anything of HTTP, nor the meaning of a manifest. A check of a folder must
start fast, so nothing heavy is imported.
"""

from nodeworthy_resolver.oci.layout.files import LayoutFiles, open_ordinary
from nodeworthy_resolver.oci.layout.folder import LayoutStore
from nodeworthy_resolver.oci.layout.reader import LayoutReader

__all__ = ["LayoutFiles", "LayoutReader", "LayoutStore", "open_ordinary"]
