"""Images in a registry over HTTP: the distribution specification's API, with what registries really answer.

Belongs here: sending requests, authentication, retries, deadlines, and the API's nouns (manifests, blobs, referrers) on
top of them. Does not belong here: what a manifest means or which artifact is chosen; that is the same for a layout
folder and lives above. The only package that imports aiohttp, so import it only where a registry is really asked.
"""

from nodeworthy_resolver.oci.registry.client import RegistryClient, RegistryStore

__all__ = ["RegistryClient", "RegistryStore"]
