"""Manifests over HTTP: read by tag or digest and verified, written by digest."""

from nodeworthy.errors import RegistryContentError
from nodeworthy_resolver.oci import digests, manifests
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.manifests import MAX_MANIFEST_BYTES
from nodeworthy_resolver.oci.registry import answers
from nodeworthy_resolver.oci.registry.answers import Answer
from nodeworthy_resolver.oci.registry.endpoint import Endpoint
from nodeworthy_resolver.oci.store import Content

_ACCEPT = {"Accept": ", ".join(manifests.READABLE_TYPES)}
_PAGES = frozenset({"text/html", "application/xhtml+xml"})
_OK, _CREATED = 200, 201
_FAILURES = frozenset({429, 500, 502, 503, 504})
"""What says nothing of the method: asking in another way would only be one request more."""


async def read_manifest(endpoint: Endpoint, target: str) -> Content:
    """The manifest that a tag or digest names; verified against that digest and the one that the registry says.

    Raises:
        NodeworthyError: it is not there, not to be had, or not what was asked for.
    """
    answer = await fetch_manifest(endpoint, target)
    if answer.status != _OK:
        raise answers.refusal(answer, source(endpoint, target))
    return parse_answer(answer, target, source(endpoint, target))


async def read_digest(endpoint: Endpoint, target: str) -> Digest:
    """The digest of what a tag or digest names now, by a HEAD, which registries that count requests do not count.

    The digest is the registry's word; whoever reads it reads by that digest and verifies. Where a HEAD is not understood or
    says no digest (distribution specification: SHOULD), the manifest is read.

    Raises:
        NodeworthyError: it is not there or not to be had.
    """
    url = endpoint.url("manifests", target)
    answer = await endpoint.send("HEAD", url, limit=0, headers=_ACCEPT)
    if answer.status == _OK:
        digest = digests.parse_digest(answer.headers.get("Docker-Content-Digest", "").strip())
        if digest is not None and answer.content_type not in _PAGES:
            return digest
    elif answer.status in _FAILURES:
        raise answers.refusal(answer, source(endpoint, target))
    return (await read_manifest(endpoint, target)).digest


async def fetch_manifest(endpoint: Endpoint, target: str) -> Answer:
    """The registry's answer, whatever it is."""
    return await endpoint.send("GET", endpoint.url("manifests", target), limit=MAX_MANIFEST_BYTES, headers=_ACCEPT)


def source(endpoint: Endpoint, target: str) -> str:
    """A manifest as messages name it."""
    return f"{endpoint.name}{'@' if ':' in target else ':'}{target}"


def parse_answer(answer: Answer, target: str, name: str) -> Content:
    """The manifest in a successful answer.

    Raises:
        RegistryContentError: a web page, no manifest, or another one than was asked for.
    """
    if answer.content_type in _PAGES:
        raise answers.web_page(answer, name)
    asked = digests.parse_digest(target)
    promised = _promised(answer, name)
    digest = asked or promised or digests.compute(answer.body)
    for expected in {digest, promised or digest}:
        manifests.verify(answer.body, expected, name)
    return Content(answer.body, manifests.media_type_of(answer.body, answer.content_type, name), digest)


def _promised(answer: Answer, name: str) -> Digest | None:
    header = answer.headers.get("Docker-Content-Digest", "").strip()
    if not header:
        return None
    digest = digests.parse_digest(header)
    if digest is None:
        raise RegistryContentError(f"{name} cannot be verified", why=f"the registry calls its digest {header[:100]!r}")
    return digest


async def write_manifest(
    endpoint: Endpoint, target: str, data: bytes, media_type: str, *, match: str | None = None
) -> Answer:
    """The registry's answer to a manifest put under a digest or tag; ``match``: only if it still has this ETag.

    Raises:
        NodeworthyError: it was not taken; a failed precondition (412) is returned.
    """
    headers = {"Content-Type": media_type} | ({"If-Match": match} if match else {})
    url = endpoint.url("manifests", target)
    answer = await endpoint.send("PUT", url, limit=MAX_MANIFEST_BYTES, headers=headers, body=data)
    if answer.status not in {_OK, _CREATED, 412}:
        raise answers.refusal(answer, f"writing {source(endpoint, target)}")
    return answer
