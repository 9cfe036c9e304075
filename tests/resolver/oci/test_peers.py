"""What the stock oras made we read, and what we attach it finds; in real registries and in a layout folder."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import oras.client
import oras.oci
import pytest

from nodeworthy.errors import RegistryDeniedError
from nodeworthy.images import ARTIFACT_TYPE, SPEC_MEDIA_TYPE, ImageKnowledge, SearchState
from nodeworthy.platforms import Platform
from nodeworthy_resolver.oci import RegistryAccess, Via, attach, open_store, parse_reference, resolve_image
from nodeworthy_resolver.oci.store import Content

if TYPE_CHECKING:
    from tests.conftest import Oras, SecuredRegistry
    from tests.resolver.conftest import Builder

AMD64 = Platform("linux", "amd64")
CREATED = datetime(2026, 5, 1, 12, tzinfo=UTC)


class Peer:
    """A place that both the stock oras and we read and write, with one image of two platforms in it."""

    def __init__(
        self, oras: "Oras", name: str, flags: list[str], access: RegistryAccess, via: Via = Via.FALLBACK_TAG
    ) -> None:
        self._oras = oras
        self.via = via
        """How what is attached here is found."""
        self._flags = flags
        self._access = access
        self.name = name
        """As oras is told it; we are told the same, behind ``oci:`` for a folder."""

    @property
    def reference(self) -> str:
        return f"oci:{self.name}" if self._flags == ["--oci-layout"] else self.name

    def oras(self, command: str, *args: str, name: str | None = None) -> str:
        """A command of oras on this place."""
        return self._oras(command, *self._flags, name or self.name, *args).stdout

    async def resolve(self, *platforms: Platform) -> ImageKnowledge:
        reference = parse_reference(self.reference)
        async with open_store(reference, self._access) as store:
            return await resolve_image(store, reference, platforms or None)

    async def attach(self, spec: bytes, platforms: Any = None) -> tuple[str, Via]:
        reference = parse_reference(self.reference)
        async with open_store(reference, self._access) as store:
            (written,) = await attach(store, reference, spec, platforms=platforms, created=CREATED)
        return written.digest, written.via


@pytest.fixture
def index(build: "Builder", tmp_path: Path) -> Content:
    """An index in the layout folder ``layout`` of the folder where oras runs."""
    index = build.index((build.image(), "linux/amd64"), (build.image("linux/arm64"), "linux/arm64"))
    (tmp_path / "layout").mkdir()
    build.write_layout(tmp_path / "layout", build.tagged(index, "v1"))
    (tmp_path / "spec.yaml").write_bytes(build.spec)
    return index


@pytest.fixture(params=["referrers_registry", "distribution_registry", "layout"])
def peer(
    request: pytest.FixtureRequest, oras: "Oras", index: Content, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Peer:
    assert index
    if request.param == "layout":
        monkeypatch.chdir(tmp_path)
        return Peer(oras, "layout:v1", ["--oci-layout"], RegistryAccess(), Via.LAYOUT)
    host = request.getfixturevalue(request.param)
    oras("cp", "--from-oci-layout", "layout:v1", "--to-plain-http", f"{host}/team/app:v1")
    via = Via.REFERRERS_API if request.param == "referrers_registry" else Via.FALLBACK_TAG
    return Peer(oras, f"{host}/team/app:v1", ["--plain-http"], RegistryAccess(plain_http=True), via)


@pytest.mark.parametrize("file", [f"spec.yaml:{SPEC_MEDIA_TYPE}", "spec.yaml"])
async def test_what_oras_attached_is_read_with_and_without_the_files_type(
    file: str, peer: Peer, index: Content, build: "Builder"
) -> None:
    peer.oras("attach", "--artifact-type", ARTIFACT_TYPE, file)
    found = (await peer.resolve(AMD64)).search
    assert found is not None
    assert found.state is SearchState.FOUND
    assert found.artifact is not None
    assert (found.artifact.data, found.artifact.subject) == (build.spec, index.digest)
    assert len(found.notices) == (0 if SPEC_MEDIA_TYPE in file else 1)


async def test_what_oras_attached_to_a_child_is_found_at_the_child(
    peer: Peer, build: "Builder", index: Content
) -> None:
    child = json.loads(index.data)["manifests"][1]["digest"]
    name = f"{peer.name.removesuffix(':v1')}@{child}"
    peer.oras("attach", "--artifact-type", ARTIFACT_TYPE, "spec.yaml", name=name)
    knowledge = await peer.resolve()
    assert knowledge.search is not None
    states = [image.search.state for image in knowledge.images if image.search]
    assert [knowledge.search.state, *states] == [SearchState.NONE, SearchState.NONE, SearchState.FOUND]
    assert build.spec == knowledge.images[1].search.artifact.data  # type: ignore[union-attr] # found, by the line above


async def test_of_what_oras_attached_other_types_are_passed_over(peer: Peer) -> None:
    peer.oras("attach", "--artifact-type", "application/vnd.k8s.nfd.image-compatibility.v1", "spec.yaml")
    found = (await peer.resolve(AMD64)).search
    assert found is not None
    assert found.state is SearchState.NONE
    assert "application/vnd.k8s.nfd.image-compatibility.v1" in found.notices[0]


@pytest.mark.parametrize("platforms", [None, [AMD64]])
async def test_what_we_attach_oras_discovers_and_pulls(
    platforms: Any, peer: Peer, index: Content, tmp_path: Path, build: "Builder"
) -> None:
    digest, via = await peer.attach(build.spec, platforms)
    assert via is peer.via
    flags = ["--platform", "linux/amd64"] if platforms else []
    listed = json.loads(peer.oras("discover", "--format", "json", "--artifact-type", ARTIFACT_TYPE, *flags))
    assert [one["digest"] for one in listed["referrers"]] == [digest]
    assert listed["referrers"][0]["annotations"] == {"org.opencontainers.image.created": "2026-05-01T12:00:00Z"}
    assert (listed["digest"] == index.digest) == (platforms is None)
    peer.oras("pull", "-o", "pulled", name=f"{peer.name.removesuffix(':v1')}@{digest}")
    assert (tmp_path / "pulled" / "image-compatibility-spec.yaml").read_bytes() == build.spec


async def test_ours_and_theirs_stand_side_by_side_and_the_newest_counts(peer: Peer, build: "Builder") -> None:
    annotation = "org.opencontainers.image.created=2026-06-01T00:00:00Z"
    peer.oras("attach", "--artifact-type", ARTIFACT_TYPE, "--annotation", annotation, "spec.yaml")
    await peer.attach(b"older")
    peer.oras("attach", "--artifact-type", "application/x", "spec.yaml")
    found = (await peer.resolve(AMD64)).search
    assert found is not None
    assert found.artifact is not None
    assert found.artifact.data == build.spec
    assert len(json.loads(peer.oras("discover", "--format", "json"))["referrers"]) == 3


@pytest.mark.parametrize("kind", ["distribution_basic_registry", "distribution_token_registry"])
async def test_a_registry_with_a_login_is_read_and_written_with_it_and_not_without(
    kind: str, request: pytest.FixtureRequest, oras: "Oras", index: Content, build: "Builder", docker_config: Any
) -> None:
    registry: SecuredRegistry = request.getfixturevalue(kind)
    login = ["--to-username", registry.username, "--to-password", registry.password]
    oras("cp", "--from-oci-layout", "layout:v1", "--to-plain-http", *login, f"{registry.host}/team/app:v1")
    config = docker_config(auths={registry.host: {"username": registry.username, "password": registry.password}})
    peer = Peer(oras, f"{registry.host}/team/app:v1", [], RegistryAccess(plain_http=True, config=config))
    digest, _ = await peer.attach(build.spec)
    knowledge = await peer.resolve()
    assert knowledge.digest == index.digest
    assert knowledge.search is not None
    assert knowledge.search.artifact is not None
    assert knowledge.search.artifact.digest == digest
    stranger = Peer(oras, peer.name, [], RegistryAccess(plain_http=True))
    with pytest.raises(RegistryDeniedError):
        await stranger.resolve()


async def test_everybody_reads_a_public_registry_and_writes_only_with_a_login(
    distribution_public_registry: "SecuredRegistry", oras: "Oras", index: Content, build: "Builder", docker_config: Any
) -> None:
    registry = distribution_public_registry
    login = ["--to-username", registry.username, "--to-password", registry.password]
    oras("cp", "--from-oci-layout", "layout:v1", "--to-plain-http", *login, f"{registry.host}/team/app:v1")
    stranger = Peer(oras, f"{registry.host}/team/app:v1", [], RegistryAccess(plain_http=True))
    assert (await stranger.resolve()).digest == index.digest
    with pytest.raises(RegistryDeniedError):
        await stranger.attach(build.spec)
    config = docker_config(auths={registry.host: {"username": registry.username, "password": registry.password}})
    owner = Peer(oras, stranger.name, [], RegistryAccess(plain_http=True, config=config))
    digest, _ = await owner.attach(build.spec)
    found = (await stranger.resolve()).search
    assert found is not None
    assert found.artifact is not None
    assert found.artifact.digest == digest


async def test_what_oras_py_pushed_with_a_subject_is_found_where_the_registry_lists_it(
    referrers_registry: str,
    oras: "Oras",
    index: Content,
    build: "Builder",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    oras("cp", "--from-oci-layout", "layout:v1", "--to-plain-http", f"{referrers_registry}/team/app:v1")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    client = oras_client(referrers_registry)
    client.push(
        target=f"{referrers_registry}/team/app:spec",
        files=[f"spec.yaml:{SPEC_MEDIA_TYPE}"],
        manifest_config=f"config.json:{ARTIFACT_TYPE}",
        subject=oras_subject(index),
    )
    peer = Peer(oras, f"{referrers_registry}/team/app:v1", [], RegistryAccess(plain_http=True))
    found = (await peer.resolve(AMD64)).search
    assert found is not None
    assert found.artifact is not None
    assert found.artifact.data == build.spec


async def test_oras_py_pulls_what_we_attach(
    distribution_registry: str, oras: "Oras", index: Content, build: "Builder", tmp_path: Path
) -> None:
    assert index
    oras("cp", "--from-oci-layout", "layout:v1", "--to-plain-http", f"{distribution_registry}/team/app:v1")
    peer = Peer(oras, f"{distribution_registry}/team/app:v1", [], RegistryAccess(plain_http=True))
    digest, _ = await peer.attach(build.spec)
    pulled = oras_client(distribution_registry).pull(
        target=f"{distribution_registry}/team/app@{digest}", outdir=str(tmp_path / "pulled")
    )
    assert [contents(path) for path in pulled] == [build.spec]


def contents(path: str) -> bytes:
    return Path(path).read_bytes()


def oras_client(host: str) -> Any:
    """The client of the oras package, which has no types."""
    return oras.client.OrasClient(hostname=host, insecure=True)


def oras_subject(content: Content) -> Any:
    """A subject as the oras package wants it."""
    return oras.oci.Subject(mediaType=content.media_type, digest=content.digest, size=len(content.data))


async def test_distribution_is_read_as_the_mirror_of_another_registry(
    oras: "Oras", index: Content, distribution_registry: str, tmp_path: Path
) -> None:
    oras("cp", "--from-oci-layout", "layout:v1", "--to-plain-http", f"{distribution_registry}/team/app:v1")
    folder = tmp_path / "certs.d" / "_default"
    folder.mkdir(parents=True)
    (folder / "hosts.toml").write_text(f'[host."http://{distribution_registry}"]\ncapabilities = ["pull", "resolve"]')
    reference = parse_reference("registry.invalid/team/app:v1")
    async with open_store(reference, RegistryAccess(hosts_folder=folder.parent)) as store:
        found = await resolve_image(store, reference, None)
    assert found.digest == index.digest
    assert all(image.configured for image in found.images)
