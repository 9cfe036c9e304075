"""Layout folders: what is read of them, what is refused, and what writing leaves."""

import fcntl
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from nodeworthy.errors import ImageNotFoundError, NodeworthyError, RegistryContentError, UsageError
from nodeworthy.images import ARTIFACT_TYPE
from nodeworthy_resolver.oci.digests import compute, fallback_tag
from nodeworthy_resolver.oci.layout import LayoutStore, manifests
from nodeworthy_resolver.oci.manifests import Descriptor
from nodeworthy_resolver.oci.store import Removal

if TYPE_CHECKING:
    from tests.resolver.conftest import Builder


def leftovers(folder: Path, pattern: str = ".nodeworthy-*") -> list[Path]:
    return list(folder.rglob(pattern))


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


async def test_a_folder_with_one_image_needs_no_tag_whatever_is_attached(build: "Builder", tmp_path: Path) -> None:
    image = build.image()
    artifact = build.artifact(image)
    listing = build.listing(artifact)
    build.write_layout(
        tmp_path, build.entry(artifact), build.tagged(listing, fallback_tag(image.digest)), build.entry(image)
    )
    assert (await LayoutStore(tmp_path).resolve("")).digest == image.digest


async def test_of_several_images_the_latest_is_meant_and_without_one_none(build: "Builder", tmp_path: Path) -> None:
    images = [build.tagged(build.image(), "v1"), build.tagged(build.image("linux/arm64"), "latest")]
    build.write_layout(tmp_path, *images)
    assert (await LayoutStore(tmp_path).resolve("")).digest == images[1]["digest"]
    build.write_layout(tmp_path, images[0], build.tagged(build.image("linux/arm64"), "v2"))
    with pytest.raises(ImageNotFoundError, match="holds 2 images") as caught:
        await LayoutStore(tmp_path).resolve("")
    assert "v1, v2" in caught.value.why


async def test_of_two_entries_with_one_tag_the_later_counts(build: "Builder", tmp_path: Path) -> None:
    old, new = build.image(), build.image("linux/arm64")
    build.write_layout(tmp_path, build.tagged(old, "v1"), build.tagged(new, "v1"))
    assert (await LayoutStore(tmp_path).resolve("v1")).digest == new.digest


async def test_a_child_that_the_folders_index_does_not_list_is_read_by_its_digest(
    build: "Builder", tmp_path: Path
) -> None:
    child = build.image()
    build.write_layout(tmp_path, build.entry(build.index((child, "linux/amd64"))))
    assert await LayoutStore(tmp_path).resolve(child.digest) == child


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("oci-layout", None, ImageNotFoundError),
        ("oci-layout", b"", RegistryContentError),
        ("oci-layout", b'{"imageLayoutVersion":"2.0.0"}', RegistryContentError),
        ("oci-layout", b" " * 100_000, RegistryContentError),
        ("index.json", None, ImageNotFoundError),
        ("index.json", b"{", RegistryContentError),
        ("index.json", b'{"manifests":[{"digest":"sha256:../../x","size":1}]}', RegistryContentError),
        ("index.json", b" " * 5_000_000, RegistryContentError),
    ],
)
async def test_a_folder_that_is_no_layout_is_named(
    name: str, content: bytes | None, error: type[NodeworthyError], build: "Builder", tmp_path: Path
) -> None:
    build.write_layout(tmp_path, build.tagged(build.image(), "v1"))
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(error, match=str(tmp_path)):
        await LayoutStore(tmp_path).resolve("v1")


async def test_a_folder_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(ImageNotFoundError, match="holds no image"):
        await LayoutStore(tmp_path / "missing").resolve("v1")


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "file as folder"])
async def test_what_is_no_ordinary_file_is_refused_and_not_waited_for(
    kind: str, build: "Builder", tmp_path: Path
) -> None:
    image = build.image()
    build.write_layout(tmp_path, build.tagged(image, "v1"))
    path = tmp_path / "blobs" / image.digest.replace(":", "/")
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.parent.rename(tmp_path / "gone")
        path.parent.write_bytes(b"")
    says = "cannot be read" if kind == "file as folder" else "not an ordinary file"
    with pytest.raises((RegistryContentError, UsageError), match=f"{path}.*{says}"):
        await LayoutStore(tmp_path).resolve("v1")


async def test_a_blob_is_verified_by_digest_and_size(build: "Builder", tmp_path: Path) -> None:
    descriptor = build.blob(b"content", "x")
    build.write_layout(tmp_path)
    store = LayoutStore(tmp_path)
    blob = Descriptor(digest=descriptor["digest"], size=7)
    assert await store.read_blob(blob, 7) == b"content"
    with pytest.raises(RegistryContentError, match="more than 6 bytes"):
        await store.read_blob(blob, 6)
    with pytest.raises(RegistryContentError, match="7 bytes, not 8"):
        await store.read_blob(Descriptor(digest=descriptor["digest"], size=8), 100)
    (tmp_path / "blobs" / descriptor["digest"].replace(":", "/")).write_bytes(b"c0ntent")
    with pytest.raises(RegistryContentError, match=compute(b"c0ntent")):
        await store.read_blob(blob, 7)


