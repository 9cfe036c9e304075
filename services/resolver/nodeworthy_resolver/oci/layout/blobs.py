"""Blobs of a layout: read and verified; written so that nobody sees half of one."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from nodeworthy.errors import ImageNotFoundError, UsageError
from nodeworthy_resolver.oci import manifests
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.layout.files import LayoutFiles


def blob_name(digest: Digest) -> str:
    """Where a blob lies (image-layout.md, "Blobs"); a digest is checked text and leads nowhere else."""
    algorithm, _, digits = digest.partition(":")
    return f"blobs/{algorithm}/{digits}"


def read_blob(files: LayoutFiles, digest: Digest, limit: int, *, size: int | None = None) -> bytes:
    """A blob, verified.

    Raises:
        ImageNotFoundError: it is not in the layout.
        NodeworthyError: it cannot be read or is not what its name says.
    """
    path = files.describe(blob_name(digest))
    try:
        data = files.read(blob_name(digest), limit)
    except FileNotFoundError as error:
        raise _missing(files, digest) from error
    return manifests.verify(data, digest, path, size=size)


def blob_pieces(files: LayoutFiles, digest: Digest) -> Iterator[bytes]:
    """A blob piece by piece, not verified.

    Raises:
        ImageNotFoundError: it is not in the layout.
        NodeworthyError: it cannot be read.
    """
    try:
        yield from files.pieces(blob_name(digest))
    except FileNotFoundError as error:
        raise _missing(files, digest) from error


def _missing(files: LayoutFiles, digest: Digest) -> ImageNotFoundError:
    path = files.describe(blob_name(digest))
    return ImageNotFoundError(
        f"{digest} is not in {files.place}", why=f"there is no file {path}", todo="copy the image completely"
    )


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all: under another name first, then renamed.

    Raises:
        UsageError: the folder cannot be written to.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".nodeworthy-", delete=False) as file:
            temporary = Path(file.name)
            try:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                temporary.chmod(0o644)
                temporary.replace(path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise UsageError(f"{path} cannot be written", why=error.strerror or str(error)) from error


def remove_file(path: Path) -> None:
    """Remove a file, if it is there.

    Raises:
        UsageError: the folder cannot be written to.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"{path} cannot be removed", why=error.strerror or str(error)) from error
