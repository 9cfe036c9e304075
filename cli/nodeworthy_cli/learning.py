"""What can be known of an image: what its registry or folder says, and what its files say."""

import asyncio
from dataclasses import replace
from typing import Protocol

import msgspec

from nodeworthy import platforms, verdicts
from nodeworthy.errors import InspectionError
from nodeworthy.images import ArtifactSearch, ImageKnowledge, PlatformImage, SearchState, with_inspections
from nodeworthy.platforms import Platform
from nodeworthy.requirements import Inspection, uninspected
from nodeworthy.verdicts import NodeFacts, State
from nodeworthy_resolver import oci
from nodeworthy_resolver.inspection.targets import RootFolder, SingleFile, Target, is_on_disk, parse_target
from nodeworthy_resolver.oci.digests import parse_digest


class Asked(Protocol):
    """What is asked of an image."""

    @property
    def node(self) -> NodeFacts:
        """The node that would take it."""
        ...

    @property
    def wanted(self) -> Platform | None:
        """The platform to take, instead of the node's own."""
        ...

    @property
    def inspect(self) -> bool | None:
        """Whether its files are looked at; ``None``: if they are on disk."""
        ...


async def learn(image: str, asked: Asked, access: oci.RegistryAccess) -> ImageKnowledge:
    """What is known of an image as the node sees it.

    Raises:
        NodeworthyError: it is not there, or could not be looked at.
    """
    target = parse_target(image)
    if isinstance(target, RootFolder | SingleFile):
        return await _learn_files(target)
    wanted = (asked.wanted,) if asked.wanted else asked.node.platforms
    knowledge = await oci.look_up(target, wanted or None, access)
    inspects = is_on_disk(target) if asked.inspect is None else asked.inspect
    chosen = verdicts.choose_image(knowledge, asked.node, asked.wanted)
    if not inspects or chosen.image is None or chosen.finding.state is State.UNMET:
        return knowledge
    inspection = await inspect_image(target, chosen.image, access)
    return with_inspections(knowledge, {chosen.image.digest: inspection})


async def _learn_files(target: RootFolder | SingleFile) -> ImageKnowledge:
    """Of files that no config goes with: they are for the machine of what starts."""
    from nodeworthy_resolver.inspection.opening import inspect_opened, open_target  # loads the disassembler

    async with open_target(target) as opened:
        inspection = inspect_opened(opened)
    platform = platforms.normalize("linux", inspection.machine) if inspection.machine else None
    alone = PlatformImage("", configured=platform, search=ArtifactSearch(SearchState.NONE), inspection=inspection)
    return ImageKnowledge(str(target), "", "", (alone,))


async def inspect_image(target: Target, image: PlatformImage, access: oci.RegistryAccess) -> Inspection | None:
    """What an image's files say; ``None`` where it has none."""
    from nodeworthy_resolver.inspection.opening import inspect_opened, open_target  # loads the disassembler
    from nodeworthy_resolver.inspection.sources import ReadingOptions

    reading = ReadingOptions(claimed=image.claimed)
    try:
        async with open_target(_pinned(target, image), image.claimed or image.configured, access, reading) as opened:
            found = await asyncio.to_thread(inspect_opened, opened)
    except InspectionError as error:
        return uninspected(error)
    return found if found != msgspec.structs.replace(Inspection(0), engine=found.engine) else None


def _pinned(target: Target, image: PlatformImage) -> Target:
    """The very image that was chosen, should the tag move meanwhile."""
    if isinstance(target, oci.Reference):
        return replace(target, digest=parse_digest(image.digest))
    return target
