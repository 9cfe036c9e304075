"""Digests of OCI content: parsing, computing, comparing, and the tag that stands in for a missing referrers API."""

import hashlib
import re
from typing import NewType

Digest = NewType("Digest", str)
"""``algorithm:hex``, checked: safe as a file name and as a part of a URL."""

_HEX_DIGITS = {"sha256": 64, "sha512": 128}
"""The algorithms that the image specification registers for everybody (descriptor.md, "Registered algorithms")."""

_MAX_TAG_ALGORITHM, _MAX_TAG_HEX = 32, 64
"""Where the distribution specification cuts the fallback tag ("Referrers Tag Schema")."""


def parse_digest(text: str) -> Digest | None:
    """The digest that a text is, as ``sha256:e3b0...``; ``None`` for anything else, upper-case hex included."""
    algorithm, _, digits = text.partition(":")
    length = _HEX_DIGITS.get(algorithm)
    if length is None or not re.fullmatch(f"[0-9a-f]{{{length}}}", digits):
        return None
    return Digest(text)


def compute(data: bytes, algorithm: str = "sha256") -> Digest:
    """The digest of some bytes."""
    return Digest(f"{algorithm}:{hashlib.new(algorithm, data).hexdigest()}")


def is_of(digest: Digest, data: bytes) -> bool:
    """Whether the bytes are the ones that the digest names."""
    return compute(data, digest.partition(":")[0]) == digest


def fallback_tag(subject: Digest) -> str:
    """The tag under which clients list the referrers of ``subject`` on a registry without the referrers API.

    ``sha256:abc...`` becomes ``sha256-abc...`` (distribution specification, "Referrers Tag Schema").
    """
    algorithm, _, digits = subject.partition(":")
    tag = f"{algorithm[:_MAX_TAG_ALGORITHM]}-{digits[:_MAX_TAG_HEX]}"
    return re.sub(r"[^A-Za-z0-9_.-]", "-", tag)


def short(digest: str) -> str:
    """A digest as a person reads it in a sentence."""
    return digest[:19]
