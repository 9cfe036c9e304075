"""What of an image may leave the resolver, and how much: its credentials see more than everybody on the bus should."""

from collections.abc import Sequence

import msgspec

from nodeworthy.bus.requests import ResolveReply
from nodeworthy.errors import RegistryContentError
from nodeworthy.images import ArtifactSearch, ImageKnowledge, PlatformImage, SearchState

PUBLIC_VARIABLES = ("NVIDIA_", "CUDA_")
"""How the names of environment variables begin that say what an image needs (NVIDIA container toolkit, "Environment
variables (OCI spec)"). People put passwords into the others."""


def publish(knowledge: ImageKnowledge) -> ImageKnowledge:
    """The knowledge without what is nobody's business: of the environment only what says what the image needs."""
    return msgspec.structs.replace(knowledge, images=tuple(map(_publish, knowledge.images)))


def _publish(image: PlatformImage) -> PlatformImage:
    kept = tuple(variable for variable in image.environment if variable.startswith(PUBLIC_VARIABLES))
    return msgspec.structs.replace(image, environment=kept)


def fit(reply: ResolveReply, limit: int) -> ResolveReply:
    """The reply in at most ``limit`` bytes: the largest documents are left out first, and what was attached becomes unknown.

    Counted in MessagePack. In JSON documents are a third larger; who asks in JSON for so much gets an error.

    Raises:
        RegistryContentError: it is too large without any document.
    """
    while (size := len(msgspec.msgpack.encode(reply))) > limit:
        searches = [reply.knowledge.search, *(image.search for image in reply.knowledge.images)]
        largest = max(map(_document_size, searches))
        if largest == 0 and any(image.inspection for image in reply.knowledge.images):
            reply = msgspec.structs.replace(reply, knowledge=_leave_out_inspections(reply.knowledge))
            continue
        if largest == 0:
            raise RegistryContentError(
                f"{reply.knowledge.reference} is too large",
                why=f"what is known of it has {size:,} bytes, over {limit:,}",
            )
        reply = msgspec.structs.replace(reply, knowledge=_leave_out(reply.knowledge, largest))
    return reply


def _leave_out_inspections(knowledge: ImageKnowledge) -> ImageKnowledge:
    """Without what the files of its images say: of many images at once it is too much; of each alone it is not."""
    images = tuple(msgspec.structs.replace(image, inspection=None) for image in knowledge.images)
    told = "what the files of its images say is too much for one answer: ask for one platform"
    return msgspec.structs.replace(knowledge, images=images, notices=(*knowledge.notices, told))


def _document_size(search: ArtifactSearch | None) -> int:
    return len(search.artifact.data) if search and search.artifact else 0


def _leave_out(knowledge: ImageKnowledge, size: int) -> ImageKnowledge:
    """Without the documents of this size; several images often share one."""
    images: Sequence[PlatformImage] = [
        msgspec.structs.replace(image, search=_left_out(image.search, size)) for image in knowledge.images
    ]
    return msgspec.structs.replace(knowledge, images=tuple(images), search=_left_out(knowledge.search, size))


def _left_out(search: ArtifactSearch | None, size: int) -> ArtifactSearch | None:
    if search is None or search.artifact is None or _document_size(search) != size:
        return search
    reason = f"artifact {search.artifact.digest} is too large for the bus: its document has {size:,} bytes"
    return ArtifactSearch(SearchState.FAILED, reason=reason, notices=search.notices)
