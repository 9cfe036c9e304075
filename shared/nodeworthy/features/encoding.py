"""The canonical bytes of a feature set, and the digest that names it.

The same content has the same bytes in every process, on every Python and in every other implementation:

- MessagePack in its shortest forms; strings and counts only; every string is valid UTF-8 (U+FFFD stands for what was not).
- The set is a map with the keys ``attributes``, ``flags``, ``instances`` and ``unobserved``, those that are there, in this
  order.
- ``attributes`` is a map, ``flags`` and ``unobserved`` are arrays, sorted by the UTF-8 bytes of the names.
- ``instances`` is an array of pairs (attributes, count): runs of equal neighbours are folded, their order is kept, so that
  256 equal virtual functions cost as much as one.
- ``unobserved`` is there only where it holds a name, and holds none that is also a flag or an attribute.

The digest is the SHA-256 of these bytes, written ``sha256:<hex>``.
"""

import hashlib
from collections.abc import Iterable
from itertools import groupby
from typing import Annotated, TypeAlias

import msgspec

from nodeworthy.errors import EncodingError
from nodeworthy.features.model import FeatureSet, Instance, clean_text

MAX_SET_BYTES = 512 * 1024
"""The largest canonical form of a set: half of NATS's default message size; kernel.config, the largest known, has 41 kB."""

MAX_INSTANCES = 100_000
"""The most instances that a set may unfold to, so that a few forged bytes cannot claim a billion devices."""

_Run: TypeAlias = tuple[dict[str, str], Annotated[int, msgspec.Meta(ge=1)]]


class _Wire(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    # The fields stand in the order of their names: that is their order in the bytes.
    attributes: dict[str, str] | None = None
    flags: list[str] | None = None
    instances: list[_Run] | None = None
    unobserved: list[str] | None = None


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Wire)


def encode(content: FeatureSet) -> bytes:
    """The canonical bytes of a set.

    Raises:
        EncodingError: the bytes would pass :data:`MAX_SET_BYTES`, or there are more than :data:`MAX_INSTANCES` instances.
    """
    if content.instances is not None and len(content.instances) > MAX_INSTANCES:
        raise EncodingError(
            f"a feature set has {len(content.instances):,} instances", why=f"the limit is {MAX_INSTANCES:,}"
        )
    wire = _Wire(
        attributes=None if content.attributes is None else _sorted_attributes(content.attributes),
        flags=None if content.flags is None else sorted({clean_text(flag) for flag in content.flags}),
        instances=None if content.instances is None else _fold(content.instances),
        unobserved=_sorted_unobserved(content) or None,
    )
    data = _encoder.encode(wire)
    if len(data) > MAX_SET_BYTES:
        raise EncodingError(f"a feature set has {len(data):,} bytes", why=f"the limit is {MAX_SET_BYTES:,}")
    return data


def decode(data: bytes) -> FeatureSet:
    """The set of canonical bytes; the inverse of :func:`encode`.

    Raises:
        EncodingError: the bytes are not the canonical form of any set.
    """
    if len(data) > MAX_SET_BYTES:
        raise EncodingError(f"a feature set has {len(data):,} bytes", why=f"the limit is {MAX_SET_BYTES:,}")
    try:
        wire = _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise EncodingError("these bytes are no feature set", why=str(error)) from error
    if sum(count for _, count in wire.instances or ()) > MAX_INSTANCES:
        raise EncodingError("a feature set unfolds to too many instances", why=f"the limit is {MAX_INSTANCES:,}")
    try:
        content = FeatureSet(
            flags=None if wire.flags is None else frozenset(wire.flags),
            attributes=wire.attributes,
            instances=None if wire.instances is None else _unfold(wire.instances),
            unobserved=frozenset(wire.unobserved or ()),
        )
    except ValueError as error:
        raise EncodingError("a feature set contradicts itself", why=str(error)) from error
    if encode(content) != data:
        raise EncodingError("a feature set is not in canonical form", why="encoding its content gives other bytes")
    return content


def digest(data: bytes) -> str:
    """The name of a set with these canonical bytes: ``sha256:`` and 64 hexadecimal digits."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _sorted_attributes(attributes: Instance) -> dict[str, str]:
    # Python compares text by code point, which for valid Unicode is the order of the UTF-8 bytes.
    return dict(sorted((clean_text(name), clean_text(value)) for name, value in attributes.items()))


def _sorted_unobserved(content: FeatureSet) -> list[str]:
    if not content.unobserved:
        return []
    # Two names that are no Unicode may become one; what is observed counts.
    return sorted(set(map(clean_text, content.unobserved)) - set(map(clean_text, content.names())))


def _fold(instances: Iterable[Instance]) -> list[_Run]:
    return [(attributes, sum(1 for _ in run)) for attributes, run in groupby(map(_sorted_attributes, instances))]


def _unfold(runs: Iterable[_Run]) -> tuple[Instance, ...]:
    return tuple(attributes for attributes, count in runs for _ in range(count))
