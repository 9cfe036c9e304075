from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from nodeworthy import platforms
from nodeworthy.errors import ImageNotFoundError, RegistryContentError
from nodeworthy.images import ArtifactSearch, ImageKnowledge, SearchState
from nodeworthy.platforms import Platform
from nodeworthy_resolver.oci import complete_image, lasting, parse_reference, resolve_image, search_artifact
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.layout import LayoutStore
from nodeworthy_resolver.oci.manifests import DOCKER_CONFIG, DOCKER_LIST, DOCKER_MANIFEST, IMAGE_INDEX
from nodeworthy_resolver.oci.reference import LayoutReference
from nodeworthy_resolver.oci.store import Content

if TYPE_CHECKING:
    from tests.resolver.conftest import Builder

AMD64, ARM64 = Platform("linux", "amd64"), Platform("linux", "arm64")


class Resolve:
    """Resolves an image through a layout folder, with the artifacts that are attached to anything in it."""

    def __init__(self, build: "Builder", folder: Path) -> None:
        self.build = build
        self.folder = folder

    async def __call__(
        self, root: Content, wanted: list[Platform] | None = None, artifacts: tuple[Content, ...] = ()
    ) -> ImageKnowledge:
        entries = [self.build.tagged(root, "v1"), *(self.build.entry(one) for one in artifacts)]
        self.build.write_layout(self.folder, *entries)
        reference = parse_reference(f"oci:{self.folder}:v1")
        assert isinstance(reference, LayoutReference)
        return await resolve_image(LayoutStore(self.folder), reference, wanted)


@pytest.fixture
def resolve(build: "Builder", tmp_path: Path) -> Resolve:
    return Resolve(build, tmp_path)


async def test_a_single_manifest_is_one_image_with_its_configs_word(resolve: Resolve, build: "Builder") -> None:
    image = build.image(environment=("NVIDIA_REQUIRE_CUDA=cuda>=12.4",))
    knowledge = await resolve(image, None, (build.artifact(image),))
    assert (knowledge.digest, knowledge.media_type, knowledge.search) == (image.digest, image.media_type, None)
    (only,) = knowledge.images
    assert (only.digest, only.claimed, only.configured) == (image.digest, None, AMD64)
    assert only.environment == ("NVIDIA_REQUIRE_CUDA=cuda>=12.4",)
    assert only.search is not None
    assert only.search.state is SearchState.FOUND


async def test_a_single_manifest_is_read_whatever_platforms_are_wanted(resolve: Resolve, build: "Builder") -> None:
    knowledge = await resolve(build.image("linux/s390x"), [AMD64])
    assert knowledge.images[0].configured == Platform("linux", "s390x")
    assert knowledge.images[0].search is not None


async def test_of_an_index_only_the_wanted_children_are_read_and_all_are_listed(
    resolve: Resolve, build: "Builder"
) -> None:
    amd64, arm64 = build.image(), build.image("linux/arm64")
    index = build.index((amd64, "linux/amd64"), (arm64, "linux/arm64/v8"), (build.image("linux/s390x"), "linux/s390x"))
    build.blobs.clear()  # nothing of the others can be read
    wanted = build.image()
    assert wanted.digest == amd64.digest
    knowledge = await resolve(index, [AMD64], (build.artifact(index), build.artifact(amd64)))
    assert [(image.claimed, image.configured, image.search is not None) for image in knowledge.images] == [
        (AMD64, AMD64, True),
        (ARM64, None, False),
        (Platform("linux", "s390x"), None, False),
    ]
    assert knowledge.search is not None
    assert knowledge.search.artifact is not None
    assert knowledge.search.artifact.subject == index.digest
    assert knowledge.images[0].search is not None
    assert knowledge.images[0].search.artifact is not None
    assert knowledge.images[0].search.artifact.subject == amd64.digest


async def test_every_child_is_read_when_no_platform_is_said(resolve: Resolve, build: "Builder") -> None:
    index = build.index((build.image(), "linux/amd64"), (build.image("linux/arm64"), "linux/arm64"))
    knowledge = await resolve(index)
    assert [image.configured for image in knowledge.images] == [AMD64, ARM64]


