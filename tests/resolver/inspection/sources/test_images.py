import gzip
import json
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import zstandard
from tests.resolver.inspection.sources.conftest import SCRIPT, config_of, pack

from nodeworthy.errors import ImageNotFoundError, InspectionError, NodeworthyError, UsageError
from nodeworthy.platforms import Platform
from nodeworthy_resolver.inspection.layers import Bounds
from nodeworthy_resolver.inspection.sources import ReadingOptions, open_image
from nodeworthy_resolver.oci import digests, parse_reference
from nodeworthy_resolver.oci.manifests import IMAGE_CONFIG

if TYPE_CHECKING:
    from tests.resolver.conftest import Builder
    from tests.resolver.inspection.sources.conftest import MakeImage

LOWER, UPPER = pack({"run": b"#!old", "gone": b"x"}), pack({"run": SCRIPT, ".wh.gone": b""})
AMD64, ARM64 = Platform("linux", "amd64"), Platform("linux", "arm64")


async def test_an_image_of_a_layout_folder_is_its_layers_and_its_config(
    build: "Builder", make_image: "MakeImage", tmp_path: Path
) -> None:
    image = make_image(
        gzip.compress(LOWER),
        zstandard.compress(UPPER),
        Entrypoint=["/run"],
        Cmd=["-x"],
        Env=["A=b=c", "strange"],
        WorkingDir="srv/",
        Labels={"a": "b"},
    )
    folder = build.write_layout(tmp_path / "layout", build.entry(image))
    told: list[tuple[int, int]] = []

    async with open_image(
        parse_reference(f"oci:{folder}"), reading=ReadingOptions(lambda *said: told.append(said))
    ) as opened:
        assert opened.tree.names("/") == ["run"]
        assert opened.tree.read("/run") == SCRIPT
        assert opened.digest == image.digest
        assert opened.unexplored() == ()
        config = opened.config

    assert (config.entrypoint, config.command, config.working_folder) == (("/run",), ("-x",), "/srv")
    assert (config.environment, config.labels, config.platform) == ({"A": "b=c"}, {"a": "b"}, AMD64)
    total = len(gzip.compress(LOWER)) + len(zstandard.compress(UPPER))
    assert told[-1] == (total, total)


async def test_the_platform_chooses_from_an_index(build: "Builder", make_image: "MakeImage", tmp_path: Path) -> None:
    one = make_image(pack({"one": b""}))
    other = make_image(pack({"other": b""}), architecture="arm64")
    index = build.index((one, "linux/amd64"), (other, "linux/arm64/v8"))
    reference = parse_reference(f"oci:{build.write_layout(tmp_path / 'layout', build.entry(index))}")

    async with open_image(reference, ARM64) as opened:
        assert opened.tree.names("/") == ["other"]
        assert (opened.digest, opened.config.platform) == (other.digest, ARM64)
    with pytest.raises(UsageError, match="2 images") as silent:
        async with open_image(reference):
            pass
    assert silent.value.why == "it has linux/amd64, linux/arm64"
    with pytest.raises(ImageNotFoundError, match="no image for linux/s390x"):
        async with open_image(reference, Platform("linux", "s390x")):
            pass


async def test_what_only_the_index_says_of_the_platform_counts(
    build: "Builder", make_image: "MakeImage", tmp_path: Path
) -> None:
    image = make_image(pack({"one": b""}), system="", architecture="")
    folder = build.write_layout(tmp_path / "layout", build.entry(build.index((image, "linux/arm64"))))
    pinned = parse_reference(f"oci:{folder}@{image.digest}")

    async with open_image(parse_reference(f"oci:{folder}"), ARM64) as opened:
        assert opened.config.platform == ARM64
    async with open_image(pinned, reading=ReadingOptions(claimed=ARM64)) as opened:
        assert opened.config.platform == ARM64
    async with open_image(pinned) as opened:
        assert opened.config.platform is None


