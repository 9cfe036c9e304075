"""Images as registries and layout folders keep them: names, manifests, attached artifacts.

Belongs here: resolving a reference to what is known of its image, finding and attaching compatibility artifacts, over
one small protocol of a store with two implementations (registry/ over HTTP, layout/ in a folder). Does not belong here:
the meaning of a specification, verdicts, and what is inside layers. aiohttp is imported below registry/ only.
"""

from nodeworthy_resolver.oci.access import RegistryAccess, default_config
from nodeworthy_resolver.oci.attachment import Attached, attach
from nodeworthy_resolver.oci.reference import LayoutReference, Reference, parse_reference
from nodeworthy_resolver.oci.referrers import search_artifact
from nodeworthy_resolver.oci.resolution import Search, complete_image, lasting, resolve_image
from nodeworthy_resolver.oci.store import ContentStore, Via, WritableStore
from nodeworthy_resolver.oci.stores import open_store

__all__ = [
    "Attached",
    "ContentStore",
    "LayoutReference",
    "Reference",
    "RegistryAccess",
    "Search",
    "Via",
    "WritableStore",
    "attach",
    "complete_image",
    "default_config",
    "lasting",
    "open_store",
    "parse_reference",
    "resolve_image",
    "search_artifact",
]
