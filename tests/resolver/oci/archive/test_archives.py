"""Archives as images: what is known of them, by whom they may be written, and what is refused."""

import asyncio
import contextlib
import gzip
import json
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import ImageNotFoundError, NodeworthyError, RegistryContentError, UsageError
from nodeworthy.images import SearchState
from nodeworthy.platforms import Platform
from nodeworthy_resolver.lookups import parse_registry_reference
from nodeworthy_resolver.oci import look_up, parse_reference
from nodeworthy_resolver.oci.archive import members, open_archive, stream
from nodeworthy_resolver.oci.digests import Digest, compute
from nodeworthy_resolver.oci.manifests import Descriptor
from nodeworthy_resolver.oci.reference import ArchiveReference

if TYPE_CHECKING:
    from tests.conftest import Oras
    from tests.resolver.conftest import Builder
    from tests.resolver.oci.archive.conftest import WriteTar

Pack = Callable[..., Path]
DockerMembers = Callable[..., list[tuple[str, bytes]]]

CRANE = Path(__file__).parent / "crane-0.22.1.tar"
"""``crane pull HOST/team/app:1 FILE`` of an image for linux/amd64: a config without an ending, a compressed layer."""
ORAS_TAG = "docker.io/library/app:1"


def reference_of(text: str) -> ArchiveReference:
    reference = parse_reference(text)
    assert isinstance(reference, ArchiveReference)
    return reference


@pytest.mark.parametrize("name", ["image.tar", "image.tar.gz"])
async def test_a_layout_in_an_archive_is_what_the_folder_is(
    name: str, build: "Builder", pack: Pack, tmp_path: Path
) -> None:
    index = build.index((build.image(), "linux/amd64"), (build.image("linux/arm64"), "linux/arm64"))
    artifact = build.artifact(index)
    build.write_layout(tmp_path / "folder", build.tagged(index, "v1"), build.entry(artifact))
    archive = pack(tmp_path / "folder", name=name)
    by_folder = await look_up(parse_reference(f"oci:{tmp_path}/folder:v1"), None)
    by_archive = await look_up(parse_reference(f"oci-archive:{archive}:v1"), None)
    assert by_archive.images == by_folder.images
    assert by_archive.search == by_folder.search
    assert by_archive.search is not None
    assert by_archive.search.artifact is not None
    assert by_archive.search.artifact.data == build.spec
    assert await look_up(parse_reference(f"oci-archive:{archive}@{index.digest}"), None)


async def test_what_oras_backed_up_is_read(
    referrers_registry: str, oras: "Oras", build: "Builder", tmp_path: Path
) -> None:
    image = build.image("linux/s390x")
    build.write_layout(tmp_path / "folder", build.tagged(image, "v1"))
    name = f"{referrers_registry}/team/app:v1"
    oras("cp", "--from-oci-layout", "folder:v1", "--to-plain-http", name)
    (tmp_path / "spec.yaml").write_bytes(build.spec)
    artifact_type = "application/vnd.nfd.image-compatibility.v1alpha1"
    oras("attach", "--plain-http", "--artifact-type", artifact_type, name, "spec.yaml")
    oras("backup", "--plain-http", "--include-referrers", "--output", "saved.tar", name)
    known = await look_up(parse_reference(f"oci-archive:{tmp_path}/saved.tar:v1"), None)
    assert (known.digest, known.images[0].platform) == (image.digest, Platform("linux", "s390x"))
    assert known.images[0].search is not None
    assert known.images[0].search.state is SearchState.FOUND


async def test_what_crane_saved_is_read_and_its_made_digest_is_said() -> None:
    known = await look_up(parse_reference(f"docker-archive:{CRANE}"), None)
    (image,) = known.images
    assert image.platform == Platform("linux", "amd64")
    assert image.search is not None
    assert image.search.state is SearchState.NONE
    assert "not the one in a registry" in image.search.notices[0]
    again = await look_up(parse_reference(f"docker-archive:{CRANE}:127.0.0.1:42067/team/app:1"), None)
    assert again.digest == known.digest


