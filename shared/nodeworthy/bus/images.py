"""Bucket ``images``: what registries said, shared by all resolvers; a cache, whose loss costs requests only."""

from nodeworthy.bus.records import Message
from nodeworthy.images import ImageKnowledge
from nodeworthy.requirements import Inspection


class ImageRecord(Message, frozen=True, kw_only=True):
    """Bucket ``images``, key ``sha256-<hex>``: what is known of an image, whatever it is called."""

    knowledge: ImageKnowledge
    looked: int
    """Unix time in seconds when the registry was asked; artifacts can be attached later."""


class InspectionRecord(Message, frozen=True, kw_only=True):
    """Bucket ``images``, key ``scan-<hex>``: what the files of an image say, without the list of its libraries."""

    digest: str
    """Of the manifest."""
    inspection: Inspection
    looked: int
    """Unix time in seconds when the files were read."""
    claimed: str = ""
    """The platform that an index says, where the image's config says none."""


class TagRecord(Message, frozen=True, kw_only=True):
    """Bucket ``images``, key ``tag-<hex>``: what a reference resolved to, for a short time."""

    reference: str
    digest: str
    looked: int


class TagLostPlatforms(Message, frozen=True, kw_only=True):
    """A tag moved to another image, which lacks a platform that the one before had."""

    reference: str
    before: str
    """The digest that the tag had."""
    after: str
    lost: tuple[str, ...]
    """As ``linux/arm64``."""
    left: tuple[str, ...] = ()
    """The platforms that the new image has."""
    looked: int
    """Unix time in seconds when the registry was asked."""
