from typing import TYPE_CHECKING

import pytest

from nodeworthy.errors import ImageNotFoundError, RegistryBusyError, RegistryContentError, RegistryDeniedError
from nodeworthy_resolver.oci import parse_reference
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.reference import Reference
from nodeworthy_resolver.oci.store import Content

if TYPE_CHECKING:
    from tests.resolver.conftest import FaultyRegistry, OpenClient, Reply


class Head:
    """Asks what the tag v1 names."""

    def __init__(self, open_client: "OpenClient", faulty: "FaultyRegistry") -> None:
        self._open_client = open_client
        self._faulty = faulty

    async def __call__(self) -> Digest:
        reference = parse_reference(self._faulty.name)
        assert isinstance(reference, Reference)
        async with self._open_client() as client:
            return await client.store(reference).read_digest(reference.tag)


@pytest.fixture
def head(open_client: "OpenClient", faulty: "FaultyRegistry") -> Head:
    return Head(open_client, faulty)


async def test_a_tag_is_looked_up_without_reading_the_manifest(
    head: Head, faulty: "FaultyRegistry", image: Content
) -> None:
    assert await head() == image.digest
    assert [one.method for one in faulty.seen] == ["HEAD"]
    assert "application/vnd.oci.image.index.v1+json" in faulty.seen[0].headers["Accept"]


@pytest.mark.parametrize("headers", [{}, {"Docker_Content_Digest": "md5:12"}, {"Docker_Content_Digest": "sha256:12"}])
async def test_a_registry_that_does_not_say_the_digest_is_read(
    headers: dict[str, str], head: Head, faulty: "FaultyRegistry", reply: "Reply", image: Content
) -> None:
    faulty.script("HEAD", "manifests/v1", reply(200, **headers))
    assert await head() == image.digest
    assert [one.method for one in faulty.seen] == ["HEAD", "GET"]


@pytest.mark.parametrize("status", [400, 403, 404, 405, 501])
async def test_a_registry_that_does_not_take_the_question_is_read(
    status: int, head: Head, faulty: "FaultyRegistry", reply: "Reply", image: Content
) -> None:
    faulty.script("HEAD", "manifests/v1", reply(status))
    assert await head() == image.digest


async def test_a_web_page_is_no_answer(head: Head, faulty: "FaultyRegistry", reply: "Reply", image: Content) -> None:
    page = {"Content_Type": "text/html", "Docker_Content_Digest": image.digest}
    faulty.script("HEAD", "manifests/v1", reply(200, **page))
    faulty.script("GET", "manifests/v1", reply(200, b"<html>", **page))
    with pytest.raises(RegistryContentError, match="web page"):
        await head()


@pytest.mark.usefixtures("image")
@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_registry_that_is_overloaded_is_not_asked_in_another_way(
    status: int, head: Head, faulty: "FaultyRegistry", reply: "Reply"
) -> None:
    faulty.script("HEAD", "manifests/v1", reply(status, Retry_After="3600"), always=True)
    with pytest.raises(RegistryBusyError, match="v1"):
        await head()
    assert not faulty.asked("GET", "manifests")


async def test_a_tag_that_is_not_there_is_not_found(head: Head) -> None:
    with pytest.raises(ImageNotFoundError, match="not found or no permission"):
        await head()


async def test_a_denied_tag_says_why(head: Head, faulty: "FaultyRegistry", reply: "Reply") -> None:
    problem = b'{"errors":[{"code":"DENIED","message":"not for you"}]}'
    for method in ("HEAD", "GET"):
        faulty.script(method, "manifests/v1", reply(403, b"" if method == "HEAD" else problem))
    with pytest.raises(RegistryDeniedError, match="not for you"):
        await head()
