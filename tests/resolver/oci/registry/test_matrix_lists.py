"""What registries were seen to do, by number, on a server that does it: lists of referrers."""

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from aiohttp import web
from multidict import CIMultiDict

from nodeworthy.images import ARTIFACT_TYPE, ArtifactSearch, SearchState
from nodeworthy.platforms import Platform
from nodeworthy_resolver.oci import parse_reference, resolve_image
from nodeworthy_resolver.oci.digests import fallback_tag
from nodeworthy_resolver.oci.manifests import IMAGE_INDEX
from nodeworthy_resolver.oci.reference import Reference
from nodeworthy_resolver.oci.registry.referrers import AbsentApis
from nodeworthy_resolver.oci.store import Content

if TYPE_CHECKING:
    from tests.resolver.conftest import Builder, FaultyRegistry, OpenClient, Reply
    from tests.resolver.oci.registry.conftest import Resolve, Search


async def test_01_two_pages_of_the_referrers_api_are_read_by_the_relative_link(
    image: Content, build: "Builder", faulty: "FaultyRegistry", search: "Search", reply: "Reply"
) -> None:
    older, newer = build.artifact(image, b"old"), build.artifact(image, b"new", created="2026-02-01T00:00:00Z")
    path = f"referrers/{image.digest}"
    link = f'</v2/team/app/{path}?n=1&next=2>; rel="next"'
    first, second = build.listing(older).data, build.listing(newer).data
    faulty.script(
        "GET",
        path,
        reply(200, first, Content_Type=IMAGE_INDEX, Link=link),
        reply(200, second, Content_Type=IMAGE_INDEX),
    )
    found = await search(faulty.name)
    assert found.artifact is not None
    assert found.artifact.data == b"new"
    assert [one.query for one in faulty.asked("GET", path)] == [{}, {"n": "1", "next": "2"}]


async def test_01_the_next_page_is_found_among_several_headers(
    image: Content, build: "Builder", faulty: "FaultyRegistry", search: "Search", reply: "Reply"
) -> None:
    path = f"referrers/{image.digest}"

    async def answer(_: web.Request) -> web.StreamResponse:
        headers = CIMultiDict({"Content-Type": IMAGE_INDEX, "Link": "</style.css>; rel=preload"})
        headers.add("Link", f'</v2/team/app/{path}?n=1>; rel="next"')
        return web.Response(body=build.listing().data, headers=headers)

    second = reply(200, build.listing(build.artifact(image)).data, Content_Type=IMAGE_INDEX)
    faulty.script("GET", path, answer, second)
    assert (await search(faulty.name)).state is SearchState.FOUND


async def test_02_an_empty_list_means_that_nothing_is_attached(
    image: Content, build: "Builder", faulty: "FaultyRegistry", search: "Search"
) -> None:
    faulty.listings[image.digest] = build.listing()
    found = await search(faulty.name)
    assert found == ArtifactSearch(SearchState.NONE, reason="the referrers API lists none; there is no fallback tag")


async def test_02_an_empty_list_may_be_written_as_null(
    image: Content, build: "Builder", faulty: "FaultyRegistry", search: "Search"
) -> None:
    faulty.listings[image.digest] = build.document({"manifests": None}, IMAGE_INDEX)
    assert (await search(faulty.name)).state is SearchState.NONE


async def test_02_an_artifact_that_only_the_tag_lists_is_found_though_the_api_exists(
    image: Content, build: "Builder", faulty: "FaultyRegistry", search: "Search"
) -> None:
    faulty.listings[image.digest] = build.listing()
    faulty.tags[fallback_tag(image.digest)] = build.listing(build.artifact(image))
    assert (await search(faulty.name)).state is SearchState.FOUND


async def test_03_without_the_api_the_fallback_tag_is_read(
    image: Content, build: "Builder", faulty: "FaultyRegistry", search: "Search"
) -> None:
    artifact = build.artifact(image)
    faulty.tags[fallback_tag(image.digest)] = build.listing(artifact)
    found = await search(faulty.name)
    assert found.artifact is not None
    assert (found.artifact.digest, found.artifact.subject) == (artifact.digest, image.digest)
    assert found.artifact.data == build.spec
    assert found.artifact.created == "2026-01-01T00:00:00Z"


