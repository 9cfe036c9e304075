"""Checking images against one node: look them up side by side, judge each."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from nodeworthy import verdicts
from nodeworthy.errors import ArtifactError, NodeworthyError, RegistryError
from nodeworthy.images import ImageKnowledge
from nodeworthy.platforms import Platform
from nodeworthy.verdicts import Declaration, NodeFacts, Verdict, Wishes
from nodeworthy_resolver import oci

_SIDE_BY_SIDE = 8
"""Images looked up at once: registries limit a client, and a person waits for the slowest anyhow."""


class Question(NamedTuple):
    """What every image of a call is asked."""

    node: NodeFacts
    wanted: Platform | None
    wishes: Wishes
    override: Declaration | None


async def check_images(
    images: Sequence[str], question: Question, access: oci.RegistryAccess
) -> list[Verdict | NodeworthyError]:
    """The verdict of each image, in order; an error where the call itself has to be corrected (not found, no such tag)."""
    places = asyncio.Semaphore(_SIDE_BY_SIDE)

    async def check(image: str) -> Verdict | NodeworthyError:
        async with places:
            return await _check(image, question, access)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(check(image), name=f"check {image}") for image in images]
    return [task.result() for task in tasks]


async def _check(image: str, question: Question, access: oci.RegistryAccess) -> Verdict | NodeworthyError:
    try:
        knowledge = await _look_up(image, question, access)
    except (RegistryError, ArtifactError) as error:
        return verdicts.unresolved(image, question.node, _hint_at_layout(image, error))
    except NodeworthyError as error:
        return _hint_at_layout(image, error)
    try:
        return verdicts.judge(
            knowledge,
            question.node,
            wanted=question.wanted,
            wishes=question.wishes,
            override=question.override,
        )
    except NodeworthyError as error:
        return error


def _hint_at_layout(image: str, error: NodeworthyError) -> NodeworthyError:
    """Where the name is also a layout folder's, that was probably meant."""
    folder = image.removesuffix("/")
    if (Path(folder) / "oci-layout").is_file():
        error.todo = f"write oci:{folder} for the layout folder of this name"
    return error


async def _look_up(image: str, question: Question, access: oci.RegistryAccess) -> ImageKnowledge:
    reference = oci.parse_reference(image)
    wanted = (question.wanted,) if question.wanted else question.node.platforms
    async with oci.open_store(reference, access) as store:
        return await oci.resolve_image(store, reference, wanted or None)
