"""Bytes of an opened file, by place; large ones are mapped and not copied."""

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager

from nodeworthy_resolver.inspection.tree import NotKeptError

MAX_READ = 256 * 1024 * 1024
"""Bytes that one reading copies into memory; whoever needs more of a file maps it."""
MAX_COPIED = 4 * 1024 * 1024
"""Bytes up to which a file is copied where it could be mapped: cheaper, and nobody can take the bytes away meanwhile."""


def read_at(descriptor: int, name: str, offset: int, size: int) -> bytes:
    """Bytes at a place of a file that is called so in messages; fewer where it ends before.

    Raises:
        NotKeptError: they cannot be read, or are more than :data:`MAX_READ`.
    """
    if size > MAX_READ:
        raise NotKeptError(f"more than {MAX_READ:,} bytes of {name} are not read at once")
    parts = []
    try:
        while size > 0 and (part := os.pread(descriptor, size, offset)):
            parts.append(part)
            offset, size = offset + len(part), size - len(part)
    except OSError as error:
        raise NotKeptError(f"{name} cannot be read: {error.strerror or error}") from error
    return parts[0] if len(parts) == 1 else b"".join(parts)


@contextmanager
def map_at(descriptor: int, name: str, offset: int, size: int) -> Iterator[memoryview]:
    """Bytes at a place of a file, which has them, while the context lasts; slices must not be used afterwards.

    Raises:
        NotKeptError: they cannot be read or mapped.
    """
    if size <= MAX_COPIED:
        yield memoryview(read_at(descriptor, name, offset, size))
        return
    before = offset % mmap.ALLOCATIONGRANULARITY
    try:
        mapped = mmap.mmap(descriptor, before + size, access=mmap.ACCESS_READ, offset=offset - before)
    except (OSError, ValueError) as error:
        raise NotKeptError(f"{name} cannot be mapped: {error}") from error
    # The mapping ends with the last slice that somebody still holds; closing it here would raise where one is left.
    with memoryview(mapped) as whole, whole[before:] as view:
        yield view