async def test_a_missing_or_damaged_layer_is_told(build: "Builder", make_image: "MakeImage", tmp_path: Path) -> None:
    image = make_image(LOWER)
    folder = build.write_layout(tmp_path / "layout", build.entry(image))
    blob = folder / "blobs" / digests.compute(LOWER).replace(":", "/")
    reference = parse_reference(f"oci:{folder}")

    blob.write_bytes(UPPER)
    with pytest.raises(InspectionError, match="not what the image names"):
        async with open_image(reference):
            pass
    blob.unlink()
    with pytest.raises(ImageNotFoundError, match="is not in"):
        async with open_image(reference):
            pass


@pytest.mark.parametrize(
    ("media_type", "why"),
    [
        ("application/vnd.oci.image.layer.v1.tar+gzip+encrypted", "encrypted"),
        ("application/vnd.sylabs.image.layer.v1.squashfs", "no tar"),
        ("application/vnd.oci.image.layer.nondistributable.v1.tar+gzip", "not to be distributed"),
    ],
)
async def test_a_layer_that_cannot_be_read_leaves_nothing_to_say(
    build: "Builder", make_image: "MakeImage", tmp_path: Path, media_type: str, why: str
) -> None:
    image = make_image(LOWER, build.blob(b"other", media_type))
    folder = build.write_layout(tmp_path / "layout", build.entry(image))

    with pytest.raises(InspectionError, match=why):
        async with open_image(parse_reference(f"oci:{folder}")):
            pass


async def test_the_base_of_windows_is_elsewhere_and_told(
    build: "Builder", make_image: "MakeImage", tmp_path: Path
) -> None:
    foreign = "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"
    base = {"mediaType": foreign, "digest": digests.compute(b"base"), "size": 4, "urls": ["https://example.com/base"]}
    image = make_image(base, pack({"Files/app/run.exe": b"MZ"}), system="windows")
    folder = build.write_layout(tmp_path / "layout", build.entry(image))

    async with open_image(parse_reference(f"oci:{folder}")) as opened:
        assert [path for path, _ in opened.tree.walk()] == ["/app", "/app/run.exe"]
        assert [one.why for one in opened.unexplored()] == ["a base layer of Windows that registries do not hold"]


async def test_an_artifact_is_no_image(build: "Builder", make_image: "MakeImage", tmp_path: Path) -> None:
    made = build.artifact(make_image(LOWER))
    folder = build.write_layout(tmp_path / "layout", build.entry(made))

    with pytest.raises(InspectionError, match="no image that is run"):
        async with open_image(parse_reference(f"oci:{folder}@{made.digest}")):
            pass


Members = dict[str, bytes | tarfile.TarInfo]