async def test_what_an_old_fallback_tag_lists_is_listed_once(build: "Builder", tmp_path: Path) -> None:
    image = build.image()
    one, other = build.artifact(image, b"one"), build.artifact(image, b"other")
    listing = build.listing(one, other)
    build.write_layout(
        tmp_path, build.tagged(image, "v1"), build.entry(one), build.tagged(listing, fallback_tag(image.digest))
    )
    listed = await LayoutStore(tmp_path).list_referrers(image.digest, ARTIFACT_TYPE)
    assert [entry.digest for entry in listed.entries] == [one.digest, other.digest]
    assert [entry.artifact_type for entry in listed.entries] == [ARTIFACT_TYPE] * 2


async def test_a_fallback_tag_that_is_no_index_is_passed_over(build: "Builder", tmp_path: Path) -> None:
    image = build.image()
    other = build.tagged(build.image("linux/arm64"), fallback_tag(image.digest))
    build.write_layout(tmp_path, build.tagged(image, "v1"), other)
    listed = await LayoutStore(tmp_path).list_referrers(image.digest, ARTIFACT_TYPE)
    assert listed.entries == ()
    assert "is no index" in listed.notices[0]


async def test_an_entry_whose_file_is_gone_is_reported(build: "Builder", tmp_path: Path) -> None:
    image = build.image()
    gone = build.artifact(image)
    entries = [build.tagged(image, "v1"), build.entry(gone)]
    del build.manifests[gone.digest]
    build.write_layout(tmp_path, *entries)
    listed = await LayoutStore(tmp_path).list_referrers(image.digest, ARTIFACT_TYPE)
    assert listed.entries == ()
    assert listed.notices == (f"{gone.digest[:19]} is listed in index.json and not there",)


async def test_writing_keeps_what_other_tools_wrote_and_leaves_no_other_files(build: "Builder", tmp_path: Path) -> None:
    image = build.image()
    entry = build.tagged(image, "v1") | {"unknown": {"kept": True}}
    build.write_layout(tmp_path, entry)
    store = LayoutStore(tmp_path)
    descriptor = Descriptor(media_type="m", digest=compute(b"data"), size=4)
    for _ in range(2):
        await store.write_blob(b"data", compute(b"data"))
        await store.write_referrer(b"data", descriptor, image.digest)
    index = json.loads((tmp_path / "index.json").read_bytes())
    assert index["manifests"] == [entry, {"mediaType": "m", "digest": descriptor.digest, "size": 4}]
    assert leftovers(tmp_path) == []
    assert mode(tmp_path / "index.json") == 0o644


async def test_while_the_index_is_changed_other_writers_wait(build: "Builder", tmp_path: Path) -> None:
    build.write_layout(tmp_path)

    def change(index: dict[str, Any]) -> dict[str, Any]:
        other = os.open(tmp_path, os.O_RDONLY)
        try:
            with pytest.raises(BlockingIOError):
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(other)
        return index | {"changed": True}

    manifests.change_index(tmp_path, change)
    assert json.loads((tmp_path / "index.json").read_bytes())["changed"]


async def test_a_damaged_blob_is_replaced_by_writing_it_again(build: "Builder", tmp_path: Path) -> None:
    digest = compute(b"data")
    build.write_layout(tmp_path)
    store = LayoutStore(tmp_path)
    for damage in (b"dama", b"longer than before"):
        await store.write_blob(b"data", digest)
        (tmp_path / "blobs" / digest.replace(":", "/")).write_bytes(damage)
    await store.write_blob(b"data", digest)
    assert await store.read_blob(Descriptor(digest=digest, size=4), 4) == b"data"


async def test_nothing_is_written_where_there_is_no_layout(tmp_path: Path) -> None:
    with pytest.raises(ImageNotFoundError):
        await LayoutStore(tmp_path).write_blob(b"data", compute(b"data"))
    assert leftovers(tmp_path, "*") == []


async def test_a_folder_that_cannot_be_written_is_named(build: "Builder", tmp_path: Path) -> None:
    build.write_layout(tmp_path)
    (tmp_path / "blobs").symlink_to(tmp_path / "nowhere" / "else")
    with pytest.raises(UsageError, match="cannot be written"):
        await LayoutStore(tmp_path).write_blob(b"data", compute(b"data"))


async def test_what_is_removed_is_gone_from_the_index_the_old_tag_and_the_folder(
    build: "Builder", tmp_path: Path
) -> None:
    image = build.image()
    one, other = build.artifact(image, b"one"), build.artifact(image, b"other")
    listing = build.listing(one, other)
    kept = build.tagged(image, "v1") | {"unknown": {"kept": True}}
    build.write_layout(tmp_path, kept, build.entry(one), build.tagged(listing, fallback_tag(image.digest)))
    store = LayoutStore(tmp_path)
    assert await store.remove_referrer(one.digest, image.digest) is Removal.DELETED
    listed = await store.list_referrers(image.digest, ARTIFACT_TYPE)
    assert [entry.digest for entry in listed.entries] == [other.digest]
    with pytest.raises(ImageNotFoundError):
        await store.read_manifest(one.digest)
    assert json.loads((tmp_path / "index.json").read_bytes())["manifests"][0] == kept
    assert leftovers(tmp_path) == []


async def test_removing_what_is_not_there_changes_nothing(build: "Builder", tmp_path: Path) -> None:
    image = build.image()
    build.write_layout(tmp_path, build.tagged(image, "v1"))
    before = (tmp_path / "index.json").read_bytes()
    await LayoutStore(tmp_path).remove_referrer(compute(b"x"), image.digest)
    assert (tmp_path / "index.json").read_bytes() == before
