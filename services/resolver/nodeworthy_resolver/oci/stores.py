"""Opening the store that a reference needs; only a reference to a registry loads what speaks HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nodeworthy.errors import UsageError
from nodeworthy_resolver.oci.access import RegistryAccess, require_files
from nodeworthy_resolver.oci.layout import LayoutStore
from nodeworthy_resolver.oci.reference import AnyReference, ArchiveReference, LayoutReference, SifReference
from nodeworthy_resolver.oci.sif import SPEC_ENDING
from nodeworthy_resolver.oci.store import WritableStore


@asynccontextmanager
async def open_store(reference: AnyReference, access: RegistryAccess | None = None) -> AsyncIterator[WritableStore]:
    """The store of one reference, for one operation. A service that asks often keeps a ``RegistryClient`` of its own.

    Raises:
        UsageError: a file that ``access`` names is not there, or the image lies in a file that is only read.
    """
    require_files(access or RegistryAccess())
    if isinstance(reference, ArchiveReference | SifReference):
        raise _read_only(reference)
    if isinstance(reference, LayoutReference):
        yield LayoutStore(reference.folder)
        return
    from nodeworthy_resolver.oci.registry import RegistryClient

    async with RegistryClient(access) as client:
        yield client.store(reference)


def _read_only(reference: ArchiveReference | SifReference) -> UsageError:
    if isinstance(reference, SifReference):
        why, todo = (
            "it is a single file",
            f"write the specification to {reference.file}{SPEC_ENDING}, where it is found",
        )
    else:
        why, todo = (
            "archives are only read",
            "copy the image into a registry or a layout folder first (oras cp, skopeo copy)",
        )
    return UsageError(f"nothing can be attached to {reference}, or taken from it", why=why, todo=todo)