async def test_04_neither_api_nor_tag_means_that_nothing_is_attached(
    image: Content, faulty: "FaultyRegistry", search: "Search"
) -> None:
    assert faulty.tags["v1"] is image
    found = await search(faulty.name)
    assert found.state is SearchState.NONE
    assert found.reason == "the registry has no referrers API; there is no fallback tag"


@pytest.mark.parametrize("status", [400, 401, 404, 405, 501])
async def test_05_a_refusal_without_a_challenge_means_that_the_api_is_absent(
    status: int, image: Content, build: "Builder", faulty: "FaultyRegistry", search: "Search", reply: "Reply"
) -> None:
    faulty.script("GET", f"referrers/{image.digest}", reply(status))
    faulty.tags[fallback_tag(image.digest)] = build.listing(build.artifact(image))
    assert (await search(faulty.name)).state is SearchState.FOUND


@pytest.mark.parametrize("status", [403, 429, 500, 503])
async def test_05_any_other_refusal_is_a_failure_and_never_an_empty_list(
    status: int, image: Content, build: "Builder", faulty: "FaultyRegistry", search: "Search", reply: "Reply"
) -> None:
    faulty.script("GET", f"referrers/{image.digest}", reply(status), always=True)
    faulty.tags[fallback_tag(image.digest)] = build.listing(build.artifact(image))
    found = await search(faulty.name)
    assert found.state is SearchState.FAILED
    assert str(status) in found.reason


async def test_05_an_absent_api_is_asked_for_once_per_client(
    build: "Builder", faulty: "FaultyRegistry", open_client: "OpenClient"
) -> None:
    faulty.tags["v1"], faulty.tags["v2"] = build.image(), build.image("linux/arm64")
    async with open_client() as client:
        for tag in ("v1", "v2"):
            reference = parse_reference(f"{faulty.host}/team/app:{tag}")
            assert isinstance(reference, Reference)
            await resolve_image(client.store(reference), reference, None)
    assert len(faulty.asked("GET", "/referrers/")) == 1


def test_05_an_absent_api_is_believed_for_an_hour_and_of_so_many_registries() -> None:
    absent = AbsentApis()
    absent.add("a", 1000.0)
    assert [absent.has("a", now) for now in (1000.0, 4599.0, 4601.0)] == [True, True, False]
    assert not absent.has("b", 1000.0)
    for number in range(absent.most):
        absent.add(str(number), 1000.0)
    assert not absent.has("a", 1000.0)


async def test_06_a_redirect_to_a_login_page_means_that_the_api_is_absent(
    image: Content,
    build: "Builder",
    faulty: "FaultyRegistry",
    other_host: "FaultyRegistry",
    search: "Search",
    reply: "Reply",
) -> None:
    faulty.script("GET", f"referrers/{image.digest}", reply(302, Location=f"http://{other_host.host}/login"))
    other_host.script("GET", "/login", reply(200, b"<html>Sign in</html>", Content_Type="text/html; charset=utf-8"))
    faulty.tags[fallback_tag(image.digest)] = build.listing(build.artifact(image))
    assert (await search(faulty.name)).state is SearchState.FOUND


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_06_a_redirect_to_a_host_that_refuses_means_that_the_api_is_absent(
    status: int,
    image: Content,
    build: "Builder",
    faulty: "FaultyRegistry",
    other_host: "FaultyRegistry",
    search: "Search",
    reply: "Reply",
) -> None:
    faulty.script("GET", f"referrers/{image.digest}", reply(302, Location=f"http://{other_host.host}/login"))
    other_host.script("GET", "/login", reply(status, WWW_Authenticate="Basic realm=x"))
    faulty.tags[fallback_tag(image.digest)] = build.listing(build.artifact(image))
    assert (await search(faulty.name)).state is SearchState.FOUND


@pytest.mark.parametrize("content_type", ["application/json", "application/octet-stream"])
async def test_06_a_list_that_a_proxy_serves_without_its_type_is_a_list(
    content_type: str, image: Content, build: "Builder", faulty: "FaultyRegistry", search: "Search", reply: "Reply"
) -> None:
    data = build.listing(build.artifact(image)).data
    faulty.script("GET", f"referrers/{image.digest}", reply(200, data, Content_Type=content_type))
    assert (await search(faulty.name)).state is SearchState.FOUND


