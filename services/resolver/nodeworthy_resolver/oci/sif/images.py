"""From a SIF file to what is known of its image."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from nodeworthy import platforms
from nodeworthy.errors import ImageNotFoundError, NodeworthyError, RegistryContentError, UsageError
from nodeworthy.images import Artifact, ArtifactSearch, ImageKnowledge, PlatformImage, SearchState
from nodeworthy.platforms import Platform
from nodeworthy_resolver.oci import digests
from nodeworthy_resolver.oci.layout import LayoutReader, open_ordinary
from nodeworthy_resolver.oci.layout.blobs import blob_name
from nodeworthy_resolver.oci.layout.files import PIECE, read_file
from nodeworthy_resolver.oci.reference import SifReference
from nodeworthy_resolver.oci.referrers import MAX_SPEC_BYTES
from nodeworthy_resolver.oci.resolution import resolve_image
from nodeworthy_resolver.oci.sif.header import (
    DESCRIPTOR_BYTES,
    HEADER_BYTES,
    SifHeader,
    SifObject,
    parse_header,
    parse_objects,
)

MEDIA_TYPE = "application/vnd.sylabs.sif.layer.v1.sif"
"""What registries call such a file (github.com/sylabs/oras, and Apptainer's documentation of ``push``)."""

SPEC_ENDING = ".compat.yaml"
"""A specification for ``app.sif`` lies beside it as ``app.sif.compat.yaml``: a file has nothing to attach one to."""

_LAYOUT = b'{"imageLayoutVersion":"1.0.0"}'


async def read_sif(reference: SifReference, wanted: Sequence[Platform] | None) -> ImageKnowledge:
    """What a SIF file says of its image, and the specification beside it, which counts before one inside.

    Raises:
        ImageNotFoundError: the file is not there.
        NodeworthyError: it is no SIF file, or cannot be read.
    """
    try:
        file = open_ordinary(reference.file)
    except FileNotFoundError as error:
        raise ImageNotFoundError(
            f"{reference.file} is not there",
            why=str(error.strerror),
            todo=f"check the name; an image of that name in a registry needs its tag: {reference.file}:TAG",
        ) from error
    except OSError as error:
        raise UsageError(f"{reference.file} cannot be read", why=error.strerror or str(error)) from error
    with file:
        known = await _read(SifFile(reference.file, file), reference, wanted)
    beside = read_beside(reference.file)
    if beside.state is SearchState.NONE and known.images[0].search is not None:
        return known
    images = tuple(msgspec.structs.replace(image, search=beside) for image in known.images)
    return msgspec.structs.replace(known, images=images, search=None)


class SifFile:
    """An opened SIF file; where it holds an OCI image, also that image's layout."""

    scheme = "sif"

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        try:
            self.header = parse_header(self._read_at(0, HEADER_BYTES))
            table = self._read_at(self.header.offset, self.header.descriptors * DESCRIPTOR_BYTES)
            self.objects = parse_objects(table)
        except ValueError as error:
            raise RegistryContentError(f"{path} is no SIF file, or a damaged one", why=str(error)) from error

    @property
    def place(self) -> str:
        """The file's path."""
        return str(self._path)

    def describe(self, name: str) -> str:
        """A part of it as messages name it."""
        return f"{name} in {self._path}"

    def read(self, name: str, limit: int) -> bytes:
        """A file of the layout inside, at most ``limit`` bytes; there is no version file, since the format says it."""
        if name == "oci-layout":
            return _LAYOUT
        wanted = self._find(name)
        if wanted.size > limit:
            raise RegistryContentError(
                f"{self.describe(name)} is too large", why=f"more than {limit} bytes are not read"
            )
        return self._read_part(name, wanted.offset, wanted.size)

    def pieces(self, name: str) -> Iterator[bytes]:
        """A file of the layout inside, piece by piece."""
        found = self._find(name)
        for offset in range(0, found.size, PIECE):
            yield self._read_part(name, found.offset + offset, min(PIECE, found.size - offset))

    def _find(self, name: str) -> SifObject:
        wanted = next((one for one in self.objects if _name_of(one) == name), None)
        if wanted is None:
            raise FileNotFoundError(name)
        return wanted

    def _read_part(self, name: str, offset: int, count: int) -> bytes:
        try:
            return self._read_at(offset, count)
        except ValueError as error:
            raise RegistryContentError(f"{self.describe(name)} cannot be read", why=str(error)) from error

    def _read_at(self, offset: int, count: int) -> bytes:
        """Just so many bytes.

        Raises:
            ValueError: the file ends before.
        """
        size = os.fstat(self._file.fileno()).st_size
        if offset + count > size:
            raise ValueError(f"it is cut off: it has {size:,} bytes, and says that it has more")
        try:
            self._file.seek(offset)
            return self._file.read(count)
        except OSError as error:
            raise UsageError(f"{self._path} cannot be read", why=error.strerror or str(error)) from error


def _name_of(one: SifObject) -> str:
    """Where an object stands in the layout inside; empty if it is no part of one."""
    if one.is_root_index:
        return "index.json"
    digest = digests.parse_digest(one.digest)
    return "" if digest is None else blob_name(digest)


async def _read(sif: SifFile, reference: SifReference, wanted: Sequence[Platform] | None) -> ImageKnowledge:
    if any(one.is_root_index for one in sif.objects):
        return await resolve_image(LayoutReader(sif), reference, wanted)
    return describe_sif(sif.header, sif.objects, str(reference))


def describe_sif(header: SifHeader, objects: Sequence[SifObject], reference: str) -> ImageKnowledge:
    """What header and descriptors say of the image; the architecture is that of the file system that runs.

    There is no digest: nobody names such a file by one, and it may have many gigabytes.
    """
    partition = next((one for one in objects if one.is_primary), None)
    notices = []
    if partition is None:
        notices.append("it holds no file system to run")
    elif partition.architecture != header.architecture:
        notices.append(
            f"the header says {header.architecture or header.code!r}, the file system"
            f" {partition.architecture or 'nothing known'}: it is taken for neither"
        )
    is_clear = partition is not None and partition.architecture == header.architecture and header.architecture
    configured = platforms.normalize("linux", header.architecture) if is_clear else None
    if configured is None and not notices:
        notices.append(f"its architecture code {header.code!r} is none that is known")
    image = PlatformImage("", configured=configured, media_type=MEDIA_TYPE, notices=tuple(notices))
    return ImageKnowledge(reference, "", MEDIA_TYPE, (image,))


def read_beside(path: Path) -> ArtifactSearch:
    """The specification beside a SIF file."""
    beside = Path(f"{path}{SPEC_ENDING}")
    try:
        data = read_file(beside, MAX_SPEC_BYTES)
    except FileNotFoundError:
        return ArtifactSearch(SearchState.NONE, reason=f"there is no file {beside}")
    except NodeworthyError as error:
        return ArtifactSearch(SearchState.FAILED, reason=str(error))
    found = Artifact(digest=digests.compute(data), subject="", created="", data=data)
    return ArtifactSearch(SearchState.FOUND, found, notices=(f"the specification is {beside}",))
