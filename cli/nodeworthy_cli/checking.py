"""Checking images against one node: look them up side by side, judge each."""

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from nodeworthy import verdicts
from nodeworthy.errors import ArtifactError, InvalidReferenceError, NodeworthyError, RegistryError
from nodeworthy.platforms import Platform
from nodeworthy.verdicts import Declaration, NodeFacts, Verdict, Wishes
from nodeworthy_cli.learning import learn
from nodeworthy_resolver import oci

SIDE_BY_SIDE = 8
"""Images looked up at once: registries limit a client, and a person waits for the slowest anyhow."""

_ARCHIVE_ENDINGS = (".tar", ".tar.gz", ".tgz")


class Question(NamedTuple):
    """What every image of a call is asked."""

    node: NodeFacts
    wanted: Platform | None
    wishes: Wishes
    override: Declaration | None
    inspect: bool | None = None
    """Whether files are looked at; ``None``: those of images on disk, which costs no download."""


async def check_images(
    images: Sequence[str], question: Question, access: oci.RegistryAccess
) -> list[Verdict | NodeworthyError]:
    """The verdict of each image, in order; an error where the call itself has to be corrected (not found, no such tag)."""
    places = asyncio.Semaphore(SIDE_BY_SIDE)

    async def check(image: str) -> Verdict | NodeworthyError:
        async with places:
            return await _check(image, question, access)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(check(image), name=f"check {image}") for image in images]
    return [task.result() for task in tasks]


def read_references(images: Sequence[str]) -> list[oci.AnyReference]:
    """The images that can be told by their names; what is wrong with the others is said when they are checked."""
    references = []
    for image in images:
        with contextlib.suppress(InvalidReferenceError):
            references.append(oci.parse_reference(image))
    return references


async def _check(image: str, question: Question, access: oci.RegistryAccess) -> Verdict | NodeworthyError:
    try:
        knowledge = await learn(image, question, access)
    except (RegistryError, ArtifactError) as error:
        return verdicts.unresolved(image, question.node, hint_at_disk(image, error))
    except NodeworthyError as error:
        return hint_at_disk(image, error)
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


def hint_at_disk(image: str, error: NodeworthyError) -> NodeworthyError:
    """Where the name is also a layout folder's or an archive's, that was probably meant."""
    path = Path(image.removesuffix("/"))
    name = image.removesuffix("/")
    if (path / "oci-layout").is_file():
        error.todo = f"write oci:{name} for the layout folder of this name"
    elif image.endswith(_ARCHIVE_ENDINGS) and path.is_file():
        error.todo = f"write docker-archive:{name} or oci-archive:{name} for the archive of this name"
    return error