@pytest.mark.parametrize("name", ["app:1", "docker.io/library/app:1", "library/app:1"])
async def test_an_image_of_docker_save_is_found_by_any_form_of_its_name(
    name: str, write_tar: "WriteTar", docker_members: DockerMembers
) -> None:
    archive = write_tar(*docker_members("other:1", "app:1"), name="saved.tar.gz")
    known = await look_up(parse_reference(f"docker-archive:{archive}:{name}"), None)
    assert known.images[0].platform == Platform("linux", "arm64")
    config = docker_members("app:1")[0][1]
    by_id = await look_up(parse_reference(f"docker-archive:{archive}@{compute(config)}"), None)
    assert by_id.digest == known.digest


async def test_of_several_images_it_must_be_said_which(write_tar: "WriteTar", docker_members: DockerMembers) -> None:
    archive = write_tar(*docker_members("other:1", "app:1"))
    with pytest.raises(ImageNotFoundError, match="holds 2 images") as caught:
        await look_up(parse_reference(f"docker-archive:{archive}"), None)
    assert "other:1, app:1" in caught.value.why
    with pytest.raises(ImageNotFoundError, match="no image 'app:2'"):
        await look_up(parse_reference(f"docker-archive:{archive}:app:2"), None)


async def test_of_several_images_latest_is_meant_and_one_that_is_listed_twice_is_one(
    write_tar: "WriteTar", docker_members: DockerMembers
) -> None:
    archive = write_tar(*docker_members("other:1", "app:latest"))
    config = docker_members("app:latest")[0][1]
    by_id = await look_up(parse_reference(f"docker-archive:{archive}@{compute(config)}"), None)
    assert (await look_up(parse_reference(f"docker-archive:{archive}"), None)).digest == by_id.digest
    with pytest.raises(ImageNotFoundError, match="holds 2 images"):
        await look_up(
            parse_reference(f"docker-archive:{write_tar(*docker_members('other:latest', 'app:latest'))}"), None
        )

    *files, (name, listing) = docker_members("app:1")
    twice = write_tar(*files, (name, json.dumps(json.loads(listing) * 2).encode()))
    for end in ("", ":app:1", f"@{compute(files[0][1])}"):
        assert (await look_up(parse_reference(f"docker-archive:{twice}{end}"), None)).images


async def test_the_layout_that_docker_saves_beside_its_list_counts_and_is_found_by_whole_names(
    build: "Builder", pack: Pack, tmp_path: Path
) -> None:
    # Docker 25 and later, https://docs.docker.com/reference/cli/docker/image/save/: both names stand as annotations.
    first, second = build.image("linux/amd64"), build.image("linux/arm64")
    entries: list[dict[str, Any]] = []
    for image, name in ((first, "docker.io/library/app:1"), (second, "docker.io/library/other:1")):
        said = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": "1"}
        entries.append(build.entry(image, annotations=said))
    build.write_layout(tmp_path / "folder", *entries)
    archive = pack(tmp_path / "folder", ("manifest.json", b"[]"))
    for name, image in (("app:1", first), ("docker.io/library/other:1", second)):
        assert (await look_up(parse_reference(f"docker-archive:{archive}:{name}"), None)).digest == image.digest
    with pytest.raises(ImageNotFoundError, match="holds 2 images") as caught:
        await look_up(parse_reference(f"docker-archive:{archive}"), None)
    assert "docker.io/library/app:1" in caught.value.why


async def test_two_images_tagged_latest_are_not_taken_for_one(build: "Builder", pack: Pack, tmp_path: Path) -> None:
    entries = [
        build.entry(
            build.image(platform),
            annotations={
                "io.containerd.image.name": f"{platform}:latest",
                "org.opencontainers.image.ref.name": "latest",
            },
        )
        for platform in ("linux/amd64", "linux/arm64")
    ]
    build.write_layout(tmp_path / "folder", *entries)
    with pytest.raises(ImageNotFoundError, match="holds 2 images"):
        await look_up(parse_reference(f"docker-archive:{pack(tmp_path / 'folder', ('manifest.json', b'[]'))}"), None)


async def test_an_archive_of_the_other_kind_is_recognised(
    build: "Builder", pack: Pack, write_tar: "WriteTar", docker_members: DockerMembers, tmp_path: Path
) -> None:
    build.write_layout(tmp_path / "folder", build.tagged(build.image(), "v1"))
    for archive, wrong, right in (
        (pack(tmp_path / "folder", name="a.tar"), "docker-archive", "oci-archive"),
        (write_tar(*docker_members("app:1"), name="b.tar"), "oci-archive", "docker-archive"),
    ):
        with pytest.raises(ImageNotFoundError) as caught:
            await look_up(parse_reference(f"{wrong}:{archive}"), None)
        assert caught.value.todo == f"write {right}:{archive}"


