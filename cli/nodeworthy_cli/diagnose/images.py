"""Looking at the image of a failure: what it claims, what its files ask for, and the instruction at which it stopped."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import msgspec

from nodeworthy import verdicts
from nodeworthy.diagnosis.instructions import Instruction, recognize
from nodeworthy.diagnosis.kernel_log import Crash
from nodeworthy.errors import NodeworthyError
from nodeworthy.images import ImageKnowledge, with_inspections
from nodeworthy.platforms import Platform
from nodeworthy.requirements import Inspection
from nodeworthy.verdicts import NodeFacts, Verdict
from nodeworthy_cli.checking import hint_at_disk
from nodeworthy_cli.diagnose.locating import Site, find_core_site, find_crash_site
from nodeworthy_cli.diagnose.stops import Stops, bytes_of, decode, recognize_stop
from nodeworthy_cli.inspect.progress import progress_bar
from nodeworthy_resolver import oci
from nodeworthy_resolver.inspection.elf import Elf
from nodeworthy_resolver.inspection.opening import examine_opened, open_target
from nodeworthy_resolver.inspection.sources import OpenedImage, ReadingOptions
from nodeworthy_resolver.inspection.targets import RootFolder, SingleFile, parse_target
from nodeworthy_resolver.oci.access import RegistryAccess


class ImageSubject(NamedTuple):
    """The image to look at."""

    name: str
    entrypoint: tuple[str, ...] = ()
    """What the pod executes in place of what the image's config says; empty: the config's."""


@dataclass(frozen=True)
class ImageFindings:
    """What was found of an image."""

    platform: Platform | None = None
    """Of the image that the node would take; else of the first one."""
    platforms: tuple[Platform, ...] = ()
    """All that are offered."""
    inspection: Inspection | None = None
    verdict: Verdict | None = None
    instruction: Instruction | None = None
    line: str = ""
    """The line of the node's own log that led to the instruction."""
    notices: tuple[str, ...] = ()
    error: NodeworthyError | None = None
    """Why it could not be looked at."""


def look_at_image(subject: ImageSubject, node: NodeFacts | None, access: RegistryAccess, stops: Stops) -> ImageFindings:
    """Everything that can be found out of an image; what fails is told and hides nothing else."""
    return asyncio.run(_look(subject, node, access, stops))


async def _look(subject: ImageSubject, node: NodeFacts | None, access: RegistryAccess, stops: Stops) -> ImageFindings:
    knowledge: ImageKnowledge | None = None
    found = ImageFindings()
    try:
        target = parse_target(subject.name)
        if not isinstance(target, RootFolder | SingleFile):
            knowledge = await oci.look_up(target, (node.platforms if node else ()) or None, access)
            offered = tuple(one.platform for one in knowledge.images if one.platform is not None)
            found = ImageFindings(platform=_choose(knowledge, node, offered), platforms=offered)
    except NodeworthyError as error:
        return ImageFindings(error=hint_at_disk(subject.name, error))
    try:
        with progress_bar(f"reading {target}") as progress:
            reading = ReadingOptions(progress=progress)
            async with open_target(target, found.platform, access, reading, subject.entrypoint) as opened:
                found = _inspect(opened, found, stops)
    except NodeworthyError as error:
        if knowledge is None:
            return ImageFindings(error=error)
        found = replace(found, notices=(f"the image's files were not looked at: {error}",))
    if knowledge is None or node is None:
        return found
    return replace(found, verdict=_judge(knowledge, node, found.inspection))


def _choose(knowledge: ImageKnowledge, node: NodeFacts | None, offered: Sequence[Platform]) -> Platform | None:
    if node is not None:
        chosen = verdicts.choose_image(knowledge, node).image
        if chosen is not None:
            return chosen.platform
    return offered[0] if offered else None


def _judge(knowledge: ImageKnowledge, node: NodeFacts, inspection: Inspection | None) -> Verdict | None:
    chosen = verdicts.choose_image(knowledge, node).image
    if inspection is not None and chosen is not None:
        knowledge = with_inspections(knowledge, {chosen.digest: inspection})
    try:
        return verdicts.judge(knowledge, node)
    except NodeworthyError:
        return None  # no compatibility set is left: what is declared tells nothing of this failure


def _inspect(opened: OpenedImage, found: ImageFindings, stops: Stops) -> ImageFindings:
    inspection, subject = examine_opened(opened)
    platform = found.platform or opened.config.platform
    found = replace(found, inspection=inspection, platform=platform)
    crash = next((one for one in stops.events if isinstance(one, Crash) and one.file), None)
    if stops.core is None and crash is None and (not stops.nearby or bytes_of(stops)[0]):
        return replace(found, instruction=recognize_stop(stops, inspection.machine))
    elves = subject.elves
    site = find_core_site(opened.tree, elves, stops.core) if stops.core is not None else None
    if site is None and crash is not None:
        site = find_crash_site(opened.tree, elves, crash)
    if stops.core is None and crash is None:
        return _inspect_nearby(opened, found, elves, stops)
    if site is None:
        file = stops.core.file if stops.core is not None else crash.file if crash is not None else ""
        notice = f"no file of the image is surely the {file or 'memory'} in which it stopped"
        outside = Instruction(stops.machine, b"", file=file)
        instruction = recognize_stop(stops, inspection.machine) or outside
        return replace(found, notices=(*found.notices, notice), instruction=instruction)
    return replace(found, instruction=_at(site, stops))


def _inspect_nearby(opened: OpenedImage, found: ImageFindings, elves: Mapping[str, Elf], stops: Stops) -> ImageFindings:
    """The newest line of the node's own log that is of a file of the image."""
    for crash in stops.nearby:
        site = find_crash_site(opened.tree, elves, crash)
        if site is not None:
            return replace(found, instruction=_at(site, Stops((crash,))), line=crash.line)
    return found


def _at(site: Site, stops: Stops) -> Instruction | None:
    code = bytes_of(stops)[0] or site.code
    if not code:
        return None
    known = recognize(code, site.machine, source=f"the image's file, found by its {site.how}")
    return decode(msgspec.structs.replace(known, file=site.path, offset=site.offset))
