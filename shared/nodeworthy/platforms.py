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
    "loongarch64": ("loong64", ""),
}
"""``uname -m`` and Debian's names to Go's. Names that both spell alike (ppc64le, s390x, riscv64) are not listed."""

_ARM_MACHINE = re.compile(r"arm(v[4-8])[a-z]*l")
"""``uname -m`` of 32-bit Arm kernels: ``armv5tel``, ``armv6l``, ``armv7l``; the last letter says little-endian."""

_DEFAULT_VARIANTS = {("amd64", "v1"): "", ("arm64", "8"): "", ("arm64", "v8"): "", ("arm", ""): "v7"}
"""A variant that every machine of the architecture has is left out; arm without one means v7, as in containerd."""

_PART = re.compile(r"[A-Za-z0-9_.-]+")
_SYSTEM = re.compile(r"([A-Za-z0-9_.-]+)\(([A-Za-z0-9_.-]*)\)")
"""The operating system with its version, as containerd and BuildKit write it: ``windows(10.0.20348)``."""

_WINDOWS_BUILD = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,5})(?:\.[0-9]{1,9})*")
_STABLE_BUILD = 20348
"""Windows Server 2022, from which on a host runs the builds from this one to its own; hosts before it run their own build
only (containerd, platform_windows_compat.go; Microsoft, "Windows container version compatibility")."""


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
    arm = _ARM_MACHINE.fullmatch(architecture)
    renamed, implied = ("arm", arm[1]) if arm else _ARCHITECTURES.get(architecture, (architecture, ""))
    variant = variant or implied
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", variant):
        variant = "v" + variant
    variant = _DEFAULT_VARIANTS.get((renamed, variant), variant)
    return Platform(os, renamed, variant, os_version.strip())


def parse(text: str) -> Platform:
    """The platform of ``os[/architecture[/variant]][:os_version]``, as ``linux/arm64/v8``, or ``windows(10.0.20348)/amd64``.

    Raises:
        UsageError: the text has another shape; a platform without an architecture is no answer to "where does it run".
    """
    name, _, os_version = text.partition(":")
    parts = name.split("/")
    if not os_version and (system := _SYSTEM.fullmatch(parts[0])):
        parts[0], os_version = system.groups()
    if not 2 <= len(parts) <= 3 or not all(_PART.fullmatch(part) for part in parts):  # noqa: PLR2004 # shape above
        raise UsageError(
            f"{text!r} is not a platform", why="it is written os/architecture[/variant]", todo="for example linux/arm64"
        )
    os, architecture, variant = [*parts, ""][:3]
    return normalize(os, architecture, variant, os_version)


def preference(node: Platform, image: Platform) -> int | None:
    """How well an image's platform fits a node's: 0 is best, ``None`` does not run there.

    A higher variant does not run on a lower one (``amd64/v3`` on ``amd64``, ``arm/v7`` on ``arm/v6``, ``arm64/v9`` on
    ``arm64``); of the lower ones the nearest is best. 32-bit children of 64-bit nodes come after every 64-bit one. Whether
    the node's kernel really runs 32-bit programs is a question of its facts, not of names. A Windows build that the node's
    does not run is left out, where both are known.
    """
    if node.os != image.os or not _runs_build(node, image):
        return None
    if node.architecture == image.architecture:
        return _same_architecture(node, image)
    if (node.architecture, image.architecture) in {("amd64", "386"), ("arm64", "arm")}:
        # Of 32-bit variants the highest first, and after every 64-bit image, whose preferences are below 10,000.
        return 10_000 - (_version(image) or (0, 0))[0]
    return None


def covers(wanted: Platform, offered: Platform) -> bool:
    """Whether what is offered is just what is wanted: the same names, and of an operating system's version its beginning.

    Stricter than :func:`preference`: who asks for ``linux/arm64`` is not served by ``linux/arm/v7``. A wanted platform
    without a version takes every version.
    """
    same = (wanted.os, wanted.architecture, wanted.variant) == (offered.os, offered.architecture, offered.variant)
    return same and f"{offered.os_version}.".startswith(f"{wanted.os_version}." if wanted.os_version else "")


