"""Opening what can be inspected, and inspecting what was opened."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import msgspec

from nodeworthy.platforms import Platform
from nodeworthy.requirements import Inspection
from nodeworthy_resolver.inspection.inspecting import inspect_subject, make_subject
from nodeworthy_resolver.inspection.legible import make_legible
from nodeworthy_resolver.inspection.limits import DEFAULT_LIMITS, InspectingLimits
from nodeworthy_resolver.inspection.sources import OpenedImage, ReadingOptions, open_file, open_folder, open_image
from nodeworthy_resolver.inspection.subject import Subject
from nodeworthy_resolver.inspection.targets import RootFolder, SingleFile, Target
from nodeworthy_resolver.inspection.tree import Kind, Tree, find_file
from nodeworthy_resolver.oci import RegistryAccess

_SHELLS = ("/bin/sh", "/usr/bin/sh", "/bin/bash")


@asynccontextmanager
async def open_target(
    target: Target,
    platform: Platform | None = None,
    access: RegistryAccess | None = None,
    reading: ReadingOptions | None = None,
    entrypoint: tuple[str, ...] = (),
) -> AsyncIterator[OpenedImage]:
    """Its files, for the time of the context; ``entrypoint`` is executed in place of what the image's config says.

    Raises:
        NodeworthyError: it is not there, or its files cannot be read.
    """
    if isinstance(target, RootFolder | SingleFile):
        opened = open_folder(target.folder) if isinstance(target, RootFolder) else open_file(target.file)
        yield _with_entrypoint(opened, entrypoint or _assumed(opened))
        return
    async with open_image(target, platform, access, reading) as found:
        yield _with_entrypoint(found, entrypoint)


def inspect_opened(opened: OpenedImage, limits: InspectingLimits = DEFAULT_LIMITS) -> Inspection:
    """What the files of an opened image say; takes up to minutes of a processor."""
    return examine_opened(opened, limits)[0]


def examine_opened(opened: OpenedImage, limits: InspectingLimits = DEFAULT_LIMITS) -> tuple[Inspection, Subject]:
    """As :func:`inspect_opened`, with what was prepared for it: its ELF files, and what runs."""
    subject, unread = make_subject(opened.tree, opened.config, limits)
    found = inspect_subject(subject, unread)
    whole = msgspec.structs.replace(found, unexplored=(*opened.unexplored(), *found.unexplored))
    return make_legible(whole), subject


def _with_entrypoint(opened: OpenedImage, entrypoint: tuple[str, ...]) -> OpenedImage:
    if not entrypoint:
        return opened
    return replace(opened, config=replace(opened.config, entrypoint=entrypoint, command=()))


def _assumed(opened: OpenedImage) -> tuple[str, ...]:
    """What is executed in a bare root folder, of which nobody says it: its shell, else its only program."""
    if opened.config.entrypoint:
        return opened.config.entrypoint
    shell = next((path for path in _SHELLS if find_file(opened.tree, path)), None)
    if shell:
        return (shell,)
    programs = _programs(opened.tree)
    return (programs[0],) if len(programs) == 1 else ()


def _programs(tree: Tree) -> list[str]:
    """The executable files of a small tree; none of one that holds more than a few, where nobody can say which is meant."""
    found: list[str] = []
    for path, entry in tree.walk():
        if entry.kind is Kind.FILE and entry.mode & 0o111 and ".so" not in path:
            found.append(path)
            if len(found) > 1:
                return []
    return found
