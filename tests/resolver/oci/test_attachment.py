"""What attaching writes, byte by byte, and where."""

import base64
import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from nodeworthy.errors import ImageNotFoundError, UsageError
from nodeworthy.images import ARTIFACT_TYPE, SPEC_MEDIA_TYPE
from nodeworthy.platforms import Platform
from nodeworthy_resolver.oci import Attached, Via, attach, parse_reference, search_artifact
from nodeworthy_resolver.oci.attachment import format_moment
from nodeworthy_resolver.oci.digests import compute
from nodeworthy_resolver.oci.layout import LayoutStore
from nodeworthy_resolver.oci.store import Content

if TYPE_CHECKING:
    from tests.resolver.conftest import Builder

MOMENT = datetime(2026, 5, 1, 12, 0, 0, tzinfo=UTC)
AMD64, ARM64 = Platform("linux", "amd64"), Platform("linux", "arm64")


def everything(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


async def attach_to(
    build: "Builder", folder: Path, root: Content, platforms: Any = None, spec: bytes | None = None
) -> tuple[Attached, ...]:
    if not (folder / "index.json").exists():
        build.write_layout(folder, build.tagged(root, "v1"))
    reference = parse_reference(f"oci:{folder}:v1")
    document = build.spec if spec is None else spec
    return await attach(LayoutStore(folder), reference, document, platforms=platforms, created=MOMENT)


async def test_the_artifact_is_the_one_that_nfd_documents(build: "Builder", tmp_path: Path) -> None:
    image = build.image()
    (written,) = await attach_to(build, tmp_path, image)
    data = (tmp_path / "blobs" / written.digest.replace(":", "/")).read_bytes()
    assert compute(data) == written.digest
    assert json.loads(data) == {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "artifactType": ARTIFACT_TYPE,
        "config": {
            "mediaType": "application/vnd.oci.empty.v1+json",
            "digest": "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
            "size": 2,
        },
        "layers": [
            {
                "mediaType": SPEC_MEDIA_TYPE,
                "digest": compute(build.spec),
                "size": len(build.spec),
                "annotations": {"org.opencontainers.image.title": "image-compatibility-spec.yaml"},
                "data": base64.b64encode(build.spec).decode(),
            }
        ],
        "subject": {"mediaType": image.media_type, "digest": image.digest, "size": len(image.data)},
        "annotations": {"org.opencontainers.image.created": "2026-05-01T12:00:00Z"},
    }
    empty = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert (tmp_path / "blobs" / "sha256" / empty).read_bytes() == b"{}"


async def test_what_was_attached_is_found(build: "Builder", tmp_path: Path) -> None:
    image = build.image()
    (written,) = await attach_to(build, tmp_path, image)
    assert written == Attached(written.digest, image.digest, None, Via.LAYOUT)
    found = (await search_artifact(LayoutStore(tmp_path), image.digest)).artifact
    assert found is not None
    assert (found.digest, found.data, found.created) == (written.digest, build.spec, "2026-05-01T12:00:00Z")


async def test_an_index_is_the_subject_unless_platforms_are_named(build: "Builder", tmp_path: Path) -> None:
    index = build.index((build.image(), "linux/amd64"))
    (written,) = await attach_to(build, tmp_path, index)
    assert written.subject == index.digest


@pytest.mark.parametrize(
    ("platforms", "expected"),
    [
        ("all", [AMD64, ARM64]),
        ([ARM64], [ARM64]),
        ([ARM64, ARM64, AMD64], [AMD64, ARM64]),
        ([AMD64, Platform("linux", "amd64", "v2")], [AMD64]),
    ],
)
async def test_children_are_attached_to_each_once(
    platforms: Any, expected: list[Platform], build: "Builder", tmp_path: Path
) -> None:
    images = {AMD64: build.image(), ARM64: build.image("linux/arm64")}
    attestation = build.document({"config": build.blob(b"{}", "x")})
    claims = ((images[AMD64], "linux/amd64"), (images[ARM64], "linux/arm64/v8"), (images[AMD64], "linux/amd64/v2"))
    index = build.index(*claims, (attestation, "unknown/unknown"))
    written = await attach_to(build, tmp_path, index, platforms)
    assert sorted(one.subject for one in written) == sorted(images[platform].digest for platform in expected)
    for one in written:
        assert (await search_artifact(LayoutStore(tmp_path), one.subject)).artifact is not None


@pytest.mark.parametrize("platforms", ["all", [AMD64]])
async def test_a_single_image_is_attached_to_if_its_config_has_the_platform(
    platforms: Any, build: "Builder", tmp_path: Path
) -> None:
    image = build.image()
    (written,) = await attach_to(build, tmp_path, image, platforms)
    assert written.subject == image.digest


@pytest.mark.parametrize("is_index", [True, False])
async def test_a_platform_without_an_image_writes_nothing(is_index: bool, build: "Builder", tmp_path: Path) -> None:
    root = build.index((build.image(), "linux/amd64")) if is_index else build.image()
    build.write_layout(tmp_path, build.tagged(root, "v1"))
    before = everything(tmp_path)
    with pytest.raises(UsageError, match=r"no image for linux/arm64: it has linux/amd64"):
        await attach_to(build, tmp_path, root, [AMD64, ARM64])
    assert everything(tmp_path) == before


async def test_an_index_without_images_has_nothing_to_attach_to(build: "Builder", tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="lists no image"):
        await attach_to(build, tmp_path, build.index(), "all")


async def test_an_image_that_is_not_there_is_an_error(build: "Builder", tmp_path: Path) -> None:
    build.write_layout(tmp_path)
    with pytest.raises(ImageNotFoundError):
        await attach_to(build, tmp_path, build.image())


@pytest.mark.parametrize("spec", [b"", b"#" * (4 * 1024 * 1024 + 1)])
async def test_no_document_and_too_large_a_document_are_refused(spec: bytes, build: "Builder", tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be attached"):
        await attach_to(build, tmp_path, build.image(), spec=spec)


async def test_the_same_document_again_is_a_newer_artifact(build: "Builder", tmp_path: Path) -> None:
    image = build.image()
    build.write_layout(tmp_path, build.tagged(image, "v1"))
    reference, store = parse_reference(f"oci:{tmp_path}:v1"), LayoutStore(tmp_path)
    digests = []
    for microseconds in (1, 2):
        created = MOMENT + timedelta(microseconds=microseconds)
        (written,) = await attach(store, reference, build.spec, platforms=None, created=created)
        digests.append(written.digest)
    found = (await search_artifact(store, image.digest)).artifact
    assert found is not None
    assert found.digest == digests[1] != digests[0]


def test_dates_are_written_in_utc_and_need_a_zone() -> None:
    assert (
        format_moment(datetime(2026, 5, 1, 14, 0, 0, 5, tzinfo=timezone(timedelta(hours=2))))
        == "2026-05-01T12:00:00.000005Z"
    )
    with pytest.raises(UsageError, match="time zone"):
        format_moment(datetime(2026, 5, 1))  # noqa: DTZ001 - the one without a zone
