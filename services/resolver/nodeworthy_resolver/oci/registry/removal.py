"""Removing an artifact: deleted by its digest where the registry does that, and taken off the fallback tag.

Distribution specification, "Deleting Manifests" and "Referrers Tag Schema". Many registries delete nothing over the API
(distribution unless told so, GHCR, Docker Hub in part); what they list by a tag alone can still be taken off it.
"""

from nodeworthy.errors import UsageError
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.registry import answers, fallback, referrers
from nodeworthy_resolver.oci.registry.answers import Answer
from nodeworthy_resolver.oci.registry.endpoint import Endpoint
from nodeworthy_resolver.oci.registry.manifests import source
from nodeworthy_resolver.oci.store import Removal

_GONE = frozenset({200, 202, 204, 404})
"""Deleted, or not there any more."""
_REFUSED = frozenset({400, 405, 501})
"""How registries say that they delete nothing; 405 with the code UNSUPPORTED is the specification's."""


async def remove_referrer(endpoint: Endpoint, digest: Digest, subject: Digest) -> Removal:
    """Delete a manifest, and see that the subject's fallback tag does not list it.

    Raises:
        UsageError: the registry deletes nothing and lists it by its API, so that nothing can be done from here.
        NodeworthyError: it is denied, or the registry cannot be asked.
    """
    url = endpoint.url("manifests", digest)
    answer = await endpoint.send("DELETE", url, limit=answers.MAX_REFUSAL_BYTES)
    if answer.status in _GONE:
        await fallback.remove_from_tag(endpoint, subject, digest)
        return Removal.DELETED
    what = f"deleting {source(endpoint, digest)}"
    if answer.status not in _REFUSED:
        raise answers.refusal(answer, what)
    if await referrers.has_api(endpoint, subject):
        raise _undeletable(answer, what)
    if not await fallback.remove_from_tag(endpoint, subject, digest):
        raise _undeletable(answer, what)
    return Removal.UNLISTED


def _undeletable(answer: Answer, what: str) -> UsageError:
    return UsageError(
        f"{what} is refused",
        why=f"{answers.describe_refusal(answer)}: this registry deletes nothing over its API",
        todo="delete it in the registry's own interface, allow deletion in its configuration, or attach another"
        " specification: the newest counts",
    )
