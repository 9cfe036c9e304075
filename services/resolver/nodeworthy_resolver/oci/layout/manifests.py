"""The index of a layout: which manifests it holds under which names, and changing a folder's."""

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from nodeworthy.errors import ImageNotFoundError, RegistryContentError, UsageError
from nodeworthy_resolver.oci import digests, manifests
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.layout.blobs import read_blob, write_file
from nodeworthy_resolver.oci.layout.files import FolderFiles, LayoutFiles
from nodeworthy_resolver.oci.manifests import IMAGE_INDEX, MAX_MANIFEST_BYTES, Descriptor, Index
from nodeworthy_resolver.oci.reference import is_same_image
from nodeworthy_resolver.oci.store import Content

REF_NAME = "org.opencontainers.image.ref.name"
"""The annotation that holds a tag (annotations.md); Podman writes the whole name there."""
IMAGE_NAME = "io.containerd.image.name"
"""The annotation that holds the whole name in what containerd, BuildKit and ``docker save`` write."""

_LAYOUT_VERSION = "1.0.0"
_MAX_LAYOUT_BYTES = 64 * 1024


class _LayoutFile(msgspec.Struct):
    version: str = msgspec.field(name="imageLayoutVersion")


def read_index(files: LayoutFiles) -> Index:
    """The layout's index.

    Raises:
        ImageNotFoundError: the folder or file is not there, or is no image layout.
        NodeworthyError: it is one of another version, or its files cannot be read.
    """
    _check_layout(files)
    index = manifests.parse_manifest(_read_index_bytes(files), IMAGE_INDEX, files.describe("index.json"))
    assert isinstance(index, Index)
    return index


def _check_layout(files: LayoutFiles) -> None:
    path = files.describe("oci-layout")
    try:
        data = files.read("oci-layout", _MAX_LAYOUT_BYTES)
    except FileNotFoundError as error:
        raise ImageNotFoundError(
            f"{files.place} holds no image", why=f"there is no file {path}", todo="name one with the OCI image layout"
        ) from error
    try:
        version = msgspec.json.decode(data, type=_LayoutFile).version
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RegistryContentError(f"{path} cannot be read", why=str(error)) from error
    if version != _LAYOUT_VERSION:
        raise RegistryContentError(
            f"{files.place} cannot be read", why=f"it has layout version {version!r}, not {_LAYOUT_VERSION}"
        )


def _read_index_bytes(files: LayoutFiles) -> bytes:
    try:
        return files.read("index.json", MAX_MANIFEST_BYTES)
    except FileNotFoundError as error:
        why = f"there is no file {files.describe('index.json')}"
        raise ImageNotFoundError(f"{files.place} holds no image", why=why) from error


def tag_of(entry: Descriptor) -> str:
    """An entry's tag; empty if it has none."""
    return (entry.annotations or {}).get(REF_NAME, "")


def _image_name(entry: Descriptor) -> str:
    return (entry.annotations or {}).get(IMAGE_NAME, "")


def resolve(files: LayoutFiles, target: str) -> Content:
    """The manifest that a tag, a digest, an image's name or nothing names in a layout.

    Raises:
        ImageNotFoundError: there is none, or several and it is not said which.
        NodeworthyError: it cannot be read.
    """
    index = read_index(files)
    digest = digests.parse_digest(target)
    if digest is not None:
        listed = next((entry for entry in index.manifests if entry.digest == digest), None)
        return read_manifest(files, digest, listed)
    entry = (find_tag(index, target) or _find_name(index, target)) if target else _find_only(files, index)
    if entry is None:
        raise ImageNotFoundError(
            f"{files.place} has no image tagged {target!r}", why=_list_tags(index), todo=_advise(files)
        )
    return read_manifest(files, manifests.digest_of(entry), entry)


def find_tag(index: Index, tag: str) -> Descriptor | None:
    """The entry with a tag; of several the last, as in the tools that append."""
    return next((entry for entry in reversed(index.manifests) if tag_of(entry) == tag), None)


def _find_name(index: Index, name: str) -> Descriptor | None:
    """The entry whose whole name means the same image, ``app:1`` for ``docker.io/library/app:1``."""
    named = ((entry, (_image_name(entry), tag_of(entry))) for entry in reversed(index.manifests))
    return next((entry for entry, names in named if any(is_same_image(name, one) for one in names)), None)


def _find_only(files: LayoutFiles, index: Index) -> Descriptor:
    """The entry that the layout alone means: ``latest``, else its only image; what is attached to one is none."""
    latest = [entry for entry in index.manifests if tag_of(entry) == "latest"]
    if len({_image_name(entry) for entry in latest}) == 1:
        return latest[-1]
    images = {entry.digest: entry for entry in index.manifests if not _is_attached(files, entry)}
    if len(images) == 1:
        return next(iter(images.values()))
    raise ImageNotFoundError(
        f"{files.place} holds {len(images)} images, and it is not said which one",
        why=_list_tags(index),
        todo=_advise(files),
    )


def _is_attached(files: LayoutFiles, entry: Descriptor) -> bool:
    """Whether an entry is an artifact attached to another, or a list of such."""
    tag = tag_of(entry)
    if tag and digests.parse_digest(tag.replace("-", ":", 1)) is not None:
        return True
    if entry.media_type not in manifests.MANIFEST_TYPES | manifests.INDEX_TYPES:
        return False
    content = read_manifest(files, manifests.digest_of(entry), entry)
    return (
        manifests.parse_manifest(content.data, content.media_type, _source(files, content.digest)).subject is not None
    )


def _advise(files: LayoutFiles) -> str:
    return f"{files.scheme}:{files.place}:TAG"


def _source(files: LayoutFiles, digest: Digest) -> str:
    return f"{files.place}@{digest}"


def _list_tags(index: Index) -> str:
    tags = sorted({name for entry in index.manifests if (name := _image_name(entry) or tag_of(entry))})
    return f"it has the tags {', '.join(tags[:20])}" if tags else "none of its entries has a tag"


def read_manifest(files: LayoutFiles, digest: Digest, entry: Descriptor | None = None) -> Content:
    """A manifest by its digest, verified; its type is what the entry says or else the bytes themselves."""
    size = entry.size if entry else None
    data = read_blob(files, digest, MAX_MANIFEST_BYTES, size=size)
    media_type = manifests.media_type_of(data, entry.media_type if entry else "", _source(files, digest))
    return Content(data, media_type, digest)


def change_index(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    """Change the folder's index, if there is something to change; other writers of ours wait, readers see old or new."""
    files = FolderFiles(folder)
    read_index(files)  # says clearly what is wrong before anything is written
    with _locked(folder):
        index: dict[str, Any] = json.loads(_read_index_bytes(files))
        changed = change(index)
        if changed is not None:
            write_file(folder / "index.json", json.dumps(changed, separators=(",", ":")).encode())


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise UsageError(f"{folder} cannot be opened", why=error.strerror or str(error)) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
