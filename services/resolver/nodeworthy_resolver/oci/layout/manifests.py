"""The index of a layout folder: which manifests it holds under which tags, and adding one."""

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
from nodeworthy_resolver.oci.layout.blobs import read_blob, read_file, write_file
from nodeworthy_resolver.oci.manifests import IMAGE_INDEX, MAX_MANIFEST_BYTES, Descriptor, Index
from nodeworthy_resolver.oci.store import Content

REF_NAME = "org.opencontainers.image.ref.name"
"""The annotation that holds a tag (annotations.md)."""

_LAYOUT_VERSION = "1.0.0"
_MAX_LAYOUT_BYTES = 64 * 1024


class _LayoutFile(msgspec.Struct):
    version: str = msgspec.field(name="imageLayoutVersion")


def read_index(folder: Path) -> Index:
    """The folder's index.

    Raises:
        ImageNotFoundError: the folder is not there, or is no image layout.
        NodeworthyError: it is one of another version, or its files cannot be read.
    """
    _check_layout(folder)
    data = _read_index_bytes(folder)
    index = manifests.parse_manifest(data, IMAGE_INDEX, str(folder / "index.json"))
    assert isinstance(index, Index)
    return index


def _check_layout(folder: Path) -> None:
    path = folder / "oci-layout"
    try:
        data = read_file(path, _MAX_LAYOUT_BYTES)
    except FileNotFoundError as error:
        raise ImageNotFoundError(
            f"{folder} holds no image", why=f"there is no file {path}", todo="name a folder with the OCI image layout"
        ) from error
    try:
        version = msgspec.json.decode(data, type=_LayoutFile).version
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RegistryContentError(f"{path} cannot be read", why=str(error)) from error
    if version != _LAYOUT_VERSION:
        raise RegistryContentError(
            f"{folder} cannot be read", why=f"it has layout version {version!r}, not {_LAYOUT_VERSION}"
        )


def _read_index_bytes(folder: Path) -> bytes:
    path = folder / "index.json"
    try:
        return read_file(path, MAX_MANIFEST_BYTES)
    except FileNotFoundError as error:
        raise ImageNotFoundError(f"{folder} holds no image", why=f"there is no file {path}") from error


def tag_of(entry: Descriptor) -> str:
    """An entry's tag; empty if it has none."""
    return (entry.annotations or {}).get(REF_NAME, "")


def resolve(folder: Path, target: str) -> Content:
    """The manifest that a tag, a digest or nothing names in a folder.

    Raises:
        ImageNotFoundError: there is none, or several and it is not said which.
        NodeworthyError: it cannot be read.
    """
    index = read_index(folder)
    digest = digests.parse_digest(target)
    if digest is not None:
        listed = next((entry for entry in index.manifests if entry.digest == digest), None)
        return read_manifest(folder, digest, listed)
    entry = find_tag(index, target) if target else _find_only(folder, index)
    if entry is None:
        raise ImageNotFoundError(
            f"{folder} has no image tagged {target!r}", why=_list_tags(index), todo="oci:FOLDER:TAG"
        )
    return read_manifest(folder, manifests.digest_of(entry), entry)


def find_tag(index: Index, tag: str) -> Descriptor | None:
    """The entry with a tag; of several the last, as in the tools that append."""
    return next((entry for entry in reversed(index.manifests) if tag_of(entry) == tag), None)


def _find_only(folder: Path, index: Index) -> Descriptor:
    """The entry that a folder's name alone means: ``latest``, else its only image; what is attached to one is none."""
    if latest := find_tag(index, "latest"):
        return latest
    images = {entry.digest: entry for entry in index.manifests if not _is_attached(folder, entry)}
    if len(images) == 1:
        return next(iter(images.values()))
    raise ImageNotFoundError(
        f"{folder} holds {len(images)} images, and it is not said which one",
        why=_list_tags(index),
        todo="oci:FOLDER:TAG",
    )


def _is_attached(folder: Path, entry: Descriptor) -> bool:
    """Whether an entry is an artifact attached to another, or a list of such."""
    tag = tag_of(entry)
    if tag and digests.parse_digest(tag.replace("-", ":", 1)) is not None:
        return True
    if entry.media_type not in manifests.MANIFEST_TYPES | manifests.INDEX_TYPES:
        return False
    content = read_manifest(folder, manifests.digest_of(entry), entry)
    return manifests.parse_manifest(content.data, content.media_type, f"{folder}@{content.digest}").subject is not None


def _list_tags(index: Index) -> str:
    tags = sorted({tag for entry in index.manifests if (tag := tag_of(entry))})
    return f"it has the tags {', '.join(tags[:20])}" if tags else "none of its entries has a tag"


def read_manifest(folder: Path, digest: Digest, entry: Descriptor | None = None) -> Content:
    """A manifest by its digest, verified; its type is what the entry says or else the bytes themselves."""
    size = entry.size if entry else None
    data = read_blob(folder, digest, MAX_MANIFEST_BYTES, size=size)
    media_type = manifests.media_type_of(data, entry.media_type if entry else "", f"{folder}@{digest}")
    return Content(data, media_type, digest)


def add_entry(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    """Change the folder's index, if there is something to change; other writers of ours wait, readers see old or new."""
    read_index(folder)  # says clearly what is wrong before anything is written
    with _locked(folder):
        index: dict[str, Any] = json.loads(_read_index_bytes(folder))
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
