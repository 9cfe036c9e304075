"""Images in a folder with the OCI image layout, as ``oras``, ``skopeo``, ``podman`` and ``docker buildx`` write it.

Belongs here: the folder's files (``oci-layout``, ``index.json``, ``blobs/``), read and written as a content store. Does
not belong here: anything of HTTP, nor the meaning of a manifest. A check of a folder must start fast, so nothing heavy
is imported.
"""

from nodeworthy_resolver.oci.layout.folder import LayoutStore

__all__ = ["LayoutStore"]
