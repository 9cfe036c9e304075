"""Platforms of images and nodes: parsing, normal form, and which of an index's children a node takes.

The names are Go's (``amd64``, ``arm64``), as the OCI image specification asks for (image-index.md, "platform"); the normal
form and the order in which a node prefers children follow containerd (package platforms), which is what the kubelet's
runtimes do. A node's architecture as ``uname -m`` says it (``x86_64``, ``aarch64``) is accepted everywhere.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from nodeworthy.errors import UsageError

_ARCHITECTURES = {
    "x86_64": ("amd64", ""),
    "x86-64": ("amd64", ""),
    "i386": ("386", ""),
    "i486": ("386", ""),
    "i586": ("386", ""),
    "i686": ("386", ""),
    "aarch64": ("arm64", ""),
    "armhf": ("arm", "v7"),
    "armel": ("arm", "v6"),
    "armv5l": ("arm", "v5"),
    "armv6l": ("arm", "v6"),
    "armv7l": ("arm", "v7"),
    "armv8l": ("arm", "v8"),
    "loongarch64": ("loong64", ""),
}
"""``uname -m`` and Debian's names to Go's. Names that both spell alike (ppc64le, s390x, riscv64) are not listed."""

_DEFAULT_VARIANTS = {("amd64", "v1"): "", ("arm64", "8"): "", ("arm64", "v8"): "", ("arm", ""): "v7"}
"""A variant that every machine of the architecture has is left out; arm without one means v7, as in containerd."""

_PART = re.compile(r"[A-Za-z0-9_.-]+")


class Platform(msgspec.Struct, frozen=True, omit_defaults=True):
    """Operating system, architecture and what narrows them, in normal form."""

    os: str
    architecture: str
    variant: str = ""
    os_version: str = ""
    """Windows build, as ``10.0.20348.2113``."""

    def __str__(self) -> str:
        text = "/".join(part for part in (self.os, self.architecture, self.variant) if part)
        return f"{text}:{self.os_version}" if self.os_version else text


def normalize(os: str, architecture: str, variant: str = "", os_version: str = "") -> Platform:
    """The platform in normal form: lower case, Go's names, no variant that says nothing."""
    os, architecture, variant = os.strip().lower(), architecture.strip().lower(), variant.strip().lower()
    if os == "macos":
        os = "darwin"
    renamed, implied = _ARCHITECTURES.get(architecture, (architecture, ""))
    variant = variant or implied
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", variant):
        variant = "v" + variant
    variant = _DEFAULT_VARIANTS.get((renamed, variant), variant)
    return Platform(os, renamed, variant, os_version.strip())


def parse(text: str) -> Platform:
    """The platform of ``os[/architecture[/variant]][:os_version]``, as ``linux/arm64/v8``.

    Raises:
        UsageError: the text has another shape; a platform without an architecture is no answer to "where does it run".
    """
    name, _, os_version = text.partition(":")
    parts = name.split("/")
    if not 2 <= len(parts) <= 3 or not all(_PART.fullmatch(part) for part in parts):  # noqa: PLR2004 # shape above
        raise UsageError(
            f"{text!r} is not a platform", why="it is written os/architecture[/variant]", todo="for example linux/arm64"
        )
    os, architecture, variant = [*parts, ""][:3]
    return normalize(os, architecture, variant, os_version)


def _arm_variant(variant: str, default: tuple[int, int]) -> tuple[int, int] | None:
    if not variant:
        return default
    found = re.fullmatch(r"v([0-9]+)(?:\.([0-9]+))?", variant)
    return (int(found[1]), int(found[2] or 0)) if found else None


def preference(node: Platform, image: Platform) -> int | None:
    """How well an image's platform fits a node's: 0 is best, ``None`` does not run there.

    A higher variant does not run on a lower one (``amd64/v3`` on ``amd64``, ``arm/v7`` on ``arm/v6``, ``arm64/v9`` on
    ``arm64``); of the lower ones the nearest is best. 32-bit children of 64-bit nodes come after every 64-bit one. Whether
    the node's kernel really runs 32-bit programs is a question of its facts, not of names.
    """
    if node.os != image.os:
        return None
    if node.architecture == image.architecture:
        return _same_architecture(node, image)
    if (node.architecture, image.architecture) in {("amd64", "386"), ("arm64", "arm")}:
        lower = _rank(image)
        # v8 is the highest 32-bit variant; the constant only has to be larger than any 64-bit preference.
        return None if lower is None else 10_000 - lower
    return None


def _same_architecture(node: Platform, image: Platform) -> int | None:
    if node.architecture not in {"amd64", "arm64", "arm"}:
        return 0 if node.variant == image.variant or not image.variant else None
    have, want = _rank(node), _rank(image)
    if have is None or want is None:
        return 0 if node.variant == image.variant else None
    return have - want if have >= want else None


def _rank(platform: Platform) -> int | None:
    defaults = {"amd64": (1, 0), "arm64": (8, 0), "arm": (7, 0)}
    found = _arm_variant(platform.variant, defaults.get(platform.architecture, (0, 0)))
    if found is None:
        return None
    major, minor = found
    if platform.architecture == "arm64" and major >= 9:  # noqa: PLR2004 # Armv9.n is a superset of Armv8.(n+5)
        minor += 5
        major = 8
    return major * 100 + minor


_Item = TypeVar("_Item")


def choose(node: Platform, images: Iterable[tuple[Platform, _Item]]) -> _Item | None:
    """The child that a node takes from an index: the best preference, and of equals the first; ``None`` if none fits."""
    best: tuple[int, _Item] | None = None
    for platform, item in images:
        rank = preference(node, platform)
        if rank is not None and (best is None or rank < best[0]):
            best = (rank, item)
    return best[1] if best else None


def names(platforms: Sequence[Platform]) -> str:
    """The platforms as a person lists them."""
    return ", ".join(map(str, platforms)) or "none"
