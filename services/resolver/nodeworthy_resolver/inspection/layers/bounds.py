"""How much of an image is read, and the errors for what is more."""

from dataclasses import dataclass

from nodeworthy.errors import InspectionError


@dataclass(frozen=True)
class Bounds:
    """Limits for one image. Past those of a file, its content alone is not kept; past the others, nothing is concluded."""

    layers: int = 512
    """Layers; overlayfs takes 500 (fs/overlayfs/params.h, ``OVL_MAX_STACK``), older engines 127."""
    unpacked_bytes: int = 64 * 1024**3
    """Bytes of all layers, as they are stored and decompressed: several times the largest images that are known, and some
    minutes of work."""
    ratio: int = 200
    """How many times their size layers may unpack to; file systems reach ten, gzip's own limit is about a thousand."""
    free_bytes: int = 1024**3
    """Bytes up to which the ratio does not count: an image may well have a file of zeros."""
    entries: int = 5_000_000
    """Members of all layers; images with a million files exist. Each takes some 150 bytes of memory."""
    name_bytes: int = 1024**3
    """Bytes of all paths and link targets; an entry has a hundred, or two hundred where folders are deep."""
    file_bytes: int = 4 * 1024**3
    """Bytes of one file that is kept; the largest libraries of today, those for GPUs, have about two thirds of it."""
    kept_bytes: int = 32 * 1024**3
    """Bytes of all that is kept on disk for the time of the inspection; images for GPUs have ten gigabytes of libraries."""
    spare_bytes: int = 1024**3
    """Bytes of small files that are kept although they are of no kind that is known to tell anything; a part of
    ``kept_bytes``. Images of some gigabytes have a tenth of it."""
    window_bytes: int = 128 * 1024**2
    """Bytes of a zstd window, all of which is memory: what the zstd program itself takes without being asked."""
    steps: int = 50_000_000
    """Parts of paths that are looked up, links followed: ten times what five million paths in folders need."""


class Usage:
    """What was read of an image so far, held against its bounds."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.packed = 0
        """Bytes of layers as they are stored."""
        self.unpacked = 0
        """The same, decompressed."""
        self.entries = 0
        """Headers of members."""
        self.name_bytes = 0

    def pack(self, count: int, where: str) -> None:
        """Count bytes as they are stored, which may unpack to nothing.

        Raises:
            InspectionError: they are too many.
        """
        self.packed += count
        if self.packed > self.bounds.unpacked_bytes:
            raise too_much(where, f"the layers have more than {self.bounds.unpacked_bytes:,} bytes")

    def unpack(self, count: int, where: str) -> None:
        """Count decompressed bytes.

        Raises:
            InspectionError: they are too many, or too many for what was compressed.
        """
        self.unpacked += count
        if self.unpacked > self.bounds.unpacked_bytes:
            raise too_much(where, f"the layers unpack to more than {self.bounds.unpacked_bytes:,} bytes")
        if self.unpacked > self.bounds.free_bytes and self.unpacked > self.bounds.ratio * self.packed:
            raise too_much(where, f"the layers unpack to more than {self.bounds.ratio} times their size")

    def enter(self, name_bytes: int, where: str) -> None:
        """Count a header with so many bytes of names.

        Raises:
            InspectionError: there are too many.
        """
        self.entries += 1
        self.name_bytes += name_bytes
        if self.entries > self.bounds.entries:
            raise too_much(where, f"the layers have more than {self.bounds.entries:,} entries")
        if self.name_bytes > self.bounds.name_bytes:
            raise too_much(where, f"the names in the layers have more than {self.bounds.name_bytes:,} bytes")


def too_much(where: str, why: str) -> InspectionError:
    """The error for an image that is beyond a bound."""
    return InspectionError(f"{where} is not inspected", why=why, todo="inspect a root folder with its files instead")


def damaged(where: str, why: str) -> InspectionError:
    """The error for a layer that no engine could unpack."""
    return InspectionError(f"{where} cannot be read", why=why, todo="push the image again")
