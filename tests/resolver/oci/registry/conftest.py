"""One image in the misbehaving registry, and what a client makes of it."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from nodeworthy.images import ArtifactSearch, ImageKnowledge
from nodeworthy_resolver.oci import parse_reference, resolve_image
from nodeworthy_resolver.oci.reference import Reference
from nodeworthy_resolver.oci.store import Content

if TYPE_CHECKING:
    from tests.resolver.conftest import Builder, FaultyRegistry, OpenClient


class Resolve(Protocol):
    """Resolves an image, with a client of its own whose access has these fields."""

    async def __call__(self, name: str, **access: Any) -> ImageKnowledge: ...


class Search(Protocol):
    """The search for a single image's artifact."""

    async def __call__(self, name: str) -> ArtifactSearch: ...


@pytest.fixture
def image(build: "Builder", faulty: "FaultyRegistry") -> Content:
    """The image ``v1`` of the registry."""
    faulty.tags["v1"] = build.image()
    return faulty.tags["v1"]


@pytest.fixture
def resolve(open_client: "OpenClient") -> Resolve:
    """Resolves."""

    async def run(name: str, **access: Any) -> ImageKnowledge:
        reference = parse_reference(name)
        assert isinstance(reference, Reference)
        async with open_client(**access) as client:
            return await resolve_image(client.store(reference), reference, None)

    return run


@pytest.fixture
def search(resolve: Resolve) -> Search:
    """Searches."""

    async def run(name: str) -> ArtifactSearch:
        found = (await resolve(name)).images[0].search
        assert found is not None
        return found

    return run


@pytest.fixture
def mirrored(tmp_path: Path) -> Callable[[str], Path]:
    """Writes hosts.toml for the registry ``registry.test``, which does not exist; the folder certs.d."""

    def write(text: str) -> Path:
        folder = tmp_path / "certs.d" / "registry.test"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "hosts.toml").write_text(text)
        return tmp_path / "certs.d"

    return write
