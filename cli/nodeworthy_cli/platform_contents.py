"""Whether the programs in an image are for the platform that it says: what is inside runs, whatever a config claims."""

import asyncio
from dataclasses import replace

from nodeworthy.errors import NodeworthyError
from nodeworthy.images import PlatformImage
from nodeworthy.requirements import OTHER_MACHINE
from nodeworthy_cli.platform_reports import Content, Standing
from nodeworthy_resolver import oci
from nodeworthy_resolver.inspection.elf.machines import machine_name
from nodeworthy_resolver.inspection.inspecting import make_subject
from nodeworthy_resolver.inspection.readings.machines import read_machines
from nodeworthy_resolver.inspection.sources import OpenedImage, open_image
from nodeworthy_resolver.inspection.subject import Subject
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.reference import AnyReference, LayoutReference, Reference

_LINUX = "linux"


async def look_inside(reference: AnyReference, image: PlatformImage, access: oci.RegistryAccess) -> Content:
    """How the programs of one image of a reference fare; its layers are read for that, all of them."""
    named, platform = reference, image.claimed
    if isinstance(reference, Reference | LayoutReference):
        named, platform = replace(reference, digest=Digest(image.digest)), None
    try:
        async with open_image(named, platform, access) as opened:
            return await asyncio.to_thread(judge_content, opened)
    except NodeworthyError as error:
        return Content(Standing.UNKNOWN, f"its layers could not be read: {error}")


def judge_content(opened: OpenedImage) -> Content:
    """The program that is started decides, or the interpreter of a script; where none is found, all programs together."""
    subject, _ = make_subject(opened.tree, opened.config)
    mismatch = next((one for one in read_machines(subject).defects if one.code == OTHER_MACHINE), None)
    if mismatch is not None:
        return Content(Standing.CONTRADICTS, mismatch.text)
    if any(loaded.path in subject.elves for loaded in subject.start.loaded):
        return Content(Standing.AGREES)
    return _judge_all(subject, opened)


def _judge_all(subject: Subject, opened: OpenedImage) -> Content:
    platform = opened.config.platform
    programs = {path: elf for path, elf in subject.elves.items() if elf.is_program}
    if platform is not None and any(elf.architecture == platform.architecture for elf in programs.values()):
        return Content(Standing.AGREES)
    if platform is not None and platform.os != _LINUX:
        return Content(Standing.UNKNOWN, f"programs of {platform.os} are not looked at")
    if unread := opened.unexplored():
        return Content(Standing.UNKNOWN, f"{unread[0].what}: {unread[0].why}")
    for path, elf in programs.items():
        name = machine_name(elf.machine, elf.architecture)
        return Content(
            Standing.CONTRADICTS, f"the image says {platform}, and no program in it is: {path} is for {name}"
        )
    return Content(Standing.AGREES)  # without a program nothing in it is for a machine
