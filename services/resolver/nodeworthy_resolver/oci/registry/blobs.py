"""Blobs over HTTP: read within a limit and verified, written in one piece."""

from yarl import URL

from nodeworthy.errors import RegistryContentError
from nodeworthy_resolver.oci import manifests
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.manifests import Descriptor
from nodeworthy_resolver.oci.registry import answers
from nodeworthy_resolver.oci.registry.endpoint import Endpoint
from nodeworthy_resolver.oci.registry.transport import follow

_OK, _CREATED, _ACCEPTED, _NO_CONTENT, _NOT_FOUND = 200, 201, 202, 204, 404


async def read_blob(endpoint: Endpoint, descriptor: Descriptor, limit: int) -> bytes:
    """The blob that a descriptor points at; registries redirect to storage hosts for it.

    Raises:
        NodeworthyError: it is not there, not to be had, larger than the limit, or not what the descriptor says.
    """
    name = f"blob {descriptor.digest} of {endpoint.name}"
    if descriptor.size > limit:
        raise answers.too_large(name, limit)
    answer = await endpoint.send("GET", endpoint.url("blobs", descriptor.digest), limit=limit)
    if answer.status != _OK:
        raise answers.refusal(answer, name)
    return manifests.verify(answer.body, manifests.digest_of(descriptor), name, size=descriptor.size)


async def write_blob(endpoint: Endpoint, data: bytes, digest: Digest) -> None:
    """Upload a blob: asked for first, then a session is opened and the blob put into it in one request.

    Raises:
        NodeworthyError: the registry did not take it.
    """
    name = f"uploading a blob to {endpoint.name}"
    known = await endpoint.send("HEAD", endpoint.url("blobs", digest), limit=0)
    if known.status == _OK:
        return
    if known.status != _NOT_FOUND:
        raise answers.refusal(known, name)
    opened = await endpoint.send(
        "POST", endpoint.url("blobs", "uploads", ""), limit=answers.MAX_REFUSAL_BYTES, body=b""
    )
    if opened.status != _ACCEPTED:
        raise answers.refusal(opened, name)
    session = _session_url(opened.url, opened.headers.get("Location", ""), endpoint)
    headers = {"Content-Type": "application/octet-stream"}
    put = session.extend_query({"digest": digest})
    answer = await endpoint.send("PUT", put, limit=answers.MAX_REFUSAL_BYTES, headers=headers, body=data)
    if answer.status not in {_CREATED, _NO_CONTENT}:
        raise answers.refusal(answer, name)


def _session_url(opened: URL, location: str, endpoint: Endpoint) -> URL:
    """Where the upload goes on: relative, absolute, or on another host, which then gets no login from us."""
    url = follow(opened, location)
    if url is None or (opened.scheme == "https" and url.scheme != "https"):
        raise RegistryContentError(
            f"{endpoint.name} takes no upload", why=f"its session's address is {location[:100]!r}"
        )
    return url
