"""Writing to a registry: blobs, manifests by digest, and the fallback tag."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from nodeworthy.errors import (
    ImageNotFoundError,
    RegistryBusyError,
    RegistryContentError,
    RegistryDeniedError,
    RegistryError,
)
from nodeworthy.images import ARTIFACT_TYPE, SearchState
from nodeworthy_resolver.oci import Attached, Via, attach, parse_reference, search_artifact
from nodeworthy_resolver.oci.digests import compute, fallback_tag
from nodeworthy_resolver.oci.manifests import IMAGE_INDEX
from nodeworthy_resolver.oci.reference import Reference
from nodeworthy_resolver.oci.store import Content

if TYPE_CHECKING:
    from tests.resolver.conftest import Builder, FaultyRegistry, OpenClient, Reply

CREATED = datetime(2026, 5, 1, 12, tzinfo=UTC)


async def attach_to(faulty: "FaultyRegistry", open_client: "OpenClient", **access: Any) -> Attached:
    reference = parse_reference(faulty.name)
    assert isinstance(reference, Reference)
    async with open_client(**access) as client:
        store = client.store(reference)
        (written,) = await attach(store, reference, faulty.builder.spec, platforms=None, created=CREATED)
    return written


async def test_blobs_are_put_in_one_piece_and_the_manifest_by_its_digest(
    image: Content, faulty: "FaultyRegistry", open_client: "OpenClient"
) -> None:
    written = await attach_to(faulty, open_client)
    puts = [one for one in faulty.seen if one.method == "PUT"]
    assert [one.path for one in puts] == [
        "/v2/team/app/blobs/uploads/1",
        "/v2/team/app/blobs/uploads/1",
        f"/v2/team/app/manifests/{written.digest}",
        f"/v2/team/app/manifests/{fallback_tag(image.digest)}",
    ]
    assert puts[1].query == {"state": "a/b", "digest": compute(faulty.builder.spec)}
    assert faulty.builder.blobs[compute(b"{}")] == b"{}"


async def test_a_blob_that_is_there_is_not_sent_again(
    image: Content, faulty: "FaultyRegistry", open_client: "OpenClient"
) -> None:
    assert image
    await attach_to(faulty, open_client)
    count = len(faulty.asked("POST", "/blobs/uploads/"))
    await attach_to(faulty, open_client)
    assert count == len(faulty.asked("POST", "/blobs/uploads/")) == 2


@pytest.mark.parametrize("is_absolute", [True, False])
async def test_an_upload_may_go_on_anywhere_and_another_host_sees_no_login(
    is_absolute: bool,
    image: Content,
    faulty: "FaultyRegistry",
    other_host: "FaultyRegistry",
    open_client: "OpenClient",
    reply: "Reply",
    docker_config: Any,
) -> None:
    assert image
    location = f"http://{other_host.host}/upload?x=1" if is_absolute else "1?x=1"
    target = other_host if is_absolute else faulty

    def guard(request: web.Request) -> web.Response | None:
        is_known = "Authorization" in request.headers
        return None if is_known else web.Response(status=401, headers={"WWW-Authenticate": "Basic realm=x"})

    faulty.guard = guard
    faulty.script("POST", "blobs/uploads/", reply(202, Location=location), always=True)
    target.script("PUT", "/upload" if is_absolute else "blobs/uploads/1", reply(201), always=True)
    config = docker_config(auths={faulty.host: {"username": "me", "password": "secret"}})
    await attach_to(faulty, open_client, config=config)
    uploads = [one for one in target.seen if one.method == "PUT" and "upload" in one.path]
    assert len(uploads) == 2
    assert all(one.query["x"] == "1" for one in uploads)
    assert [one.headers.get("Authorization") is None for one in uploads] == [is_absolute] * 2


@pytest.mark.parametrize("location", ["", "ftp://x/y", "http://[::1"])
async def test_an_upload_without_an_address_is_refused(
    location: str, image: Content, faulty: "FaultyRegistry", open_client: "OpenClient", reply: "Reply"
) -> None:
    assert image
    faulty.script("POST", "blobs/uploads/", reply(202, Location=location))
    with pytest.raises(RegistryContentError, match="takes no upload"):
        await attach_to(faulty, open_client)


async def test_an_upload_that_begins_behind_tls_goes_on_behind_tls(
    secure: "FaultyRegistry",
    other_host: "FaultyRegistry",
    build: "Builder",
    open_client: "OpenClient",
    certificate: Path,
    reply: "Reply",
) -> None:
    secure.tags["v1"] = build.image()
    secure.script("POST", "blobs/uploads/", reply(202, Location=f"http://{other_host.host}/upload"))
    with pytest.raises(RegistryContentError, match="takes no upload"):
        await attach_to(secure, open_client, plain_http=False, certificates=certificate)
    assert other_host.seen == []


@pytest.mark.parametrize(
    ("method", "path", "status", "error"),
    [
        ("HEAD", "blobs/" + compute(b"{}"), 403, RegistryDeniedError),
        ("POST", "blobs/uploads/", 401, RegistryDeniedError),
        ("POST", "blobs/uploads/", 404, ImageNotFoundError),
        ("POST", "blobs/uploads/", 503, RegistryBusyError),
        ("POST", "blobs/uploads/", 200, RegistryContentError),
        ("PUT", "blobs/uploads/1", 400, RegistryContentError),
        ("PUT", "blobs/uploads/1", 413, RegistryContentError),
    ],
)
async def test_a_refused_upload_is_an_error_and_is_not_repeated(
    method: str,
    path: str,
    status: int,
    error: type[RegistryError],
    image: Content,
    faulty: "FaultyRegistry",
    open_client: "OpenClient",
    reply: "Reply",
) -> None:
    assert image
    faulty.script(method, path, reply(status), always=True)
    with pytest.raises(error, match="uploading a blob"):
        await attach_to(faulty, open_client)
    assert len(faulty.asked(method, path)) == 1


async def test_a_registry_that_lists_the_artifact_itself_needs_no_tag(
    image: Content, build: "Builder", faulty: "FaultyRegistry", open_client: "OpenClient"
) -> None:
    faulty.listings[image.digest] = build.listing()

    def guard(request: web.Request) -> web.Response | None:
        is_artifact = request.method == "PUT" and "/manifests/" in request.path
        return web.Response(status=201, headers={"OCI-Subject": image.digest}) if is_artifact else None

    faulty.guard = guard
    assert (await attach_to(faulty, open_client)).via is Via.REFERRERS_API
    assert not faulty.asked("GET", fallback_tag(image.digest))


async def test_a_registry_that_only_says_that_it_lists_the_artifact_gets_the_tag(
    image: Content, faulty: "FaultyRegistry", open_client: "OpenClient", reply: "Reply"
) -> None:
    written = await attach_to(faulty, open_client)
    faulty.tags.pop(fallback_tag(image.digest))
    faulty.script("PUT", f"manifests/{written.digest}", reply(201, OCI_Subject=image.digest))
    assert (await attach_to(faulty, open_client)).via is Via.FALLBACK_TAG
    assert fallback_tag(image.digest) in faulty.tags


async def test_the_tag_keeps_what_others_wrote_and_lists_the_artifact_once(
    image: Content, build: "Builder", faulty: "FaultyRegistry", open_client: "OpenClient"
) -> None:
    foreign = {"digest": "not even one", "unknown": True}
    tag = fallback_tag(image.digest)
    faulty.tags[tag] = build.document({"manifests": [foreign], "annotations": {"a": "b"}}, IMAGE_INDEX)
    written = [await attach_to(faulty, open_client) for _ in range(2)]
    index = json.loads(faulty.tags[tag].data)
    assert index["annotations"] == {"a": "b"}
    assert index["manifests"][0] == foreign
    assert index["manifests"][1:] == [
        {
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": written[0].digest,
            "size": len(build.manifests[written[0].digest].data),
            "artifactType": ARTIFACT_TYPE,
            "annotations": {"org.opencontainers.image.created": "2026-05-01T12:00:00Z"},
        }
    ]
    assert written[0] == written[1]


async def test_a_tag_that_is_no_list_is_not_overwritten(
    image: Content, build: "Builder", faulty: "FaultyRegistry", open_client: "OpenClient"
) -> None:
    tag = fallback_tag(image.digest)
    other = faulty.tags[tag] = build.image("linux/arm64")
    with pytest.raises(RegistryContentError, match="not a list of referrers"):
        await attach_to(faulty, open_client)
    assert faulty.tags[tag] is other


async def test_a_list_that_would_become_too_large_is_left_as_it_is(
    image: Content, build: "Builder", faulty: "FaultyRegistry", open_client: "OpenClient"
) -> None:
    tag = fallback_tag(image.digest)
    padding = {"a": "x" * (4 * 1024 * 1024 - 300)}
    full = faulty.tags[tag] = build.document({"manifests": [], "annotations": padding}, IMAGE_INDEX)
    with pytest.raises(RegistryContentError, match="too large"):
        await attach_to(faulty, open_client)
    assert faulty.tags[tag] is full


async def test_a_writer_that_comes_between_loses_nothing(
    image: Content, build: "Builder", faulty: "FaultyRegistry", open_client: "OpenClient"
) -> None:
    """Without an ETag the other writer's list replaces ours after we wrote it; reading it back shows that."""
    tag = fallback_tag(image.digest)
    other = build.listing(build.artifact(image, b"other"))

    async def overwrite(_: web.Request) -> web.StreamResponse:
        faulty.tags[tag] = other
        return web.Response(status=201)

    faulty.script("PUT", f"manifests/{tag}", overwrite)
    written = await attach_to(faulty, open_client)
    listed = [entry["digest"] for entry in json.loads(faulty.tags[tag].data)["manifests"]]
    assert listed == [build.artifact(image, b"other").digest, written.digest]


