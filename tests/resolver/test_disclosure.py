import msgspec
import pytest

from nodeworthy.bus.requests import ResolveReply
from nodeworthy.errors import RegistryContentError
from nodeworthy.images import Artifact, ArtifactSearch, ImageKnowledge, PlatformImage, SearchState
from nodeworthy.requirements import Information, Inspection
from nodeworthy_resolver import disclosure

DIGEST = "sha256:" + "0" * 64


def found(size: int) -> ArtifactSearch:
    return ArtifactSearch(SearchState.FOUND, Artifact(DIGEST, DIGEST, "", b"#" * size), notices=("seen",))


def knowledge(*images: PlatformImage, search: ArtifactSearch | None = None) -> ImageKnowledge:
    return ImageKnowledge("registry.example/app:1", DIGEST, "", images, search)


def test_only_what_an_image_needs_is_published_of_its_environment() -> None:
    secret = ("PASSWORD=hunter2", "NVIDIA_REQUIRE_CUDA=cuda>=12.4", "CUDA_VERSION=12.4.1", "MY_NVIDIA_KEY=1", "PATH=/")
    published = disclosure.publish(knowledge(PlatformImage(DIGEST, environment=secret)))
    assert published.images[0].environment == ("NVIDIA_REQUIRE_CUDA=cuda>=12.4", "CUDA_VERSION=12.4.1")


def test_an_answer_that_fits_is_left_alone() -> None:
    reply = ResolveReply(knowledge=knowledge(PlatformImage(DIGEST, search=found(10))))
    assert disclosure.fit(reply, 10_000) is reply


def test_the_largest_document_is_left_out_first_and_becomes_unknown() -> None:
    images = [PlatformImage(DIGEST, search=found(size)) for size in (300, 9000, 100)]
    reply = disclosure.fit(ResolveReply(knowledge=knowledge(*images, search=found(200))), 2000)
    states = [image.search.state for image in reply.knowledge.images if image.search]
    assert states == [SearchState.FOUND, SearchState.FAILED, SearchState.FOUND]
    left_out = reply.knowledge.images[1].search
    assert left_out
    assert "9,000 bytes" in left_out.reason
    assert left_out.notices == ("seen",)
    assert reply.knowledge.search == found(200)
    assert len(msgspec.msgpack.encode(reply)) <= 2000


def test_documents_that_images_share_are_left_out_together() -> None:
    images = [PlatformImage(DIGEST, search=found(900)) for _ in range(3)]
    reply = disclosure.fit(ResolveReply(knowledge=knowledge(*images)), 1500)
    assert {image.search.state for image in reply.knowledge.images if image.search} == {SearchState.FAILED}


def test_an_answer_beyond_the_bus_is_left_out_too() -> None:
    images = [PlatformImage(DIGEST, search=found(size)) for size in (2_000_000, 10)]
    reply = disclosure.fit(ResolveReply(knowledge=knowledge(*images)), 100_000)
    assert reply.knowledge.images[1].search == found(10)


def test_an_index_that_is_too_large_by_itself_is_refused() -> None:
    reply = ResolveReply(knowledge=knowledge(*(PlatformImage(DIGEST) for _ in range(200))))
    with pytest.raises(RegistryContentError, match="too large"):
        disclosure.fit(reply, 5000)


def test_what_the_files_of_too_many_images_say_is_left_out_and_told() -> None:
    inspected = Inspection(1, information=(Information("long", "x" * 500),))
    images = [PlatformImage(DIGEST, inspection=inspected) for _ in range(5)]
    whole = ResolveReply(knowledge=knowledge(*images))
    assert disclosure.fit(whole, 10_000) is whole
    cut = disclosure.fit(whole, 2000).knowledge
    assert not any(image.inspection for image in cut.images)
    assert "ask for one platform" in cut.notices[-1]
