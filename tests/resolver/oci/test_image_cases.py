"""The numbered cases of image compatibility that are about finding the artifact, in registries and in a layout folder."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from nodeworthy.images import ARTIFACT_TYPE, SPEC_MEDIA_TYPE, ArtifactSearch, SearchState
from nodeworthy_resolver.oci import parse_reference, resolve_image, search_artifact
from nodeworthy_resolver.oci.digests import compute, fallback_tag
from nodeworthy_resolver.oci.layout import LayoutStore
from nodeworthy_resolver.oci.manifests import EMPTY, IMAGE_INDEX
from nodeworthy_resolver.oci.reference import LayoutReference, Reference
from nodeworthy_resolver.oci.store import Content

if TYPE_CHECKING:
    from tests.resolver.conftest import Builder, FaultyRegistry, OpenClient, Reply


async def search(faulty: "FaultyRegistry", open_client: "OpenClient") -> ArtifactSearch:
    """The search for the artifact of a registry's single image."""
    reference = parse_reference(faulty.name)
    assert isinstance(reference, Reference)
    async with open_client() as client:
        found = (await resolve_image(client.store(reference), reference, None)).images[0].search
    assert found is not None
    return found


class Place:
    """A registry or a layout folder that holds one image and what is attached to it."""

    def __init__(
        self, kind: str, folder: Path, build: "Builder", faulty: "FaultyRegistry", client: "OpenClient"
    ) -> None:
        self.kind = kind
        self.folder = folder
        self.build = build
        self.faulty = faulty
        self.client = client

    async def search(self, image: Content, *artifacts: Content) -> ArtifactSearch:
        """The search for the image's artifact among these."""
        knowledge = await (self._layout if self.kind == "layout" else self._registry)(image, artifacts)
        found: ArtifactSearch | None = knowledge.images[0].search
        assert found is not None
        return found

    async def _layout(self, image: Content, artifacts: tuple[Content, ...]) -> Any:
        entries = [self.build.tagged(image, "v1"), *(self.build.entry(one) for one in artifacts)]
        self.build.write_layout(self.folder, *entries)
        reference = parse_reference(f"oci:{self.folder}:v1")
        assert isinstance(reference, LayoutReference)
        return await resolve_image(LayoutStore(reference.folder), reference, None)

    async def _registry(self, image: Content, artifacts: tuple[Content, ...]) -> Any:
        self.faulty.tags["v1"] = image
        listing = self.build.listing(*artifacts)
        if self.kind == "api":
            self.faulty.listings[image.digest] = listing
        elif artifacts:
            self.faulty.tags[fallback_tag(image.digest)] = listing
        reference = parse_reference(self.faulty.name)
        assert isinstance(reference, Reference)
        async with self.client() as client:
            return await resolve_image(client.store(reference), reference, None)


@pytest.fixture(params=["api", "tag", "layout"])
def place(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    build: "Builder",
    faulty: "FaultyRegistry",
    open_client: "OpenClient",
) -> Place:
    return Place(request.param, tmp_path / "layout", build, faulty, open_client)


async def test_i1_nothing_attached_is_none_with_the_places_that_were_looked_at(place: Place, build: "Builder") -> None:
    found = await place.search(build.image())
    assert (found.state, found.artifact) == (SearchState.NONE, None)
    assert found.reason


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
async def test_i2_an_error_of_the_registry_is_a_failed_search(
    status: int, build: "Builder", faulty: "FaultyRegistry", open_client: "OpenClient", reply: "Reply"
) -> None:
    image = faulty.tags["v1"] = build.image()
    challenge = {"WWW_Authenticate": "Basic realm=x"} if status == 401 else {}
    faulty.script("GET", f"referrers/{image.digest}", reply(status, **challenge), always=True)
    found = await search(faulty, open_client)
    assert (found.state, found.artifact) == (SearchState.FAILED, None)
    assert str(status) in found.reason


async def test_i2_a_damaged_entry_of_a_folder_is_a_failed_search(build: "Builder", tmp_path: Path) -> None:
    image, artifact = build.image(), build.document({"config": 1})
    build.write_layout(tmp_path, build.tagged(image, "v1"), build.entry(artifact))
    found = await search_artifact(LayoutStore(tmp_path), image.digest)
    assert (found.state, found.artifact) == (SearchState.FAILED, None)
    assert artifact.digest in found.reason


