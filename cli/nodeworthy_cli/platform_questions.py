"""Asking for the platforms of images, side by side."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from nodeworthy.errors import NodeworthyError
from nodeworthy.images import ArtifactSearch, SearchState
from nodeworthy.platforms import Platform
from nodeworthy_cli.checking import SIDE_BY_SIDE, hint_at_disk
from nodeworthy_cli.platform_reports import ImageReport, images_to_look_at, make_report
from nodeworthy_resolver import oci

_NOT_ASKED = ArtifactSearch(SearchState.FAILED, reason="what is declared was not asked for")


class PlatformQuestion(NamedTuple):
    """What is asked of one image."""

    image: str
    wanted: tuple[Platform, ...]
    """None: all that it offers, and each must be what it says."""
    named_by: tuple[str, ...] = ()
    """Where a Containerfile names it."""


async def ask_platforms(
    questions: Sequence[PlatformQuestion], access: oci.RegistryAccess, *, with_content: bool | None = None
) -> list[ImageReport | NodeworthyError]:
    """The report on each image, in order, or why there is none; ``with_content`` reads layers too.

    ``None``: those of images that are required for platforms, and not by a Containerfile, whose images others publish.
    """
    places = asyncio.Semaphore(SIDE_BY_SIDE)

    async def ask(question: PlatformQuestion) -> ImageReport | NodeworthyError:
        async with places:
            return await _ask(question, access, with_content)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask(question), name=f"platforms {question.image}") for question in questions]
    return [task.result() for task in tasks]


async def _ask(
    question: PlatformQuestion, access: oci.RegistryAccess, with_content: bool | None
) -> ImageReport | NodeworthyError:
    try:
        reference = oci.parse_reference(question.image)
        # Registries count requests: only what is wanted is read, and nothing is searched.
        known = await oci.look_up(reference, question.wanted or None, access, search=_skip_search)
    except NodeworthyError as error:
        if question.named_by:
            error.what = f"{', '.join(question.named_by)}: {error.what}"
        return hint_at_disk(question.image, error)
    if with_content is None:
        with_content = bool(question.wanted) and not question.named_by
    if not with_content:
        return make_report(question.image, known, question.wanted, question.named_by)
    from nodeworthy_cli.platform_contents import look_inside  # heavy, and not for everybody

    # One after the other: each keeps what it reads on this machine's disk.
    images = images_to_look_at(known, question.wanted)
    contents = {image.digest: await look_inside(reference, image, access) for image in images}
    return make_report(question.image, known, question.wanted, question.named_by, contents)


async def _skip_search(_: str) -> ArtifactSearch:
    return _NOT_ASKED
