"""Looking at one image's files, with a bar for people who wait."""

import os
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

import msgspec

from nodeworthy import errors, platforms
from nodeworthy.platforms import Platform
from nodeworthy.requirements import Inspection
from nodeworthy_cli.checking import hint_at_disk
from nodeworthy_cli.inspect.extraction import extract
from nodeworthy_cli.inspect.progress import progress_bar
from nodeworthy_resolver.inspection.limits import DEFAULT_LIMITS, InspectingLimits
from nodeworthy_resolver.inspection.opening import examine_opened, open_target
from nodeworthy_resolver.inspection.sources import OpenedImage, ReadingOptions
from nodeworthy_resolver.inspection.targets import Target
from nodeworthy_resolver.oci import RegistryAccess


class Report(msgspec.Struct, frozen=True, omit_defaults=True):
    """One image's inspection, as ``-o json`` prints it."""

    image: str
    digest: str
    platform: str
    inspection: Inspection


class Job(NamedTuple):
    """How images are looked at."""

    platform: Platform | None
    """``None``: this machine's, or the only one."""
    access: RegistryAccess
    entrypoint: tuple[str, ...] = ()
    """In place of what the config says."""
    limits: InspectingLimits = DEFAULT_LIMITS
    folder: Path | None = None
    """Where what runs is written out; ``None``: nowhere."""


async def look(target: Target, job: Job) -> Report:
    """Look at one image's files, and write out what it runs if the job says so.

    Raises:
        NodeworthyError: it is not there, or its files cannot be read.
    """
    try:
        async with AsyncExitStack() as stack:
            opened = await _open(target, job, stack)
            inspection, subject = examine_opened(opened, job.limits)
            if job.folder is not None:
                extract(opened.tree, subject.start, subject.elves, job.folder)
            platform = opened.config.platform
            return Report(str(target), opened.digest, str(platform) if platform else "", inspection)
    except errors.NodeworthyError as error:
        hint_at_disk(str(target), error)
        raise


async def _open(target: Target, job: Job, stack: AsyncExitStack) -> OpenedImage:
    """Of an index this machine's image; where it has none, its only one."""
    reading = ReadingOptions(progress=stack.enter_context(progress_bar(f"reading {target}")))
    own = platforms.normalize("linux", os.uname().machine)
    try:
        wanted = job.platform or own
        return await stack.enter_async_context(open_target(target, wanted, job.access, reading, job.entrypoint))
    except errors.ImageNotFoundError:
        if job.platform is not None:
            raise
    return await stack.enter_async_context(open_target(target, None, job.access, reading, job.entrypoint))
