"""One question for whoever has a reference and wants to know of its image, wherever that lies."""

from collections.abc import Sequence

from nodeworthy.images import ImageKnowledge
from nodeworthy.platforms import Platform
from nodeworthy_resolver.oci.access import RegistryAccess
from nodeworthy_resolver.oci.archive import open_archive
from nodeworthy_resolver.oci.reference import AnyReference, ArchiveReference, SifReference
from nodeworthy_resolver.oci.resolution import Search, resolve_image
from nodeworthy_resolver.oci.sif import read_sif
from nodeworthy_resolver.oci.stores import open_store


async def look_up(
    reference: AnyReference,
    platforms: Sequence[Platform] | None,
    access: RegistryAccess | None = None,
    *,
    search: Search | None = None,
) -> ImageKnowledge:
    """What is known of an image in a registry, a layout folder, an archive or a SIF file; see :func:`resolve_image`.

    Raises:
        NodeworthyError: it cannot be resolved, or read.
    """
    if isinstance(reference, SifReference):
        return await read_sif(reference, platforms)
    if isinstance(reference, ArchiveReference):
        with open_archive(reference) as archive:
            return await resolve_image(archive, reference, platforms, search=search)
    async with open_store(reference, access) as store:
        return await resolve_image(store, reference, platforms, search=search)
