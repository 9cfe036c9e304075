"""Referrers over HTTP: the referrers API where a registry has it, else the fallback tag; and keeping that tag.

What registries answer where the API is absent was gathered from Harbor, Quay, Google, distribution and others: 404,
405, 400, 501, 401 without a challenge, a web page, a redirect to a login host. Anything else that is no list is an
error.
"""

import re

from yarl import URL

from nodeworthy.errors import RegistryContentError
from nodeworthy_resolver.oci import candidates, digests, manifests
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.manifests import IMAGE_INDEX, INDEX_TYPES, MAX_MANIFEST_BYTES, Descriptor, Index
from nodeworthy_resolver.oci.registry import answers
from nodeworthy_resolver.oci.registry.answers import Answer
from nodeworthy_resolver.oci.registry.endpoint import Endpoint
from nodeworthy_resolver.oci.registry.manifests import fetch_manifest, parse_answer, source
from nodeworthy_resolver.oci.registry.transport import follow
from nodeworthy_resolver.oci.store import Listing

MAX_PAGES = 20
"""Pages of one list: registries put 100 and more entries on each."""
MAX_LIST_BYTES = 2 * MAX_MANIFEST_BYTES
"""Of all its pages: what they say is held at once."""

_ABSENT = frozenset({400, 404, 405, 501})
_OK, _UNAUTHORIZED, _NOT_FOUND = 200, 401, 404
_LINK = re.compile(r"<([^<>]*)>([^<]*)")
_RELATION = re.compile(r';\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]*))', re.IGNORECASE)

_NO_API = "the registry has no referrers API"


