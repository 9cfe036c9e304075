"""Attaching over the bus: who may, what is refused, and that everybody finds it at once."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from nodeworthy.bus.requests import ErrorCode
from nodeworthy.errors import BusDeniedError, BusRequestError
from nodeworthy.images import SearchState

if TYPE_CHECKING:
    from tests.conftest import Oras
    from tests.resolver.app.conftest import Person, Start
    from tests.resolver.conftest import Builder, FaultyRegistry


def push(oras: "Oras", build: "Builder", folder: Path, host: str) -> str:
    """An image in a real registry; its name."""
    image = build.image()
    build.write_layout(folder / "layout", build.tagged(image, "v1"))
    oras("copy", "--from-oci-layout", f"{folder / 'layout'}:v1", "--to-plain-http", f"{host}/team/app:v1")
    return f"{host}/team/app:v1"


@pytest.mark.parametrize("registry", ["referrers_registry", "distribution_registry"])
async def test_what_is_attached_is_found_at_once_by_everybody(
    registry: str,
    start: "Start",
    author: "Person",
    oras: "Oras",
    build: "Builder",
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    for _ in range(2):
        await start(allow_attach=True)
    name = push(oras, build, tmp_path, request.getfixturevalue(registry))
    assert [await author.state(name) for _ in range(10)] == [SearchState.NONE] * 10
    attached = (await author.attach(name, build.spec)).attached[0]
    for _ in range(10):  # either replica
        reply = await author.look(name)
        search = reply.knowledge.images[0].search
        assert search
        assert search.artifact
        assert (search.artifact.digest, search.artifact.data) == (attached.digest, build.spec)
    assert attached.digest in oras("discover", "--plain-http", name).stdout


async def test_attaching_is_refused_unless_it_is_allowed(
    start: "Start", author: "Person", faulty: "FaultyRegistry", build: "Builder"
) -> None:
    await start()
    faulty.tags["v1"] = build.image()
    with pytest.raises(BusRequestError, match="not allowed") as caught:
        await author.attach(faulty.name, build.spec)
    assert caught.value.code == ErrorCode.DENIED
    assert faulty.seen == []


async def test_a_reader_may_not_ask_for_it_at_all(
    start: "Start", reader: "Person", faulty: "FaultyRegistry", build: "Builder"
) -> None:
    await start(allow_attach=True)
    with pytest.raises(BusDeniedError):
        await reader.attach(faulty.name, build.spec)
    assert faulty.seen == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spec": b"version: v1alpha1\n"}, "no compatibility set"),
        ({"spec": b"version: v2\ncompatibilities: []\n"}, "v2"),
        ({"spec": b"\xff\xfe"}, "not UTF-8"),
        ({"spec": b""}, "is not valid|declares nothing"),
        ({"title": "../../etc/passwd"}, "no title"),
        ({"platforms": ("linux",)}, "not a platform"),
        ({"platforms": ("linux/amd64",), "all_platforms": True}, "both all platforms and some"),
        ({"reference": "oci:/tmp"}, "no folders"),
    ],
    ids=["no sets", "an unknown version", "no text", "nothing", "a path", "half a platform", "both", "a folder"],
)
async def test_a_wrong_order_is_refused_before_the_registry_is_asked(
    change: dict[str, Any],
    message: str,
    start: "Start",
    author: "Person",
    faulty: "FaultyRegistry",
    build: "Builder",
) -> None:
    await start(allow_attach=True)
    faulty.tags["v1"] = build.image()
    with pytest.raises(BusRequestError, match=message) as caught:
        await author.attach(**({"reference": faulty.name, "spec": build.spec} | change))
    assert caught.value.code == ErrorCode.BAD_REQUEST
    assert faulty.seen == []


async def test_attaching_to_a_child_says_to_which(
    start: "Start", author: "Person", faulty: "FaultyRegistry", build: "Builder"
) -> None:
    await start(allow_attach=True)
    amd, arm = build.image(), build.image("linux/arm64")
    faulty.tags["v1"] = build.index((amd, "linux/amd64"), (arm, "linux/arm64"))
    await author.look(faulty.name)
    attached = (await author.attach(faulty.name, build.spec, platforms=("linux/arm64",))).attached
    assert [(one.subject, one.platform, one.via) for one in attached] == [(arm.digest, "linux/arm64", "fallback-tag")]
    states = [image.search.state for image in (await author.look(faulty.name)).knowledge.images if image.search]
    assert states == [SearchState.NONE, SearchState.FOUND]
