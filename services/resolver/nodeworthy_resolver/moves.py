"""Telling everybody that a tag moved and no longer has a platform that it had: nodes that run it will not start it again."""

from collections.abc import Sequence

from nodeworthy.bus import payloads
from nodeworthy.bus.images import TagLostPlatforms
from nodeworthy.bus.store import Store
from nodeworthy.errors import BusError
from nodeworthy.images import ImageKnowledge, PlatformImage
from nodeworthy.processes import EventLog

_LOG = EventLog("resolver")


def lost_platforms(before: ImageKnowledge, after: ImageKnowledge) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The platforms that an image had and no longer has, and those that it has; both sorted.

    Nothing is lost as long as the new image has a child of which nobody said for which platform it is.
    """
    had, has = _platforms(before.images), _platforms(after.images)
    lost = set() if None in has else had - has - {None}
    return tuple(sorted(map(str, lost))), tuple(sorted(str(platform) for platform in has if platform))


def _platforms(images: Sequence[PlatformImage]) -> set[str | None]:
    return {str(platform) if (platform := image.claimed or image.configured) else None for image in images}


async def tell(store: Store, reference: str, before: ImageKnowledge, after: ImageKnowledge, looked: int) -> None:
    """Publish what a moved tag lost, if it lost something. It may be lost itself: a hint, and the log has it too."""
    lost, left = lost_platforms(before, after)
    if not lost:
        return
    said = TagLostPlatforms(
        reference=reference, before=before.digest, after=after.digest, lost=lost, left=left, looked=looked
    )
    _LOG.warning(
        "resolver.tag_lost_platforms", about=reference, reference=reference, lost=list(lost), digest=after.digest
    )
    try:
        await store.connection.publish(store.names.image_changes, payloads.encode(said))
    except BusError as error:
        _LOG.warning("resolver.event_not_sent", about=reference, reference=reference, error=error)
