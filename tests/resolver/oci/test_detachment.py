"""Removing what is attached: from real registries, and from one that refuses."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nodeworthy.errors import NodeworthyError, RegistryDeniedError, UsageError
from nodeworthy.images import SearchState
from nodeworthy.platforms import Platform
from nodeworthy_resolver.oci import (
    Login,
    Reference,
    RegistryAccess,
    Removal,
    Via,
    attach,
    detach,
    list_attachments,
    look_up,
    open_store,
    parse_reference,
)
from nodeworthy_resolver.oci.digests import fallback_tag

if TYPE_CHECKING:
    from tests.conftest import Oras, SecuredRegistry
    from tests.resolver.conftest import Builder, FaultyRegistry, OpenClient, Reply

    from nodeworthy_resolver.oci import AnyReference, WritableStore

HTTP = RegistryAccess(plain_http=True)
CREATED = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture(params=["referrers_registry", "distribution_registry"])
def image(request: pytest.FixtureRequest, oras: "Oras", build: "Builder", tmp_path: Path) -> "AnyReference":
    """An index of two images in a registry with the referrers API, and in one without."""
    index = build.index((build.image(), "linux/amd64"), (build.image("linux/arm64"), "linux/arm64"))
    build.write_layout(tmp_path / "folder", build.tagged(index, "v1"))
    name = f"{request.getfixturevalue(request.param)}/team/app:v1"
    oras("cp", "--from-oci-layout", "folder:v1", "--to-plain-http", name)
    return parse_reference(name)


async def test_all_that_was_attached_is_removed_and_nothing_else(image: "AnyReference", oras: "Oras") -> None:
    async with open_store(image, HTTP) as store:
        for platforms in (None, [Platform("linux", "arm64")], [Platform("linux", "arm64")]):
            await attach(store, image, b"spec", platforms=platforms, created=CREATED)
        oras("attach", "--plain-http", "--artifact-type", "example/other", str(image), "folder/oci-layout")
        found = await list_attachments(store, image, platforms="all")
        assert [one.platform for one in found] == [Platform("linux", "arm64")] * len(found)
        assert {await detach(store, one) for one in found} == {Removal.DELETED}
        assert await list_attachments(store, image, platforms="all") == ()
        assert len(await list_attachments(store, image, platforms=None)) == 1
    known = await look_up(image, None, HTTP)
    assert known.search is not None
    assert known.search.state is SearchState.FOUND
    assert "example/other" in oras("discover", "--plain-http", str(image)).stdout


async def test_a_password_is_enough_to_remove_where_tokens_are_for_one_action_each(
    distribution_token_registry: "SecuredRegistry", build: "Builder", oras: "Oras", tmp_path: Path
) -> None:
    secured = distribution_token_registry
    build.write_layout(tmp_path / "folder", build.tagged(build.image(), "v1"))
    reference = parse_reference(f"{secured.host}/team/app:v1")
    login = ("--to-username", secured.username, "--to-password", secured.password)
    oras("cp", "--from-oci-layout", "folder:v1", "--to-plain-http", *login, str(reference))
    access = RegistryAccess(plain_http=True, login=Login(secured.host, secured.username, secured.password))
    async with open_store(reference, access) as store:
        (attached,) = await attach(store, reference, b"spec", platforms=None, created=CREATED)
        assert attached.via is Via.FALLBACK_TAG
        (found,) = await list_attachments(store, reference, platforms=None)
        assert await detach(store, found) is Removal.DELETED
        assert await list_attachments(store, reference, platforms=None) == ()


@pytest.fixture
async def store(
    faulty: "FaultyRegistry", build: "Builder", open_client: "OpenClient"
) -> AsyncIterator["WritableStore"]:
    """A registry without the referrers API that answers what the test scripts, with an image and its artifact."""
    faulty.tags["v1"] = build.image()
    faulty.attach(faulty.tags["v1"])
    reference = parse_reference(faulty.name)
    assert isinstance(reference, Reference)
    async with open_client() as client:
        yield client.store(reference)


@pytest.mark.parametrize("status", [400, 405, 501])
async def test_what_a_registry_does_not_delete_is_taken_off_the_tag(
    status: int, store: "WritableStore", faulty: "FaultyRegistry", reply: "Reply"
) -> None:
    reference = parse_reference(faulty.name)
    (attached,) = await list_attachments(store, reference, platforms=None)
    faulty.script("DELETE", f"manifests/{attached.digest}", reply(status))
    assert await detach(store, attached) is Removal.UNLISTED
    assert await list_attachments(store, reference, platforms=None) == ()


async def test_what_a_registry_with_the_api_does_not_delete_is_an_error_that_helps(
    store: "WritableStore", faulty: "FaultyRegistry", reply: "Reply"
) -> None:
    subject = faulty.tags["v1"]
    (attached,) = await list_attachments(store, parse_reference(faulty.name), platforms=None)
    faulty.listings[subject.digest] = faulty.tags[fallback_tag(subject.digest)]
    faulty.script("DELETE", f"manifests/{attached.digest}", reply(405))
    with pytest.raises(UsageError, match="is refused") as caught:
        await detach(store, attached)
    assert "the newest counts" in caught.value.todo
    assert not faulty.asked("PUT", "manifests")


@pytest.mark.parametrize(
    ("status", "kind"), [(401, RegistryDeniedError), (403, RegistryDeniedError), (503, NodeworthyError)]
)
async def test_who_may_not_delete_is_told_and_the_tag_stays(
    status: int, kind: type[NodeworthyError], store: "WritableStore", faulty: "FaultyRegistry", reply: "Reply"
) -> None:
    (attached,) = await list_attachments(store, parse_reference(faulty.name), platforms=None)
    faulty.script("DELETE", f"manifests/{attached.digest}", reply(status), always=True)
    with pytest.raises(kind, match="deleting"):
        await detach(store, attached)
    assert not faulty.asked("PUT", "manifests")


async def test_what_is_gone_already_is_taken_off_the_tag_too(
    store: "WritableStore", faulty: "FaultyRegistry", reply: "Reply"
) -> None:
    (attached,) = await list_attachments(store, parse_reference(faulty.name), platforms=None)
    faulty.script("DELETE", f"manifests/{attached.digest}", reply(404))
    assert await detach(store, attached) is Removal.DELETED
    assert b'"manifests":[]' in faulty.asked("PUT", "manifests/sha256-")[0].body


@pytest.mark.parametrize("name", ["oci-archive:x.tar", "docker-archive:x.tar", "app.sif"])
async def test_files_are_only_read(name: str) -> None:
    with pytest.raises(UsageError, match="nothing can be attached"):
        async with open_store(parse_reference(name), RegistryAccess()):
            pass