class AbsentApis:
    """The registries that turned out to have no referrers API, for as long as that is believed."""

    lifetime = 3600.0
    """Seconds: registries are upgraded, and asking again costs one request."""
    most = 1000
    """Registries that are remembered at once."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def has(self, host: str, now: float) -> bool:
        """Whether the registry is not worth asking."""
        return self._until.get(host, now) > now

    def add(self, host: str, now: float) -> None:
        """Remember a registry that answered as those without the API do."""
        if len(self._until) >= self.most:
            self._until.clear()
        self._until[host] = now + self.lifetime


async def list_referrers(
    endpoint: Endpoint, subject: Digest, artifact_type: str, absent: AbsentApis, now: float
) -> Listing:
    """What the registry lists as referrers of ``subject``.

    The fallback tag is read where the API is absent, and also where it lists nothing of the type: on a registry that
    got the API later, or answers ``OCI-Subject`` without having it, the tag is where the artifact is.

    Raises:
        NodeworthyError: neither could be read, so nothing is known.
    """
    listed = None if absent.has(endpoint.base.authority, now) else await _read_api(endpoint, subject, artifact_type)
    if listed is None:
        absent.add(endpoint.base.authority, now)
    elif any(candidates.is_candidate(entry, artifact_type) for entry in listed):
        return Listing(listed, "the referrers API")
    tagged = await _read_tag(endpoint, subject)
    api = _NO_API if listed is None else "the referrers API lists none"
    unique = {entry.digest: entry for entry in (*(listed or ()), *tagged.entries)}
    return Listing(tuple(unique.values()), f"{api}; {tagged.how}", tagged.notices)


async def has_api(endpoint: Endpoint, subject: Digest) -> bool:
    """Whether the registry answers as one with the referrers API."""
    url = endpoint.url("referrers", subject)
    answer = await endpoint.send("GET", url, limit=MAX_MANIFEST_BYTES, headers={"Accept": IMAGE_INDEX})
    return answer.status == _OK and not _is_absent(answer)


async def _read_api(endpoint: Endpoint, subject: Digest, artifact_type: str) -> tuple[Descriptor, ...] | None:
    """Everything that the API lists; ``None``: it is absent.

    Asked without a filter, so that artifacts of other types can be reported and entries that the registry typed wrongly are
    seen. A list that is too long or cannot be read is asked for again with the filter.
    """
    url = endpoint.url("referrers", subject)
    try:
        return await _read_pages(endpoint, url)
    except RegistryContentError:
        return await _read_pages(endpoint, url.update_query(artifactType=artifact_type))


async def _read_pages(endpoint: Endpoint, url: URL) -> tuple[Descriptor, ...] | None:
    entries: list[Descriptor] = []
    size = 0
    for page in range(MAX_PAGES):
        answer = await endpoint.send("GET", url, limit=MAX_MANIFEST_BYTES, headers={"Accept": IMAGE_INDEX})
        if page == 0 and _is_absent(answer):
            return None
        name = f"the list of referrers at {answers.display(url)}"
        entries += _parse_page(answer, name)
        size += len(answer.body)
        if size > MAX_LIST_BYTES or len(entries) > manifests.MAX_ENTRIES:
            raise RegistryContentError(
                f"{name} is too long", why=f"over {MAX_LIST_BYTES} bytes, or {manifests.MAX_ENTRIES} entries"
            )
        following = next_page(answer)
        if following is None:
            return tuple(entries)
        url = following
    raise RegistryContentError(
        f"the list of referrers at {answers.display(url)} is too long", why=f"over {MAX_PAGES} pages"
    )


def _is_absent(answer: Answer) -> bool:
    """Whether an answer is what registries without the API give, and not a failure of one that has it."""
    if answer.status == _OK:
        return not _is_list(answer)
    if answer.is_redirected and answer.status < 500:  # noqa: PLR2004 # a login host's refusal, not its breakdown
        return True
    return answer.status in _ABSENT or (answer.status == _UNAUTHORIZED and not answer.challenges)


def _is_list(answer: Answer) -> bool:
    """Whether it is an index by its type, or, where a proxy or a server of plain files gives it none, by what it says."""
    if answer.content_type == IMAGE_INDEX:
        return True
    try:
        return manifests.media_type_of(answer.body, answer.content_type, "") == IMAGE_INDEX
    except RegistryContentError:
        return False


def _parse_page(answer: Answer, name: str) -> tuple[Descriptor, ...]:
    if answer.status != _OK:
        raise answers.refusal(answer, name)
    if not _is_list(answer):
        raise RegistryContentError(
            f"{name} cannot be read", why=f"it is served as {answer.content_type or 'nothing'!r}"
        )
    page = manifests.parse_manifest(answer.body, IMAGE_INDEX, name)
    assert isinstance(page, Index)
    return page.manifests


def next_page(answer: Answer) -> URL | None:
    """The next page's address, from ``Link: </v2/a/referrers/sha256:...?n=2>; rel="next"`` (RFC 8288); ``None``: no more.

    Raises:
        RegistryContentError: it is on another host, to which the list's reader was never sent.
    """
    # A proxy may add links of its own, as a header before or after the registry's.
    links = ", ".join(answer.headers.getall("Link", ()))
    for target, parameters in _LINK.findall(links):
        relations = " ".join(quoted or bare for quoted, bare in _RELATION.findall(parameters))
        if "next" in relations.lower().split():
            url = follow(answer.url, target)
            if url is None or url.origin() != answer.url.origin():
                raise RegistryContentError(
                    f"{answers.display(answer.url)} cannot be read to the end", why=f"its next page is {target[:100]!r}"
                )
            return url
    return None


async def _read_tag(endpoint: Endpoint, subject: Digest) -> Listing:
    """What the fallback tag lists. Anybody may have put anything there, so what is no index counts as empty, and is told."""
    tag = digests.fallback_tag(subject)
    answer = await fetch_manifest(endpoint, tag)
    if answer.status == _NOT_FOUND:
        return Listing((), "there is no fallback tag")
    if answer.status != _OK:
        raise answers.refusal(answer, source(endpoint, tag))
    content = parse_answer(answer, tag, source(endpoint, tag))
    if content.media_type not in INDEX_TYPES:
        return Listing((), "the fallback tag is no list", (f"the tag {tag[:19]} is no index and was passed over",))
    index = manifests.parse_manifest(content.data, content.media_type, source(endpoint, tag))
    assert isinstance(index, Index)
    return Listing(index.manifests, "the fallback tag lists none")