async def test_each_platform_takes_the_child_that_fits_best(resolve: Resolve, build: "Builder") -> None:
    names = ("linux/amd64", "linux/amd64/v3", "linux/arm/v7")
    index = build.index(*((build.image(name), name) for name in names))
    knowledge = await resolve(index, [platforms.parse("linux/amd64/v4"), platforms.parse("linux/arm64"), AMD64])
    assert [image.search is not None for image in knowledge.images] == [True, True, True]
    knowledge = await resolve(index, [platforms.parse("linux/amd64/v4")])
    assert [image.search is not None for image in knowledge.images] == [False, True, False]


async def test_a_platform_that_no_child_fits_reads_none(resolve: Resolve, build: "Builder") -> None:
    knowledge = await resolve(build.index((build.image(), "linux/amd64")), [Platform("linux", "riscv64")])
    assert [image.search for image in knowledge.images] == [None]
    assert knowledge.search is not None
    assert knowledge.search.state is SearchState.NONE


async def test_attestations_are_no_images(resolve: Resolve, build: "Builder") -> None:
    attestation = build.document({"config": build.blob(b"{}", "application/vnd.in-toto+json"), "layers": []})
    marked = build.entry(attestation, annotations={"vnd.docker.reference.type": "attestation-manifest"})
    index = build.index((build.image(), "linux/amd64"), (attestation, "unknown/unknown"), more=(marked,))
    knowledge = await resolve(index)
    assert len(knowledge.images) == 1
    assert knowledge.notices == ()


async def test_children_that_are_no_images_are_reported(resolve: Resolve, build: "Builder") -> None:
    blob = build.blob(b"x", "application/x")
    knowledge = await resolve(build.index((build.image(), "linux/amd64"), more=(blob,)))
    assert len(knowledge.images) == 1
    assert knowledge.notices == (f"{blob['digest'][:19]} of type application/x is no image",)


async def test_a_child_without_a_claim_is_chosen_by_its_config(resolve: Resolve, build: "Builder") -> None:
    index = build.index((build.image("linux/arm64"), ""), (build.image(), ""))
    knowledge = await resolve(index, [AMD64])
    assert [(image.claimed, image.configured) for image in knowledge.images] == [(None, None), (None, AMD64)]


async def test_a_claim_that_the_config_contradicts_is_reported_and_the_config_counts(
    resolve: Resolve, build: "Builder"
) -> None:
    knowledge = await resolve(build.index((build.image("linux/amd64"), "linux/arm64")))
    (image,) = knowledge.images
    assert image.platform == AMD64
    assert image.notices == ("the index says linux/arm64, the image's config says linux/amd64",)


@pytest.mark.parametrize(
    ("claimed", "configured", "expected", "notices"),
    [
        ("linux/arm/v6", "linux/arm", "linux/arm/v6", 0),
        ("linux/arm/v6", "linux/arm/v7", "linux/arm/v7", 1),
        ("linux/amd64/v3", "linux/amd64", "linux/amd64/v3", 0),
        ("linux/arm64/v8", "linux/aarch64", "linux/arm64", 0),
    ],
)
async def test_a_variant_that_the_config_leaves_out_is_the_indexs(
    claimed: str, configured: str, expected: str, notices: int, resolve: Resolve, build: "Builder"
) -> None:
    knowledge = await resolve(build.index((build.image(configured), claimed)))
    (image,) = knowledge.images
    assert str(image.platform) == expected
    assert len(image.notices) == notices


async def test_an_artifact_is_resolved_without_a_platform(resolve: Resolve, build: "Builder") -> None:
    knowledge = await resolve(build.artifact(build.image()))
    (image,) = knowledge.images
    assert image.platform is None
    assert image.notices == ("its config of type application/vnd.oci.empty.v1+json is no image config",)


async def test_a_config_that_names_no_platform_is_reported(resolve: Resolve, build: "Builder") -> None:
    knowledge = await resolve(build.image(os="", architecture="\x1b[2J"))
    assert knowledge.images[0].platform is None
    assert "names no operating system" in knowledge.images[0].notices[0]