def saved(*, layers: tuple[bytes, ...] = (LOWER, UPPER), diff_ids: tuple[bytes, ...] = (LOWER, UPPER)) -> Members:
    """What ``docker save`` up to version 24 writes."""
    config = config_of(*diff_ids)
    name = f"{digests.compute(config).removeprefix('sha256:')}.json"
    names = [f"{number:064x}/layer.tar" for number in range(len(layers))]
    listing = [{"Config": name, "RepoTags": ["app:1"], "Layers": names}]
    return {
        **dict(zip(names, layers, strict=True)),
        name: config,
        "manifest.json": json.dumps(listing).encode(),
    }


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes an archive."""

    def make(members: Members, name: str = "image.tar") -> Path:
        data = pack(members)
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return tmp_path / name

    return make


@pytest.mark.parametrize("name", ["image.tar", "image.tar.gz"])
async def test_an_archive_of_docker_save_is_read_plain_and_compressed(write: Callable[..., Path], name: str) -> None:
    async with open_image(parse_reference(f"docker-archive:{write(saved(), name)}")) as opened:
        assert opened.tree.names("/") == ["run"]
        assert opened.tree.read("/run") == SCRIPT


async def test_layers_of_an_archive_may_be_compressed_and_links_to_others(write: Callable[..., Path]) -> None:
    members = saved(layers=(gzip.compress(LOWER), UPPER, b""), diff_ids=(LOWER, UPPER, LOWER))
    members[f"{2:064x}/layer.tar"] = link = tarfile.TarInfo()
    link.type, link.linkname = tarfile.SYMTYPE, f"../{0:064x}/layer.tar"

    async with open_image(parse_reference(f"docker-archive:{write(members)}")) as opened:
        assert opened.tree.names("/") == ["gone", "run"]
        assert opened.tree.read("/run") == b"#!old"


@pytest.mark.parametrize(
    ("members", "why"),
    [
        (saved(diff_ids=(LOWER, LOWER)), "not what the image names"),
        (saved(diff_ids=(LOWER,)), "2 layers of the image, and its config names 1"),
        ({name: data for name, data in saved().items() if not name.startswith("0")}, "manifest.json names it"),
    ],
)
async def test_an_archive_whose_layers_are_not_those_of_its_config_is_refused(
    write: Callable[..., Path], members: Members, why: str
) -> None:
    with pytest.raises(NodeworthyError, match=re.escape(why)):
        async with open_image(parse_reference(f"docker-archive:{write(members)}")):
            pass


@pytest.mark.parametrize("name", ["image.tar", "image.tar.gz"])
async def test_a_layout_in_an_archive_is_read(
    build: "Builder", make_image: "MakeImage", tmp_path: Path, write: Callable[..., Path], name: str
) -> None:
    image = make_image(gzip.compress(LOWER), zstandard.compress(UPPER))
    folder = build.write_layout(tmp_path / "layout", build.entry(image))
    members = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    async with open_image(parse_reference(f"oci-archive:{write(members, name)}")) as opened:
        assert opened.tree.read("/run") == SCRIPT
        assert opened.digest == image.digest


async def test_of_a_sif_file_the_architecture_is_known_and_no_file() -> None:
    real = Path(__file__).parents[2] / "oci" / "sif" / "siftool-2.24.2-arm64.sif"

    async with open_image(parse_reference(str(real))) as opened:
        assert opened.config.platform == Platform("linux", "arm64")
        assert list(opened.tree.walk()) == []
        assert "SquashFS" in opened.unexplored()[0].why


async def test_configs_that_old_builders_wrote_are_read(build: "Builder", tmp_path: Path) -> None:
    section = {"Entrypoint": "/run", "Cmd": None, "Labels": {"a": None}, "Env": None}
    config = json.dumps({"os": "linux", "architecture": "amd64", "config": section}).encode()
    image = build.document({"config": build.blob(config, IMAGE_CONFIG), "layers": []})
    folder = build.write_layout(tmp_path / "layout", build.entry(image))

    async with open_image(parse_reference(f"oci:{folder}")) as opened:
        assert opened.config.entrypoint == ("/run",)
        assert (opened.config.command, opened.config.labels, opened.config.working_folder) == ((), {"a": ""}, "/")


async def test_contents_are_kept_in_a_file_that_nobody_else_sees_and_that_is_gone_afterwards(
    build: "Builder", make_image: "MakeImage", tmp_path: Path
) -> None:
    folder = build.write_layout(tmp_path / "layout", build.entry(make_image(LOWER)))
    kept = tmp_path / "kept"
    kept.mkdir()
    reading = ReadingOptions(folder=kept)

    async with open_image(parse_reference(f"oci:{folder}"), reading=reading) as opened:
        assert list(kept.iterdir()) == []
        assert opened.tree.read("/run") == b"#!old"
    with pytest.raises(InspectionError, match="cannot be kept") as full:
        async with open_image(parse_reference(f"oci:{folder}"), reading=ReadingOptions(folder=tmp_path / "none")):
            pass
    assert "TMPDIR" in full.value.todo
    with pytest.raises(InspectionError, match="more than 1 entries"):
        async with open_image(parse_reference(f"oci:{folder}"), reading=ReadingOptions(bounds=Bounds(entries=1))):
            pass