async def test_a_config_that_is_not_what_its_name_says_is_refused(
    write_tar: "WriteTar", docker_members: DockerMembers
) -> None:
    (name, config), *rest = docker_members("app:1")
    archive = write_tar((name, config.replace(b"arm64", b"amd64")), *rest)
    with pytest.raises(RegistryContentError, match="not what was asked for"):
        await look_up(parse_reference(f"docker-archive:{archive}"), None)


@pytest.mark.parametrize(
    "listing",
    [b"", b"{}", b"[1]", b'[{"Config": 1}]', b'[{"Config": "missing.json"}]', b"[" * 100_000, b'[{"Config": "../x"}]'],
)
async def test_a_list_that_names_no_config_is_refused(listing: bytes, write_tar: "WriteTar") -> None:
    archive = write_tar(("manifest.json", listing))
    with pytest.raises(RegistryContentError, match=r"manifest\.json in|is missing"):
        await look_up(parse_reference(f"docker-archive:{archive}"), None)


def link(name: str, kind: bytes, target: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, target
    return entry


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
async def test_what_is_no_file_in_the_place_of_one_is_not_followed(
    kind: bytes, build: "Builder", pack: Pack, tmp_path: Path
) -> None:
    build.write_layout(tmp_path / "folder", build.tagged(build.image(), "v1"))
    (tmp_path / "folder" / "index.json").unlink()
    archive = pack(tmp_path / "folder", (link("index.json", kind, "/etc/passwd"), b""))
    with pytest.raises(RegistryContentError, match="it is a link or no ordinary file"):
        await look_up(parse_reference(f"oci-archive:{archive}:v1"), None)


def everything_below(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


async def test_members_that_lead_elsewhere_are_only_names(build: "Builder", pack: Pack, tmp_path: Path) -> None:
    image = build.image()
    build.write_layout(tmp_path / "folder", build.tagged(image, "v1"))
    before = everything_below(tmp_path)
    hostile = [("../../escaped", b"x"), ("/etc/escaped", b"x"), ("blobs/../../escaped", b"x"), ("n" * 5000, b"x")]
    archive = pack(tmp_path / "folder", *hostile, (link("blobs/sha256", tarfile.SYMTYPE, "/etc"), b""))
    assert (await look_up(parse_reference(f"oci-archive:{archive}:v1"), None)).digest == image.digest
    assert everything_below(tmp_path) - before == {archive}


async def test_a_name_that_is_there_twice_is_refused(build: "Builder", pack: Pack, tmp_path: Path) -> None:
    build.write_layout(tmp_path / "folder", build.tagged(build.image(), "v1"))
    other = json.dumps({"schemaVersion": 2, "manifests": [build.tagged(build.image("linux/arm64"), "v1")]}).encode()
    archive = pack(tmp_path / "folder", ("index.json", other))
    with pytest.raises(RegistryContentError, match="more than once"):
        await look_up(parse_reference(f"oci-archive:{archive}:v1"), None)


async def test_a_sparse_file_is_not_read_as_its_bytes(write_tar: "WriteTar") -> None:
    entry = tarfile.TarInfo("manifest.json")
    entry.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "999999999999"}
    with pytest.raises(RegistryContentError, match="no ordinary file"):
        await look_up(parse_reference(f"docker-archive:{write_tar((entry, b'[]'))}"), None)


async def test_a_member_over_its_limit_is_refused_without_being_read(write_tar: "WriteTar") -> None:
    archive = write_tar(("manifest.json", b" " * (4 * 1024 * 1024 + 1)), name="image.tar.gz")
    with pytest.raises(RegistryContentError, match="is too large"):
        await look_up(parse_reference(f"docker-archive:{archive}"), None)


async def test_an_archive_that_unpacks_to_far_more_than_it_is_is_given_up(
    write_tar: "WriteTar", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "_FREE", 1024)
    archive = write_tar(("zeros", b"\0" * 3_000_000), ("manifest.json", b"[]"), name="image.tar.gz")
    with pytest.raises(RegistryContentError, match="unpack to more than") as caught:
        await look_up(parse_reference(f"docker-archive:{archive}"), None)
    assert "gunzip" in caught.value.todo


async def test_a_header_about_the_next_member_is_bounded(
    write_tar: "WriteTar", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members, "MAX_EXTENSION", 2000)
    archive = write_tar(("n" * 3000, b"x"), ("manifest.json", b"[]"))
    with pytest.raises(RegistryContentError, match="more than 2000 bytes"):
        await look_up(parse_reference(f"docker-archive:{archive}"), None)


async def test_the_number_of_members_is_bounded(write_tar: "WriteTar", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "MAX_MEMBERS", 3)
    with pytest.raises(RegistryContentError, match="more than 3 members"):
        await look_up(parse_reference(f"docker-archive:{write_tar(*[(str(n), b'') for n in range(4)])}"), None)


async def test_what_is_not_kept_of_a_compressed_archive_is_unpacked_again(
    build: "Builder", pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = build.image()
    build.write_layout(tmp_path / "folder", build.tagged(image, "v1"))
    archive = pack(tmp_path / "folder", name="image.tgz")
    monkeypatch.setattr(members, "MAX_KEPT", 0)
    assert (await look_up(parse_reference(f"oci-archive:{archive}:v1"), None)).digest == image.digest


@pytest.mark.parametrize("cut", [0, 100, 512, 700, 1024, 1100])
async def test_an_archive_that_is_cut_off_is_an_error_wherever(
    cut: int, write_tar: "WriteTar", docker_members: DockerMembers
) -> None:
    archive = write_tar(*docker_members("app:1"))
    archive.write_bytes(archive.read_bytes()[:cut])
    with pytest.raises((RegistryContentError, ImageNotFoundError), match=str(archive)):
        await look_up(parse_reference(f"docker-archive:{archive}"), None)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\x28\xb5\x2f\xfd....", "zstd -d"),
        (b"\xfd7zXZ\0....", "xz -d"),
        (b"BZh91AY", "bzip2 -d"),
        (b"\x1f\x8b\x08\0nonsense", "does not decompress"),
        (b"PK\x03\x04" + b"x" * 600, "no tar archive"),
        (b"", "it is empty"),
    ],
)
async def test_what_is_no_tar_is_named(data: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(RegistryContentError) as caught:
        await look_up(parse_reference(f"oci-archive:{tmp_path}/a"), None)
    assert says in " ".join(caught.value.diagnostics())


async def test_a_file_that_is_not_there_is_not_found_and_a_folder_is_no_archive(tmp_path: Path) -> None:
    with pytest.raises(ImageNotFoundError, match="is not there"):
        await look_up(parse_reference(f"oci-archive:{tmp_path}/missing.tar"), None)
    with pytest.raises(NodeworthyError, match="not an ordinary file"):
        await look_up(parse_reference(f"docker-archive:{tmp_path}"), None)


@pytest.mark.parametrize("text", ["oci-archive:/x.tar", "docker-archive:/x.tar:app:1", "/x.sif", "sif:/x"])
def test_files_of_the_resolvers_machine_are_not_shown_to_the_bus(text: str) -> None:
    with pytest.raises(UsageError, match="is not asked"):
        parse_registry_reference(text)


@given(
    changes=st.lists(st.tuples(st.integers(0, 4095), st.binary(min_size=1, max_size=4)), max_size=4),
    is_compressed=st.booleans(),
)
def test_a_damaged_archive_is_read_or_refused(changes: list[tuple[int, bytes]], *, is_compressed: bool) -> None:
    data = bytearray(gzip.compress(CRANE.read_bytes()) if is_compressed else CRANE.read_bytes())
    for place, new in changes:
        data[place % len(data) : place % len(data) + len(new)] = new
    with tempfile.NamedTemporaryFile() as file, contextlib.suppress(NodeworthyError):
        file.write(data)
        file.flush()
        known = asyncio.run(look_up(parse_reference(f"docker-archive:{file.name}"), None))
        assert len(known.images) == 1


async def test_only_configs_are_read_from_what_docker_save_wrote() -> None:
    with open_archive(reference_of(f"docker-archive:{CRANE}")) as store:
        content = await store.resolve("")
        assert (await store.read_manifest(content.digest)).data == content.data
        layer = Descriptor(
            digest=Digest("sha256:a195b727308c76b9cc5139eda3ce955ecdd15c0e4eca676f8f2f5c4df64c0698"), size=100
        )
        with pytest.raises(ImageNotFoundError, match="no image's config"):
            await store.read_blob(layer, 1000)
        with pytest.raises(ImageNotFoundError):
            await store.read_manifest(Digest("sha256:" + "0" * 64))
