"""Opening the store that a reference needs; only a reference to a registry loads what speaks HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nodeworthy_resolver.oci.access import RegistryAccess, require_files
from nodeworthy_resolver.oci.layout import LayoutStore
from nodeworthy_resolver.oci.reference import LayoutReference, Reference
from nodeworthy_resolver.oci.store import WritableStore


@asynccontextmanager
async def open_store(
    reference: Reference | LayoutReference, access: RegistryAccess | None = None
) -> AsyncIterator[WritableStore]:
    """The store of one reference, for one operation. A service that asks often keeps a ``RegistryClient`` of its own.

    Raises:
        UsageError: a file that ``access`` names is not there.
    """
    require_files(access or RegistryAccess())
    if isinstance(reference, LayoutReference):
        yield LayoutStore(reference.folder)
        return
    from nodeworthy_resolver.oci.registry import RegistryClient

    async with RegistryClient(access) as client:
        yield client.store(reference)
