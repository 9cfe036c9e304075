"""What an image offers, held against the platforms that are wanted of it; pure.

At the level of the config: the index claims a platform for each child, and the child's own config says what it was built
as. At the level of the content, where somebody looked, also what the programs inside are for.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from nodeworthy import platforms
from nodeworthy.images import ImageKnowledge, PlatformImage
from nodeworthy.platforms import Platform

CONFIG_LEVEL, CONTENT_LEVEL = "config", "content"
"""How deep it was looked: no layer was read; or the layers of every image whose config is right."""


class Standing(StrEnum):
    """Whether an image is what its platform says."""

    AGREES = "agrees"
    CONTRADICTS = "contradicts"
    UNKNOWN = "unknown"
    """It could not be read, or says nothing."""
    UNREAD = "unread"
    """It was not looked at, since nobody wanted it."""
    MISSING = "missing"
    """Of what is wanted: no image is offered for it."""


class Content(NamedTuple):
    """What the programs inside an image say of its platform."""

    standing: Standing
    reason: str = ""


class Offer(msgspec.Struct, frozen=True):
    """One image of a reference."""

    platform: str
    """As a node chooses by it: what the index claims, else what the config says; empty where neither does."""
    digest: str
    standing: Standing
    reason: str = ""


class Wanted(msgspec.Struct, frozen=True):
    """One platform that was asked for."""

    platform: str
    standing: Standing
    reason: str = ""


class ImageReport(msgspec.Struct, frozen=True):
    """The answer for one reference."""

    image: str
    digest: str
    answer: str
    """yes, no or unknown."""
    offers: tuple[Offer, ...]
    wanted: tuple[Wanted, ...] = ()
    notices: tuple[str, ...] = ()
    named_by: tuple[str, ...] = ()
    """Lines of a Containerfile, as ``Containerfile:3``."""
    level: str = CONFIG_LEVEL


def make_report(
    name: str,
    knowledge: ImageKnowledge,
    wanted: Sequence[Platform],
    named_by: Sequence[str] = (),
    contents: Mapping[str, Content] | None = None,
) -> ImageReport:
    """The report on one reference; without wanted platforms every image of it must be what it says.

    Args:
        name: the reference as it was given.
        knowledge: what a registry said of it.
        wanted: the platforms that are asked for.
        named_by: lines of a Containerfile.
        contents: what the programs inside say, by the digest of the image; ``None``: nobody looked.
    """
    offers = tuple(_offer(image, (contents or {}).get(image.digest)) for image in knowledge.images)
    asked = tuple(_hold(platform, knowledge.images, offers) for platform in wanted)
    standings = [one.standing for one in (asked or offers)]
    return ImageReport(
        image=name,
        digest=knowledge.digest,
        answer=_combine(standings),
        offers=offers,
        wanted=asked,
        notices=knowledge.notices,
        named_by=tuple(named_by),
        level=CONFIG_LEVEL if contents is None else CONTENT_LEVEL,
    )


def images_to_look_at(knowledge: ImageKnowledge, wanted: Sequence[Platform]) -> tuple[PlatformImage, ...]:
    """The images whose content decides: the wanted ones of which the config is right, each digest once."""
    found = {
        image.digest: image
        for image in knowledge.images
        if _offer(image).standing is Standing.AGREES
        and (not wanted or any(platforms.covers(one, image.claimed or image.configured) for one in wanted))  # type: ignore[arg-type] # it agrees, so one of them is there
    }
    return tuple(found.values())


def _combine(standings: Sequence[Standing]) -> str:
    if {Standing.CONTRADICTS, Standing.MISSING} & set(standings):
        return "no"
    is_known = bool(standings) and all(one is Standing.AGREES for one in standings)
    return "yes" if is_known else "unknown"


def _offer(image: PlatformImage, content: Content | None = None) -> Offer:
    claimed, configured = image.claimed, image.configured
    platform = claimed or configured
    name = str(platform) if platform else ""
    if claimed and configured and platforms.contradict(claimed, configured):
        return Offer(
            name, image.digest, Standing.CONTRADICTS, f"the index says {claimed}, the image's config {configured}"
        )
    if configured:
        return Offer(name, image.digest, *(content or (Standing.AGREES,)))
    if image.search is None and not image.notices:
        return Offer(name, image.digest, Standing.UNREAD)
    return Offer(name, image.digest, Standing.UNKNOWN, "; ".join(image.notices) or "it says no platform")


def _hold(wanted: Platform, images: Sequence[PlatformImage], offers: Sequence[Offer]) -> Wanted:
    """How one wanted platform fares: by the images of just this platform, one that is right is enough."""
    fitting = [
        offer
        for image, offer in zip(images, offers, strict=True)
        if (platform := image.claimed or image.configured) and platforms.covers(wanted, platform)
    ]
    for standing in (Standing.CONTRADICTS, Standing.AGREES, Standing.UNKNOWN, Standing.UNREAD):
        found = next((offer for offer in fitting if offer.standing is standing), None)
        if found is not None:
            return Wanted(str(wanted), standing, found.reason)
    offered = ", ".join(dict.fromkeys(offer.platform for offer in offers if offer.platform)) or "no platform"
    nameless = next((offer.reason for offer in offers if not offer.platform), None)
    if nameless is not None:
        return Wanted(str(wanted), Standing.UNKNOWN, nameless)
    return Wanted(str(wanted), Standing.MISSING, f"it is offered for {offered}")