@pytest.mark.parametrize("lost", ["manifest", "config", "config is no JSON"])
async def test_a_child_that_cannot_be_read_harms_only_itself(lost: str, resolve: Resolve, build: "Builder") -> None:
    bad = build.image("linux/arm64", rootfs="only here")
    good = build.image()
    index = build.index((good, "linux/amd64"), (bad, "linux/arm64"))
    if lost == "manifest":
        del build.manifests[bad.digest]
    else:
        config = next(digest for digest, data in build.blobs.items() if b"only here" in data)
        build.blobs[config] = b"damaged"
    knowledge = await resolve(index, None, (build.artifact(good),))
    states = [image.search.state for image in knowledge.images if image.search]
    assert states == [SearchState.FOUND, SearchState.FAILED]
    assert knowledge.images[1].platform == ARM64
    assert knowledge.images[1].notices


async def test_the_only_image_that_cannot_be_read_is_an_error(resolve: Resolve, build: "Builder") -> None:
    image = build.image()
    build.blobs = dict.fromkeys(build.blobs, b"damaged")
    with pytest.raises(RegistryContentError, match="is not what was asked for"):
        await resolve(image)


async def test_an_image_without_its_config_is_there_and_broken(resolve: Resolve, build: "Builder") -> None:
    image = build.image()
    build.blobs.clear()
    with pytest.raises(RegistryContentError, match="is missing"):
        await resolve(image)


async def test_indexes_inside_indexes_are_followed_to_a_depth(resolve: Resolve, build: "Builder") -> None:
    index = build.index((build.image(), "linux/amd64"))
    for _ in range(2):
        index = build.index((build.image("linux/arm64"), "linux/arm64"), more=(build.entry(index),))
    assert [str(image.claimed) for image in (await resolve(index)).images] == [
        "linux/arm64",
        "linux/arm64",
        "linux/amd64",
    ]
    with pytest.raises(RegistryContentError, match="more than 3 deep"):
        await resolve(build.index(more=(build.entry(index),)))


async def test_an_image_that_is_listed_twice_keeps_each_claim(resolve: Resolve, build: "Builder") -> None:
    image = build.image()
    knowledge = await resolve(build.index((image, "linux/amd64"), (image, "linux/386")))
    assert [str(image.claimed) for image in knowledge.images] == ["linux/amd64", "linux/386"]
    assert [len(image.notices) for image in knowledge.images] == [0, 1]


async def test_more_children_than_are_read_are_reported(resolve: Resolve, build: "Builder") -> None:
    children = [(build.image(f"linux/a{number}"), f"linux/a{number}") for number in range(258)]
    knowledge = await resolve(build.index(*children))
    assert sum(image.search is not None for image in knowledge.images) == 256
    assert knowledge.notices == ("only 256 of 258 images were read",)


async def test_dockers_media_types_are_read_like_ocis(resolve: Resolve, build: "Builder") -> None:
    config = build.blob(b'{"os": "linux", "architecture": "amd64"}', DOCKER_CONFIG)
    image = build.document({"config": config, "layers": []}, DOCKER_MANIFEST)
    platform = {"platform": {"os": "linux", "architecture": "amd64"}}
    index = build.document({"manifests": [build.entry(image, **platform)]}, DOCKER_LIST)
    knowledge = await resolve(index, [AMD64])
    assert knowledge.media_type == DOCKER_LIST
    assert knowledge.images[0].configured == AMD64


@pytest.mark.parametrize(
    ("document", "media_type", "why"),
    [
        ({"fsLayers": []}, "application/vnd.docker.distribution.manifest.v1+prettyjws", "schema 1"),
        ({"blobs": []}, "application/vnd.oci.artifact.manifest.v1+json", "withdrawn"),
        ({}, "application/x", "application/x"),
        ({"manifests": 1}, IMAGE_INDEX, "JSON"),
    ],
)
async def test_what_is_no_image_is_refused_in_words(
    document: dict[str, Any], media_type: str, why: str, resolve: Resolve, build: "Builder"
) -> None:
    with pytest.raises(RegistryContentError) as caught:
        await resolve(build.document(document, media_type))
    assert why in caught.value.why