async def test_i5_artifacts_of_another_type_are_passed_over_and_reported(place: Place, build: "Builder") -> None:
    image = build.image()
    other = build.artifact(
        image, b"x", artifact_type="application/vnd.k8s.nfd.image-compatibility.v1", created="2030-01-01T00:00:00Z"
    )
    found = await place.search(image, other, build.artifact(image))
    assert found.artifact is not None
    assert found.artifact.data == build.spec
    assert "application/vnd.k8s.nfd.image-compatibility.v1" in found.notices[0]


async def test_i6_a_layer_of_another_type_is_read_with_a_notice(place: Place, build: "Builder") -> None:
    image = build.image()
    layer = build.blob(build.spec, "application/vnd.oci.image.layer.v1.tar")
    found = await place.search(image, build.artifact(image, layers=[layer]))
    assert found.artifact is not None
    assert found.artifact.data == build.spec
    assert "'application/vnd.oci.image.layer.v1.tar' instead of" in found.notices[0]


async def test_i6_of_two_layers_the_first_is_read_with_a_notice(place: Place, build: "Builder") -> None:
    image = build.image()
    layers = [build.blob(build.spec, SPEC_MEDIA_TYPE), build.blob(b"second", SPEC_MEDIA_TYPE)]
    found = await place.search(image, build.artifact(image, layers=layers))
    assert found.artifact is not None
    assert found.artifact.data == build.spec
    assert "has 2 layers; only the first was read" in found.notices[0]


@pytest.mark.parametrize("layers", [[], None])
async def test_i6_an_artifact_without_a_layer_cannot_be_used(layers: Any, place: Place, build: "Builder") -> None:
    image = build.image()
    found = await place.search(image, build.artifact(image, layers=layers))
    assert found.state is SearchState.FAILED
    assert "it has no layer" in found.reason


async def test_i6_a_folder_that_was_attached_cannot_be_used(place: Place, build: "Builder") -> None:
    image = build.image()
    layer = build.blob(b"\x1f\x8b", "application/vnd.oci.image.layer.v1.tar+gzip")
    found = await place.search(image, build.artifact(image, layers=[layer]))
    assert found.state is SearchState.FAILED
    assert "packed folder" in found.reason


@pytest.mark.parametrize("is_honest", [True, False])
async def test_i6_a_layer_over_the_limit_cannot_be_used(is_honest: bool, place: Place, build: "Builder") -> None:
    image = build.image()
    layer = build.blob(b"#" * (4 * 1024 * 1024 + 1), SPEC_MEDIA_TYPE)
    if not is_honest:
        layer["size"] = 10
    found = await place.search(image, build.artifact(image, layers=[layer]))
    assert found.state is SearchState.FAILED
    assert "more than 4194304 bytes" in found.reason


async def test_i6_a_layer_of_another_digest_cannot_be_used(place: Place, build: "Builder") -> None:
    image = build.image()
    artifact = build.artifact(image)
    build.blobs[compute(build.spec)] = build.spec.replace(b"any", b"all")
    found = await place.search(image, artifact)
    assert found.state is SearchState.FAILED
    assert "is not what was asked for" in found.reason


async def test_i6_a_layer_that_is_missing_cannot_be_used(place: Place, build: "Builder") -> None:
    image = build.image()
    artifact = build.artifact(image)
    del build.blobs[compute(build.spec)]
    found = await place.search(image, artifact)
    assert found.state is SearchState.FAILED


async def test_i6_the_newest_counts_even_if_it_is_the_one_that_cannot_be_used(place: Place, build: "Builder") -> None:
    image = build.image()
    broken = build.artifact(image, layers=[], created="2027-01-01T00:00:00Z")
    assert (await place.search(image, build.artifact(image), broken)).state is SearchState.FAILED


async def test_an_artifact_that_takes_its_type_from_its_config_is_found(place: Place, build: "Builder") -> None:
    image = build.image()
    artifact = build.artifact(image, artifact_type=None, config=build.blob(b"{}", ARTIFACT_TYPE))
    assert (await place.search(image, artifact)).state is SearchState.FOUND


