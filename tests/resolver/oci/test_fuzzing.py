"""Documents and names that somebody damaged on purpose: read or refused in words, whatever they say."""

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.resolver.conftest import Builder
from yarl import URL

from nodeworthy.bus.requests import ResolveReply
from nodeworthy.errors import ImageNotFoundError, InvalidReferenceError, NodeworthyError, RegistryContentError
from nodeworthy.images import ARTIFACT_TYPE, ImageKnowledge
from nodeworthy.platforms import Platform
from nodeworthy_resolver import disclosure
from nodeworthy_resolver.oci import RegistryAccess, digests, manifests, parse_reference, resolve_image
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.manifests import IMAGE_INDEX, Descriptor, Index
from nodeworthy_resolver.oci.reference import Reference
from nodeworthy_resolver.oci.registry.endpoint import base_url
from nodeworthy_resolver.oci.registry.transport import follow
from nodeworthy_resolver.oci.store import Content, Listing

EXAMPLES = settings(max_examples=300, deadline=None)
NAME = "registry.test/team/app"
PIECES = (*b'" \\ null [] {} , : -1 1e999 \0 \xff \xed\xa0\x80'.split(), b"[" * 3000, b"9" * 400)
TEXTS = ("", "\0", "\x1b[2J", "../../etc/passwd", "x" * 10_000, "sha256:", "sha256:" + "0" * 64, "blake3:" + "0" * 64)
KNOWN = ("linux", "unknown", IMAGE_INDEX, ARTIFACT_TYPE, "2026-01-01T00:00:00Z")
VALUES: tuple[Any, ...] = (*TEXTS, *KNOWN, None, True, 0, -1, 1.5, 10**40, [], {}, [[]], [None], {"": None}, [{}] * 50)


def make_documents() -> dict[str, bytes]:
    """An index of two images with an artifact each on the index and on a child, by what each is."""
    build = Builder()
    image = build.image(environment=("NVIDIA_REQUIRE_CUDA=cuda>=12",))
    index = build.index((image, "linux/amd64"), (build.image("linux/arm64"), ""))
    artifacts = [build.artifact(index), build.artifact(image, created="2026-02-01T00:00:00Z")]
    config = json.loads(image.data)["config"]["digest"]
    said = {"index": index, "image": image, "artifact": artifacts[0]}
    documents = {name: content.data for name, content in said.items()}
    documents |= {"config": build.blobs[config], "listing": build.listing(*artifacts).data}
    others = {content.digest: content.data for content in build.manifests.values()} | build.blobs
    return documents | {digest: data for digest, data in others.items() if data not in documents.values()}


DOCUMENTS = make_documents()
DAMAGED = ("index", "image", "artifact", "config", "listing")


class Memory:
    """A content store of the documents, of which one was damaged; digests are those of before."""

    name = NAME

    def __init__(self, changed: str, data: bytes) -> None:
        self._original = {digests.compute(DOCUMENTS[name]): name for name in DOCUMENTS}
        self._changed = changed
        self._data = data

    def _take(self, digest: str) -> bytes:
        name = self._original.get(Digest(digest))
        if name is None:
            raise ImageNotFoundError(f"{digest[:80]!r} is not there")
        return self._data if name == self._changed else DOCUMENTS[name]

    async def resolve(self, target: str) -> Content:
        return await self.read_manifest(Digest(target))

    async def read_manifest(self, digest: Digest) -> Content:
        data = self._take(digest)
        return Content(data, manifests.media_type_of(data, "", NAME), digest)

    async def read_blob(self, descriptor: Descriptor, limit: int) -> bytes:
        data = self._take(descriptor.digest)
        if max(len(data), descriptor.size) > limit:
            raise RegistryContentError("too large")
        return data

    async def list_referrers(self, subject: Digest, artifact_type: str) -> Listing:
        assert subject
        assert artifact_type
        data = self._data if self._changed == "listing" else DOCUMENTS["listing"]
        found = manifests.parse_manifest(data, IMAGE_INDEX, "the list")
        assert isinstance(found, Index)
        return Listing(found.manifests, "the list")


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON document."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from paths_of(value[key], (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The document with another value at one place."""
    if not path:
        return new
    changed = value.copy()
    changed[path[0]] = replaced(value[path[0]], path[1:], new)
    return changed


@st.composite
def damaged_values(draw: Callable[..., Any]) -> tuple[str, bytes]:
    """A document whose JSON is whole, with other values here and there."""
    name = draw(st.sampled_from(DAMAGED))
    document = json.loads(DOCUMENTS[name])
    for _ in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from(list(paths_of(document))))
        document = replaced(document, path, draw(st.sampled_from(VALUES) | st.text(max_size=20)))
    return name, json.dumps(document).encode(errors="replace")