async def test_a_folder_without_the_tag_is_not_found(resolve: Resolve, build: "Builder", tmp_path: Path) -> None:
    await resolve(build.image())
    with pytest.raises(ImageNotFoundError, match="the tags v1"):
        await LayoutStore(tmp_path).resolve("v2")


class Complete:
    """Completes what is known through the layout folder of an earlier resolution, and counts what is read and searched."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.searched: list[str] = []
        self.read: list[str] = []

    async def __call__(self, known: ImageKnowledge, wanted: list[Platform] | None = None) -> ImageKnowledge:
        complete = self

        class Store(LayoutStore):
            async def read_manifest(self, digest: Digest) -> Content:
                complete.read.append(digest)
                return await super().read_manifest(digest)

        async def search(digest: Digest) -> ArtifactSearch:
            self.searched.append(digest)
            return await search_artifact(LayoutStore(self.folder), digest)

        return await complete_image(Store(self.folder), known, wanted, search=search)


@pytest.fixture
def complete(tmp_path: Path) -> Complete:
    return Complete(tmp_path)


async def test_what_is_known_of_an_index_is_not_read_again(
    resolve: Resolve, complete: Complete, build: "Builder"
) -> None:
    index = build.index((build.image(), "linux/amd64"), (build.image("linux/arm64"), "linux/arm64"))
    knowledge = await resolve(index, None)
    assert await complete(lasting(knowledge)) == knowledge
    assert complete.read == []
    assert sorted(complete.searched) == sorted([index.digest, *(image.digest for image in knowledge.images)])


async def test_a_child_that_nobody_wanted_before_is_read_when_it_is_wanted(
    resolve: Resolve, complete: Complete, build: "Builder"
) -> None:
    arm = build.image("linux/arm64")
    index = build.index((build.image(), "linux/amd64"), (arm, "linux/arm64"))
    known = lasting(await resolve(index, [AMD64]))
    completed = await complete(known, [ARM64])
    assert completed.images[1].configured == ARM64
    assert completed.images[0].configured == AMD64  # from before
    assert completed.images[0].search is None
    assert complete.read == [arm.digest]
    assert complete.searched == [index.digest, arm.digest]


async def test_a_child_that_failed_is_read_again(resolve: Resolve, complete: Complete, build: "Builder") -> None:
    bad = build.image("linux/arm64")
    index = build.index((build.image(), "linux/amd64"), (bad, "linux/arm64"))
    data = build.manifests.pop(bad.digest)
    broken = await resolve(index, None)
    assert broken.images[1].search
    assert broken.images[1].search.state is SearchState.FAILED
    build.manifests[bad.digest] = data
    build.write_layout(complete.folder, build.tagged(index, "v1"))
    completed = await complete(lasting(broken))
    assert completed.images[1].configured == ARM64
    assert completed.images[1].notices == ()
    assert completed.images[1].search
    assert completed.images[1].search.state is SearchState.NONE


async def test_a_child_without_a_claim_is_chosen_by_what_was_read_before(
    resolve: Resolve, complete: Complete, build: "Builder"
) -> None:
    index = build.index((build.image(), ""), (build.image("linux/arm64"), ""))
    completed = await complete(lasting(await resolve(index, None)), [ARM64])
    assert [image.search is not None for image in completed.images] == [False, True]
    assert [image.claimed for image in completed.images] == [None, None]
    assert complete.read == []


async def test_of_a_known_single_image_only_the_artifact_is_searched(
    resolve: Resolve, complete: Complete, build: "Builder"
) -> None:
    image = build.image()
    knowledge = await resolve(image, None, (build.artifact(image),))
    assert await complete(lasting(knowledge)) == knowledge
    assert complete.searched == [image.digest]
    assert complete.read == []


async def test_what_lasts_names_no_artifact_and_no_limit(resolve: Resolve, build: "Builder") -> None:
    image = build.image()
    known = lasting(await resolve(build.index((image, "linux/amd64")), None, (build.artifact(image),)))
    assert known.search is None
    assert known.images[0].search is None
    assert known.images[0].configured == AMD64