async def test_07_a_list_that_is_not_filtered_is_filtered_here_and_the_rest_reported(
    image: Content, build: "Builder", faulty: "FaultyRegistry", search: "Search"
) -> None:
    kep = "application/vnd.k8s.nfd.image-compatibility.v1"
    newer = build.artifact(image, b"signature", artifact_type="application/x", created="2027-01-01T00:00:00Z")
    other = build.artifact(image, b"other", artifact_type=kep, created="2027-01-01T00:00:00Z")
    faulty.listings[image.digest] = build.listing(newer, other, build.artifact(image))
    found = await search(faulty.name)
    assert found.artifact is not None
    assert found.artifact.data == build.spec
    assert found.notices == (
        "1 of type application/vnd.k8s.nfd.image-compatibility.v1 passed over",
        "1 of type application/x passed over",
    )


async def test_07_a_list_of_many_pages_is_asked_for_again_with_the_filter(
    image: Content, build: "Builder", faulty: "FaultyRegistry", search: "Search"
) -> None:
    path = f"referrers/{image.digest}"
    endless = {"Content-Type": IMAGE_INDEX, "Link": f'</v2/team/app/{path}?again>; rel="next"'}

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.query.get("artifactType") == ARTIFACT_TYPE:
            headers = {"Content-Type": IMAGE_INDEX, "OCI-Filters-Applied": "artifactType"}
            return web.Response(body=build.listing(build.artifact(image)).data, headers=headers)
        return web.Response(body=build.listing().data, headers=endless)

    faulty.script("GET", path, answer, always=True)
    assert (await search(faulty.name)).state is SearchState.FOUND
    assert len(faulty.asked("GET", path)) == 21


async def test_07_a_list_that_never_ends_is_a_failure(
    image: Content, build: "Builder", faulty: "FaultyRegistry", search: "Search", reply: "Reply"
) -> None:
    path = f"referrers/{image.digest}"
    link = f'</v2/team/app/{path}>; rel="next"'
    faulty.script("GET", path, reply(200, build.listing().data, Content_Type=IMAGE_INDEX, Link=link), always=True)
    found = await search(faulty.name)
    assert found.state is SearchState.FAILED
    assert "over 20 pages" in found.reason


async def test_07_a_next_page_on_another_host_is_not_followed(
    image: Content,
    build: "Builder",
    faulty: "FaultyRegistry",
    other_host: "FaultyRegistry",
    search: "Search",
    reply: "Reply",
) -> None:
    link = f'<http://{other_host.host}/next>; rel="next"'
    path = f"referrers/{image.digest}"
    faulty.script("GET", path, reply(200, build.listing().data, Content_Type=IMAGE_INDEX, Link=link), always=True)
    found = await search(faulty.name)
    assert found.state is SearchState.FAILED
    assert other_host.seen == []


@pytest.mark.parametrize(
    "listed_as", [None, "", "application/vnd.oci.empty.v1+json", "application/vnd.unknown.config.v1+json"]
)
async def test_08_an_entry_without_its_type_or_with_its_configs_is_opened(
    listed_as: str | None, image: Content, build: "Builder", faulty: "FaultyRegistry", search: "Search"
) -> None:
    entry = build.entry(build.artifact(image), **({} if listed_as is None else {"artifactType": listed_as}))
    foreign = build.entry(build.artifact(image, artifact_type="application/x"))
    faulty.listings[image.digest] = build.document({"manifests": [foreign, entry]}, IMAGE_INDEX)
    found = await search(faulty.name)
    assert found.state is SearchState.FOUND
    assert any("application/x" in notice for notice in found.notices)


async def test_09_a_fallback_tag_that_is_no_index_counts_as_empty_and_is_reported(
    image: Content, build: "Builder", faulty: "FaultyRegistry", search: "Search"
) -> None:
    faulty.tags[fallback_tag(image.digest)] = build.image("linux/arm64")
    found = await search(faulty.name)
    assert found.state is SearchState.NONE
    assert "is no index" in found.notices[0]