async def test_where_an_etag_is_offered_the_write_depends_on_it(
    image: Content, build: "Builder", faulty: "FaultyRegistry", open_client: "OpenClient", reply: "Reply"
) -> None:
    tag = fallback_tag(image.digest)
    listing = build.listing()
    tagged = {"Content_Type": IMAGE_INDEX, "ETag": '"1"'}
    faulty.tags[tag] = build.listing(build.artifact(image, b"other"))
    faulty.script("GET", f"manifests/{tag}", reply(200, listing.data, **tagged))
    faulty.script("PUT", f"manifests/{tag}", reply(412))
    written = await attach_to(faulty, open_client)
    assert [one.headers.get("If-Match") for one in faulty.asked("PUT", tag)] == ['"1"', None]
    assert [entry["digest"] for entry in json.loads(faulty.tags[tag].data)["manifests"]][1:] == [written.digest]


async def test_losing_against_other_writers_every_time_is_an_error(
    image: Content, faulty: "FaultyRegistry", open_client: "OpenClient", reply: "Reply"
) -> None:
    tag = fallback_tag(image.digest)
    faulty.script("PUT", f"manifests/{tag}", reply(201), always=True)
    with pytest.raises(RegistryBusyError, match="could not be kept") as caught:
        await attach_to(faulty, open_client)
    assert "attach again" in caught.value.todo
    assert len(faulty.asked("PUT", tag)) == 5


async def test_what_was_attached_over_http_is_found(
    image: Content, faulty: "FaultyRegistry", open_client: "OpenClient"
) -> None:
    written = await attach_to(faulty, open_client)
    reference = parse_reference(faulty.name)
    assert isinstance(reference, Reference)
    async with open_client() as client:
        found = await search_artifact(client.store(reference), image.digest)
    assert found.state is SearchState.FOUND
    assert found.artifact is not None
    assert (found.artifact.digest, found.artifact.data) == (written.digest, faulty.builder.spec)
