"""Images as registries and layout folders keep them: names, manifests, attached artifacts.

Belongs here: resolving a reference to what is known of its image, finding and attaching compatibility artifacts, over
one small protocol of a store (registry/ over HTTP, layout/ in a folder, archive/ and sif/ in a file). Does not belong here:
the meaning of a specification, verdicts, and what is inside layers. aiohttp is imported below registry/ only.
"""

from nodeworthy_resolver.oci.access import Login, RegistryAccess, default_configs
from nodeworthy_resolver.oci.attachment import Attached, attach
from nodeworthy_resolver.oci.detachment import Attachment, detach, list_attachments
from nodeworthy_resolver.oci.looking_up import look_up
from nodeworthy_resolver.oci.reference import AnyReference, LayoutReference, Reference, parse_reference
from nodeworthy_resolver.oci.referrers import search_artifact
from nodeworthy_resolver.oci.resolution import Search, complete_image, lasting, resolve_image
from nodeworthy_resolver.oci.store import ContentStore, Removal, Via, WritableStore
from nodeworthy_resolver.oci.stores import open_store

__all__ = [
    "AnyReference",
    "Attached",
    "Attachment",
    "ContentStore",
    "LayoutReference",
    "Login",
    "Reference",
    "RegistryAccess",
    "Removal",
    "Search",
    "Via",
    "WritableStore",
    "attach",
    "complete_image",
    "default_configs",
    "detach",
    "lasting",
    "list_attachments",
    "look_up",
    "open_store",
    "parse_reference",
    "resolve_image",
    "search_artifact",
]