async def test_an_index_that_claims_to_be_an_artifact_is_passed_over(place: Place, build: "Builder") -> None:
    image = build.image()
    index = build.document({"manifests": [], "artifactType": ARTIFACT_TYPE, "subject": build.entry(image)}, IMAGE_INDEX)
    found = await place.search(image, index, build.artifact(image))
    assert found.state is SearchState.FOUND
    assert "it is an index" in found.notices[0]


async def test_an_entry_whose_size_is_not_its_contents_is_not_believed(
    build: "Builder", faulty: "FaultyRegistry", open_client: "OpenClient"
) -> None:
    image = faulty.tags["v1"] = build.image()
    wrong = build.entry(build.artifact(image), artifactType=ARTIFACT_TYPE) | {"size": 3}
    faulty.listings[image.digest] = build.document({"manifests": [wrong]}, IMAGE_INDEX)
    found = await search(faulty, open_client)
    assert found.state is SearchState.FAILED
    assert "its size is not the listed one" in found.reason


async def test_an_entry_of_the_type_that_is_no_manifest_is_a_failure(
    build: "Builder", faulty: "FaultyRegistry", open_client: "OpenClient"
) -> None:
    image = faulty.tags["v1"] = build.image()
    entry = build.entry(build.document({"layers": []}), artifactType=ARTIFACT_TYPE)
    faulty.listings[image.digest] = build.document({"manifests": [entry]}, IMAGE_INDEX)
    assert (await search(faulty, open_client)).state is SearchState.FAILED


async def test_a_layer_that_says_that_it_is_too_large_is_not_asked_for(
    build: "Builder", faulty: "FaultyRegistry", open_client: "OpenClient"
) -> None:
    image = faulty.tags["v1"] = build.image()
    layer = build.blob(b"#", SPEC_MEDIA_TYPE) | {"size": 4 * 1024 * 1024 + 1}
    faulty.listings[image.digest] = build.listing(build.artifact(image, layers=[layer]))
    assert (await search(faulty, open_client)).state is SearchState.FAILED
    assert not faulty.asked("GET", layer["digest"])


async def test_i9_all_pages_are_read(
    build: "Builder", faulty: "FaultyRegistry", open_client: "OpenClient", reply: "Reply"
) -> None:
    image = faulty.tags["v1"] = build.image()
    path = f"/v2/team/app/referrers/{image.digest}"
    newest = build.artifact(image, b"newest", created="2027-01-01T00:00:00Z")
    pages = [build.listing(build.artifact(image)), build.listing(), build.listing(newest)]
    links = [
        f'<{path}?page=2>; rel="next"',
        f'<http://{faulty.host}{path}?page=3>; title="x"; rel=next',
        '<x>; rel="prev"',
    ]
    answers = [
        reply(200, page.data, Content_Type=IMAGE_INDEX, Link=link) for page, link in zip(pages, links, strict=True)
    ]
    faulty.script("GET", path, *answers)
    found = await search(faulty, open_client)
    assert found.artifact is not None
    assert found.artifact.data == b"newest"
    assert [one.query.get("page") for one in faulty.asked("GET", "/referrers/")] == [None, "2", "3"]


async def test_i10_a_tag_that_moved_is_resolved_to_what_it_names_now(
    build: "Builder", faulty: "FaultyRegistry", open_client: "OpenClient"
) -> None:
    reference = parse_reference(faulty.name)
    assert isinstance(reference, Reference)
    async with open_client() as client:
        for platform in ("linux/amd64", "linux/arm64"):
            faulty.tags["v1"] = build.image(platform)
            knowledge = await resolve_image(client.store(reference), reference, None)
            assert knowledge.digest == faulty.tags["v1"].digest
            assert str(knowledge.images[0].platform) == platform


def test_the_builders_artifact_is_the_one_that_nfd_documents(build: "Builder") -> None:
    said = json.loads(build.artifact(build.image()).data)
    assert said["artifactType"] == ARTIFACT_TYPE
    assert (said["config"]["mediaType"], said["layers"][0]["mediaType"]) == (EMPTY, SPEC_MEDIA_TYPE)
