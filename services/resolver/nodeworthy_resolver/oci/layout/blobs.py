"""Files of a layout folder: read within a limit, written so that nobody sees half of one."""

import os
import stat
import tempfile
from pathlib import Path
from typing import BinaryIO

from nodeworthy.errors import ImageNotFoundError, RegistryContentError, UsageError
from nodeworthy_resolver.oci import manifests
from nodeworthy_resolver.oci.digests import Digest


def blob_path(folder: Path, digest: Digest) -> Path:
    """Where a blob lies (image-layout.md, "Blobs"); a digest is checked text and leads nowhere else."""
    algorithm, _, digits = digest.partition(":")
    return folder / "blobs" / algorithm / digits


def read_file(path: Path, limit: int) -> bytes:
    """A file's bytes, at most ``limit``; opened without waiting, since a pipe in its place would wait for ever.

    Raises:
        FileNotFoundError: it is not there.
        RegistryContentError: it is no ordinary file, or too large.
        UsageError: it cannot be read.
    """
    try:
        with _open_ordinary(path) as file:
            data = file.read(limit + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UsageError(f"{path} cannot be read", why=error.strerror or str(error)) from error
    if len(data) > limit:
        raise RegistryContentError(f"{path} is too large", why=f"more than {limit} bytes are not read")
    return data


def _open_ordinary(path: Path) -> BinaryIO:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise RegistryContentError(f"{path} cannot be used", why="it is not an ordinary file")


def read_blob(folder: Path, digest: Digest, limit: int, *, size: int | None = None) -> bytes:
    """A blob, verified.

    Raises:
        ImageNotFoundError: it is not in the folder.
        NodeworthyError: it cannot be read or is not what its name says.
    """
    path = blob_path(folder, digest)
    try:
        data = read_file(path, limit)
    except FileNotFoundError as error:
        raise ImageNotFoundError(
            f"{digest} is not in {folder}", why=f"there is no file {path}", todo="copy the image completely"
        ) from error
    return manifests.verify(data, digest, str(path), size=size)


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
