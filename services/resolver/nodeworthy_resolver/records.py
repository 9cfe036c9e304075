"""What the resolvers keep for each other in bucket ``images``, beside the records that the bus names."""

from nodeworthy.bus.records import Message
from nodeworthy.bus.requests import ErrorReply
from nodeworthy.images import ArtifactSearch


class SearchRecord(Message, frozen=True, kw_only=True):
    """Bucket ``images``, key ``tag-<hex>`` of ``host/repository@digest``: the artifact attached to a digest *there*.

    By repository, since the same bytes may lie in several: whoever may push to one of them attaches what he likes, and that
    must not become what another repository declares.
    """

    reference: str
    """``host/repository@digest``"""
    search: ArtifactSearch
    looked: int
    """Unix time in seconds when the registry was asked."""


class TurnRecord(Message, frozen=True, kw_only=True):
    """Bucket ``images``, key ``tag-<hex>`` of ``turn QUESTION``, for seconds: a resolver asks a registry, or just did."""

    question: str
    is_over: bool = False
    failure: ErrorReply | None = None
    """What the registry said in the place of an image; for a moment nobody needs to ask it for the same words."""
    looked: int = 0
    """Unix time in seconds of the failure."""
