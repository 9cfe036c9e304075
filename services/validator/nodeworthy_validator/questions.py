"""What a request asks, read from it and checked before anybody is asked: images, nodes, platform, specification."""

from typing import NamedTuple

from nodeworthy import platforms, verdicts
from nodeworthy.bus.names import MAX_TOKEN_BYTES
from nodeworthy.bus.requests import MAX_IMAGES, Inspect, Undeclared, ValidateRequest
from nodeworthy.errors import UsageError
from nodeworthy.platforms import Platform
from nodeworthy.verdicts import Declaration, Wishes
from nodeworthy_validator.cursors import Cursor, parse_cursor
from nodeworthy_validator.selectors import Selector, parse_selector
from nodeworthy_validator.specifications import Specifications

MAX_REFERENCE = 1000
"""Letters of an image's name: a host, a repository of 255 letters, a tag of 128 and a digest of 71 (distribution-spec)."""


class Asked(NamedTuple):
    """What a request asks."""

    images: tuple[str, ...]
    nodes: tuple[str, ...]
    """None: all."""
    selector: Selector
    platform: Platform | None
    """To be taken from every index, in place of each node's own."""
    wishes: Wishes
    override: Declaration | None
    """A specification in place of those that are attached."""
    cursor: Cursor
    inspect: Inspect


def read_asked(request: ValidateRequest, specifications: Specifications) -> Asked:
    """What a request asks.

    Raises:
        UsageError: it asks for what cannot be.
        DocumentError: its specification cannot be read.
    """
    asked = Asked(
        images=read_images(request),
        nodes=read_nodes(request),
        selector=parse_selector(request.selector),
        platform=platforms.parse(request.platform) if request.platform else None,
        wishes=Wishes(request.tags, undeclared_is_compatible=request.undeclared is Undeclared.COMPATIBLE),
        override=specifications.read(request.spec) if request.spec else None,
        cursor=parse_cursor(request.cursor),
        inspect=request.inspect,
    )
    if asked.override is not None:
        verdicts.select_sets(asked.override.spec, request.tags)  # that no set has the tag is said before all else
    return asked


def read_images(request: ValidateRequest) -> tuple[str, ...]:
    """The images of a request.

    Raises:
        UsageError: there is none, or too many.
    """
    images = (*((request.image,) if request.image else ()), *request.images)
    if not images:
        raise UsageError("no image was named", todo='name one: {"image": "docker.io/library/debian:12"}')
    if len(images) > MAX_IMAGES:
        raise UsageError(f"{len(images)} images were named", why=f"one request takes {MAX_IMAGES}", todo="ask in parts")
    long = next((image for image in images if len(image) > MAX_REFERENCE), None)
    if long is not None:
        raise UsageError(f"{long[:60]!r}… is no image", why=f"it has {len(long):,} letters, over {MAX_REFERENCE:,}")
    return images


def read_nodes(request: ValidateRequest) -> tuple[str, ...]:
    """The nodes that a request names.

    Raises:
        UsageError: one of them can be no name.
    """
    nodes = (*request.nodes, *((request.node,) if request.node else ()))
    strange = next((node for node in nodes if not 0 < len(node.encode()) <= MAX_TOKEN_BYTES), None)
    if strange is not None:
        raise UsageError(f"{strange[:60]!r} is no name of a node", why=f"names have 1 to {MAX_TOKEN_BYTES} bytes")
    return nodes