def contradict(claimed: Platform, configured: Platform) -> bool:
    """Whether an index and an image's own config say different things, and not one of them less than the other."""
    if (claimed.os, claimed.architecture, claimed.variant) != (
        configured.os,
        configured.architecture,
        configured.variant,
    ):
        return True
    return bool(claimed.os_version and configured.os_version) and not (
        covers(claimed, configured) or covers(configured, claimed)
    )


def is_ordered(platform: Platform) -> bool:
    """Whether the variant can be compared: none, or a version of an architecture whose versions contain each other."""
    return not platform.variant or _version(platform) is not None


def _same_architecture(node: Platform, image: Platform) -> int | None:
    have, want = _version(node), _version(image)
    if have is None or want is None:
        return 0 if node.variant == image.variant or not image.variant else None
    if not _covers(node.architecture, have, want):
        return None
    return (have[0] - want[0]) * 100 + have[1] - want[1]


def _covers(architecture: str, have: tuple[int, int], want: tuple[int, int]) -> bool:
    if architecture == "arm64" and have[0] == 9 and want[0] == 8:  # noqa: PLR2004 # the version's number
        # Armv9.n contains Armv8.(n+5): Arm Architecture Reference Manual, A2.
        return have[1] + 5 >= want[1]
    return have >= want


def _runs_build(node: Platform, image: Platform) -> bool:
    """Whether a Windows node runs an image of this build; unknown ones are taken, as containerd does."""
    have, want = _windows_build(node), _windows_build(image)
    if have is None or want is None:
        return True
    if have[:2] != want[:2]:
        return False
    if have[2] < _STABLE_BUILD:
        return have[2] == want[2]
    return _STABLE_BUILD <= want[2] <= have[2]


def _windows_build(platform: Platform) -> tuple[int, int, int] | None:
    """``10.0.20348.2113`` as (10, 0, 20348); ``None`` for other systems and for what is not known."""
    found = _WINDOWS_BUILD.fullmatch(platform.os_version) if platform.os == "windows" else None
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


_BASE_VERSIONS = {"amd64": (1, 0), "arm64": (8, 0), "arm": (7, 0)}
"""What a platform without a variant means, for the architectures whose variants are ordered versions."""


def _version(platform: Platform) -> tuple[int, int] | None:
    """The variant as a version, ``v8.2`` as (8, 2); ``None`` where variants have no order."""
    base = _BASE_VERSIONS.get(platform.architecture)
    if base is None or not platform.variant:
        return base
    found = re.fullmatch(r"v([0-9]+)(?:\.([0-9]+))?", platform.variant)
    return (int(found[1]), int(found[2] or 0)) if found else None


_Item = TypeVar("_Item")


def choose(node: Platform, images: Iterable[tuple[Platform, _Item]]) -> _Item | None:
    """The child that a node takes from an index; ``None`` if none fits.

    The best preference, of equals the newest version of the operating system (containerd's order for Windows), then the
    first.
    """
    best: tuple[tuple[int, tuple[int, ...]], _Item] | None = None
    for platform, item in images:
        rank = preference(node, platform)
        if rank is None:
            continue
        # The newest first, a longer version before its beginning, and none after any: no number is below zero.
        place = (rank, (*(-number for number in _version_numbers(platform)), 1))
        if best is None or place < best[0]:
            best = (place, item)
    return best[1] if best else None


def _version_numbers(platform: Platform) -> tuple[int, ...]:
    """The numbers of an operating system's version, each cut to what can stand there; none where there is no version."""
    return tuple(int(number[:9]) for number in re.findall(r"[0-9]+", platform.os_version)[:8])


def names(platforms: Sequence[Platform]) -> str:
    """The platforms as a person lists them."""
    return ", ".join(map(str, platforms)) or "none"
