"""Keeping the fallback tag: the list of referrers that clients maintain on registries without the referrers API.

Distribution specification, "Pushing Manifests with Subject" and "Referrers Tag Schema". Two writers may race; where the
registry offers an ETag the write is conditional, and it is read back in any case, since some offer one and do not look
at it.
"""

import json
from typing import Any

from nodeworthy.errors import RegistryBusyError, RegistryContentError
from nodeworthy_resolver.oci import digests
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.entries import add_entry, empty_index, entry_of, remove_entry
from nodeworthy_resolver.oci.manifests import IMAGE_INDEX, INDEX_TYPES, MAX_MANIFEST_BYTES, Descriptor
from nodeworthy_resolver.oci.registry import answers
from nodeworthy_resolver.oci.registry.endpoint import Endpoint
from nodeworthy_resolver.oci.registry.manifests import fetch_manifest, parse_answer, source, write_manifest

ATTEMPTS = 5
"""Rounds against other writers; each of them needs to lose against another one in the same second."""

_OK, _NOT_FOUND, _PRECONDITION_FAILED = 200, 404, 412


async def add_to_tag(endpoint: Endpoint, subject: Digest, descriptor: Descriptor) -> None:
    """See that the subject's fallback tag lists a manifest.

    Raises:
        RegistryContentError: the tag is something else than a list, which is not overwritten.
        RegistryBusyError: other writers won every time.
        NodeworthyError: it cannot be read or written.
    """
    tag = digests.fallback_tag(subject)
    entry = entry_of(descriptor)
    for _ in range(ATTEMPTS):
        index, etag = await _read_list(endpoint, tag)
        longer = add_entry(index, entry)
        if longer is None:
            return
        data = json.dumps(longer, separators=(",", ":")).encode()
        if len(data) > MAX_MANIFEST_BYTES:
            raise answers.too_large(source(endpoint, tag), MAX_MANIFEST_BYTES)
        answer = await write_manifest(endpoint, tag, data, IMAGE_INDEX, match=etag)
        if answer.status != _PRECONDITION_FAILED and add_entry((await _read_list(endpoint, tag))[0], entry) is None:
            return
    raise RegistryBusyError(
        f"{source(endpoint, tag)} could not be kept",
        why=f"other writers changed it {ATTEMPTS} times in a row",
        todo=f"attach again; {descriptor.digest} is stored and not yet found from its subject",
    )


async def remove_from_tag(endpoint: Endpoint, subject: Digest, digest: Digest) -> bool:
    """See that the subject's fallback tag does not list a manifest; whether it did.

    What is no list lists nothing. An empty list is left there, since its writer may not be allowed to delete tags.

    Raises:
        RegistryBusyError: other writers won every time.
        NodeworthyError: it cannot be read or written.
    """
    tag = digests.fallback_tag(subject)
    was_listed = False
    for _ in range(ATTEMPTS):
        index, etag = await _read(endpoint, tag)
        shorter = None if index is None else remove_entry(index, digest)
        if shorter is None:
            return was_listed
        was_listed = True
        await write_manifest(
            endpoint, tag, json.dumps(shorter, separators=(",", ":")).encode(), IMAGE_INDEX, match=etag
        )
    raise RegistryBusyError(
        f"{source(endpoint, tag)} could not be kept",
        why=f"other writers changed it {ATTEMPTS} times in a row",
        todo=f"remove {digest} again",
    )


async def _read_list(endpoint: Endpoint, tag: str) -> tuple[dict[str, Any], str | None]:
    """As :func:`_read`, of a tag that may be written: it is a list, or nothing is there."""
    index, etag = await _read(endpoint, tag)
    if index is None:
        raise RegistryContentError(
            f"{source(endpoint, tag)} is not a list of referrers",
            why="it is something else, and is not overwritten",
            todo="move that tag away: its name is kept for referrers by the distribution specification",
        )
    return index, etag


async def _read(endpoint: Endpoint, tag: str) -> tuple[dict[str, Any] | None, str | None]:
    """The list behind the tag, empty if there is none and ``None`` if it is no list, and its ETag if there is one."""
    answer = await fetch_manifest(endpoint, tag)
    if answer.status == _NOT_FOUND:
        return empty_index(), None
    name = source(endpoint, tag)
    if answer.status != _OK:
        raise answers.refusal(answer, name)
    content = parse_answer(answer, tag, name)
    if content.media_type not in INDEX_TYPES:
        return None, None
    index: dict[str, Any] = json.loads(content.data)  # an object: its media type was read from its fields
    return index, answer.headers.get("ETag")