async def test_09_foreign_entries_of_a_fallback_tag_are_passed_over_and_reported(
    image: Content, build: "Builder", faulty: "FaultyRegistry", search: "Search"
) -> None:
    gone = build.artifact(image, b"deleted", created="2028-01-01T00:00:00Z")
    foreign = build.artifact(build.image("linux/s390x"), b"foreign", created="2027-01-01T00:00:00Z")
    faulty.tags[fallback_tag(image.digest)] = build.listing(
        gone, foreign, build.artifact(image), build.image(), typed=False
    )
    del build.manifests[gone.digest]
    found = await search(faulty.name)
    assert found.artifact is not None
    assert found.artifact.data == build.spec
    text = "\n".join(found.notices)
    assert "no longer there" in text
    assert "does not refer to it" in text
    assert "application/vnd.oci.image.config.v1+json" in text


async def test_10_a_fallback_tag_beyond_the_limit_is_a_failure(
    image: Content, build: "Builder", faulty: "FaultyRegistry", search: "Search"
) -> None:
    faulty.tags[fallback_tag(image.digest)] = build.document({"manifests": [], "x": "x" * 5_000_000}, IMAGE_INDEX)
    found = await search(faulty.name)
    assert found.state is SearchState.FAILED
    assert "more than 4194304 bytes" in found.reason


async def test_12_an_artifact_of_another_subject_is_passed_over(
    image: Content, build: "Builder", faulty: "FaultyRegistry", search: "Search"
) -> None:
    faulty.listings[image.digest] = build.listing(build.artifact(build.image("linux/arm64")))
    found = await search(faulty.name)
    assert found.state is SearchState.NONE
    assert "does not refer to it" in found.notices[0]


@pytest.mark.parametrize("on", ["index", "child", "both"])
async def test_18_artifacts_on_the_index_and_on_the_child_are_both_told(
    on: str, build: "Builder", faulty: "FaultyRegistry", resolve: "Resolve"
) -> None:
    child = build.image()
    index = faulty.tags["v1"] = build.index((child, "linux/amd64"))
    if on in {"index", "both"}:
        faulty.tags[fallback_tag(index.digest)] = build.listing(build.artifact(index, b"of the index"))
    if on in {"child", "both"}:
        newer = build.artifact(child, b"of the child", created="2026-06-01T00:00:00Z")
        faulty.tags[fallback_tag(child.digest)] = build.listing(newer)
    knowledge = await resolve(faulty.name)
    assert knowledge.search is not None
    assert knowledge.images[0].search is not None
    found = [knowledge.search.artifact, knowledge.images[0].search.artifact]
    wanted = {
        "index": [b"of the index", None],
        "child": [None, b"of the child"],
        "both": [b"of the index", b"of the child"],
    }
    assert [one and one.data for one in found] == wanted[on]


async def test_19_missing_and_malformed_dates_count_as_the_oldest_and_are_reported(
    image: Content, build: "Builder", faulty: "FaultyRegistry", search: "Search"
) -> None:
    undated = build.artifact(image, b"undated", created=None)
    malformed = build.artifact(image, b"malformed", created="2099-01-01 00:00")
    dated = build.artifact(image, b"dated", created="1999-01-01T00:00:00Z")
    faulty.listings[image.digest] = build.listing(undated, malformed, dated)
    found = await search(faulty.name)
    assert found.artifact is not None
    assert found.artifact.data == b"dated"
    assert sorted(notice[20:] for notice in found.notices) == [
        "has no date; it counts as the oldest",
        "has the date '2099-01-01 00:00', which is malformed; it counts as the oldest",
    ]


async def test_18_an_index_and_a_child_with_an_artifact_cost_seven_requests_and_one_for_the_tag(
    build: "Builder", faulty: "FaultyRegistry", open_client: "OpenClient"
) -> None:
    child = build.image()
    index = faulty.tags["v1"] = build.index((child, "linux/amd64"), (build.image("linux/arm64"), "linux/arm64"))
    faulty.listings |= {child.digest: build.listing(build.artifact(child)), index.digest: build.listing()}
    reference = parse_reference(faulty.name)
    assert isinstance(reference, Reference)
    async with open_client() as client:
        await resolve_image(client.store(reference), reference, [Platform("linux", "amd64")])
    counts = Counter(one.path.split("/")[4] for one in faulty.seen)
    assert counts == {"manifests": 4, "referrers": 2, "blobs": 2}
    assert len(faulty.asked("GET", fallback_tag(index.digest))) == 1