@st.composite
def damaged_bytes(draw: Callable[..., Any]) -> tuple[str, bytes]:
    """A document with bytes that were taken out, put in, or doubled."""
    name = draw(st.sampled_from(DAMAGED))
    data = DOCUMENTS[name]
    for _ in range(draw(st.integers(1, 6))):
        start, end = sorted(draw(st.tuples(st.integers(0, len(data)), st.integers(0, len(data)))))
        put = draw(st.sampled_from(PIECES) | st.binary(max_size=4) | st.just(data[start:end] * 2))
        data = data[:start] + put + data[draw(st.sampled_from((start, end))) :]
    return name, data


def look(name: str, data: bytes, platforms: tuple[Platform, ...] | None) -> ImageKnowledge | NodeworthyError:
    store, digest = Memory(name, data), digests.compute(DOCUMENTS["index"])
    reference = Reference("registry.test", "team/app", digest=digest)
    try:
        return asyncio.run(resolve_image(store, reference, platforms))
    except NodeworthyError as error:
        return error


@EXAMPLES
@given(
    damaged_values() | damaged_bytes(),
    st.sampled_from((None, (Platform("linux", "amd64"),), (Platform("linux", "arm64"),))),
)
def test_a_damaged_document_is_an_answer_that_can_be_sent_or_an_error_in_words(
    damaged: tuple[str, bytes], platforms: tuple[Platform, ...] | None
) -> None:
    found = look(*damaged, platforms)
    if isinstance(found, NodeworthyError):
        said = "".join(found.diagnostics())
        assert said.encode()
        assert len(said) < 2000
        return
    reply = ResolveReply(knowledge=disclosure.publish(found), looked=0)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(reply), type=ResolveReply) == reply
    assert len(found.images) <= manifests.MAX_ENTRIES


def test_the_documents_are_whole_before_they_are_damaged() -> None:
    found = look("", b"", None)
    assert isinstance(found, ImageKnowledge)
    searches = [image.search.state for image in found.images if image.search]
    assert found.search is not None
    assert [found.search.state, *searches] == ["found", "found", "none"]


SEEDS: tuple[str, ...] = (
    "nginx",
    "localhost:5000/a/b:1.2",
    "registry.example.com/a-b/c__d/e.f:v1@sha256:" + "0" * 64,
    "[::1]:5000/a@sha512:" + "1" * 128,
    "oci:build/image:v1",
    "docker-archive:app.tar:app:1",
    "sif:app.sif",
)
SIGNS = (
    "..",
    "//",
    ":",
    "@",
    "[",
    "]",
    "%2f",
    "\\",
    "\0",
    "\n",
    " ",
    "?",
    "#",
    "A",
    "é",
    "\u202e",
    "\ud800",
    "sha256:",
)
ODD = (*SIGNS, "_" * 300, "0" * 70)


@st.composite
def damaged_references(draw: Callable[..., Any]) -> str:
    text: str = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 4))):
        start, end = sorted(draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
        text = text[:start] + draw(st.sampled_from(ODD) | st.characters()) + text[draw(st.sampled_from((start, end))) :]
    return text


@EXAMPLES
@given(damaged_references())
def test_a_damaged_reference_is_asked_at_its_own_path_or_refused(text: str) -> None:
    with contextlib.suppress(InvalidReferenceError):
        found = parse_reference(text)
        assert parse_reference(str(found)) == found
        if isinstance(found, Reference):
            url = base_url(found, RegistryAccess())
            assert url.raw_host
            assert (url / "v2" / found.repository).raw_path == f"/v2/{found.repository}"


@EXAMPLES
@given(
    st.text(max_size=60)
    | st.sampled_from(("http://", "//", "/", "http://a:1/", "http://u:p@b/")).flatmap(
        lambda head: st.text(max_size=40).map(lambda tail: head + tail)
    )
)
def test_any_location_is_an_address_without_a_login_or_none(location: str) -> None:
    found = follow(URL("https://registry.test/v2/a"), location)
    if found is None:
        return
    assert found.scheme in {"http", "https"}
    assert found.host
    assert (found.user, found.password) == (None, None)
    assert str(found).isascii()
    assert found.port is not None


@pytest.mark.parametrize("depth", [10, 1000, 100_000])
def test_documents_in_documents_without_end_are_refused(depth: int) -> None:
    data = b'{"config":' * depth + b"1" + b"}" * depth
    with pytest.raises(RegistryContentError):
        manifests.parse_manifest(data, manifests.media_type_of(data, "", "image"), "image")
