"""Removing the compatibility specifications that are attached to an image."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nodeworthy.platforms import Platform
from nodeworthy_resolver.oci import attachment, manifests
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.reference import AnyReference
from nodeworthy_resolver.oci.referrers import list_artifacts
from nodeworthy_resolver.oci.store import ContentStore, Removal, WritableStore


@dataclass(frozen=True)
class Attachment:
    """One artifact that is attached."""

    digest: Digest
    subject: Digest
    platform: Platform | None
    """The subject's, as its index claims it; ``None`` where what the reference resolves to is the subject."""
    created: str
    """Its date as written; empty when missing."""


async def list_attachments(
    store: ContentStore, reference: AnyReference, *, platforms: Literal["all"] | Sequence[Platform] | None
) -> tuple[Attachment, ...]:
    """Every specification attached to what the reference resolves to, or to the children that platforms take.

    Raises:
        UsageError: there is no image for a platform.
        NodeworthyError: it cannot be found out; a list with a gap would leave one that counts afterwards.
    """
    found: list[Attachment] = []
    for subject in await attachment.find_subjects(store, reference, platforms):
        digest = manifests.digest_of(subject.descriptor)
        opened, _ = await list_artifacts(store, digest, [])
        found += [Attachment(one.digest, digest, subject.claimed, one.created) for one in opened]
    return tuple(found)


async def detach(store: WritableStore, attached: Attachment) -> Removal:
    """Remove one of them.

    Raises:
        NodeworthyError: the store does not let it be removed.
    """
    return await store.remove_referrer(attached.digest, attached.subject)
