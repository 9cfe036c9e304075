"""What files say, asked on the bus: begun, waited for, kept for other resolvers, and found anew by a newer engine."""

import asyncio
from typing import TYPE_CHECKING

import msgspec
import pytest
from tests.resolver.app.conftest import NAMES
from tests.resolver.inspection.elves import Made
from tests.resolver.inspection.sources.conftest import LAYER, config_of
from tests.resolver.inspection.test_apart import LAYERS, image_of, packed

from nodeworthy.bus import keys, payloads
from nodeworthy.bus.connection import connect
from nodeworthy.bus.images import InspectionRecord
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.requests import Inspect, ResolveRequest
from nodeworthy.bus.resolving import resolve
from nodeworthy.bus.store import Store
from nodeworthy.requirements import Inspection
from nodeworthy_resolver.inspection.limits import ENGINE
from nodeworthy_resolver.oci.manifests import IMAGE_CONFIG
from nodeworthy_resolver.settings import InspectionSettings, InspectWhen

if TYPE_CHECKING:
    from tests.resolver.app.conftest import Bus, Person, Start
    from tests.resolver.conftest import Builder, FaultyRegistry


async def look(reader: "Person", reference: str, inspect: Inspect) -> Inspection | None:
    """What is known of the files of the only image."""
    request = ResolveRequest(reference=reference, inspect=inspect)
    reply = await resolve(reader.connection, NAMES, request, seconds=60)
    return reply.knowledge.images[0].inspection


def codes(found: Inspection | None) -> list[str]:
    assert found is not None
    return [one.code for one in found.defects]


@pytest.fixture(autouse=True)
def image(build: "Builder", faulty: "FaultyRegistry") -> str:
    """The image ``v1``, which lacks a library, by its digest."""
    faulty.tags["v1"] = image_of(build, *LAYERS)
    return faulty.tags["v1"].digest


async def test_whoever_waits_is_told_and_others_learn_of_it(
    start: "Start", reader: "Person", faulty: "FaultyRegistry"
) -> None:
    await start()
    assert await look(reader, faulty.name, Inspect.KNOWN) is None

    assert codes(await look(reader, faulty.name, Inspect.WAIT)) == ["library-missing"]
    assert codes(await look(reader, faulty.name, Inspect.KNOWN)) == ["library-missing"]


async def test_what_was_begun_is_there_a_little_later(
    start: "Start", reader: "Person", faulty: "FaultyRegistry"
) -> None:
    await start()
    assert await look(reader, faulty.name, Inspect.START) is None

    assert codes(await look(reader, faulty.name, Inspect.WAIT)) == ["library-missing"]
    layers = {layer["digest"] for layer in msgspec.json.decode(faulty.tags["v1"].data)["layers"]}
    for layer in layers:
        assert len(faulty.asked("GET", layer)) == 1


async def test_another_resolver_reads_what_one_has_found(
    start: "Start", reader: "Person", faulty: "FaultyRegistry"
) -> None:
    first = await start()
    await look(reader, faulty.name, Inspect.WAIT)
    await first.end()
    seen = len(faulty.asked("GET", "/blobs/"))
    await start()

    assert codes(await look(reader, faulty.name, Inspect.KNOWN)) == ["library-missing"]
    assert len(faulty.asked("GET", "/blobs/")) == seen


async def test_what_an_older_engine_found_is_found_anew(
    start: "Start", reader: "Person", faulty: "FaultyRegistry", cluster_bus: "Bus", image: str
) -> None:
    old = InspectionRecord(digest=image, inspection=Inspection(ENGINE - 1, machine="amd64"), looked=1)
    async with connect(cluster_bus.settings("resolver")) as connection:
        await Store(connection, NAMES).put(Bucket.IMAGES, keys.inspection_key(image), payloads.encode(old))
    await start()

    assert await look(reader, faulty.name, Inspect.KNOWN) is None
    assert codes(await look(reader, faulty.name, Inspect.WAIT)) == ["library-missing"]


async def test_a_resolver_that_never_inspects_does_not_when_asked(
    start: "Start", reader: "Person", faulty: "FaultyRegistry"
) -> None:
    await start(inspection=InspectionSettings(when=InspectWhen.NEVER))

    assert await look(reader, faulty.name, Inspect.WAIT) is None


async def test_an_image_that_cannot_be_read_is_unexplored_and_harms_nobody(
    start: "Start", reader: "Person", faulty: "FaultyRegistry", build: "Builder"
) -> None:
    await start()
    faulty.tags["v1"] = image_of(build, packed(app=b"\x7fELF")[:700])
    broken = await look(reader, faulty.name, Inspect.WAIT)
    assert broken is not None
    assert [one.what for one in broken.unexplored] == ["the files of the image"]

    faulty.tags["v2"] = image_of(build, *LAYERS)
    async with asyncio.timeout(60):
        assert codes(await look(reader, faulty.name.replace(":v1", ":v2"), Inspect.WAIT)) == ["library-missing"]


async def test_what_only_an_index_says_of_the_platform_counts_and_for_no_other(
    start: "Start", reader: "Person", faulty: "FaultyRegistry", build: "Builder"
) -> None:
    layer = packed(app=Made(machine=62, kind=2).bytes())
    said = msgspec.json.decode(config_of(layer, Entrypoint=["/app"]))
    config = build.blob(msgspec.json.encode({"config": said["config"], "rootfs": said["rootfs"]}), IMAGE_CONFIG)
    child = build.document({"config": config, "layers": [build.blob(layer, LAYER)]})
    faulty.tags["v1"] = build.index((child, "linux/arm64"))
    faulty.tags["v2"] = build.index((child, "linux/amd64"))
    right, alone = (faulty.name.replace(":v1", end) for end in (":v2", f"@{child.digest}"))
    first = await start()

    for reference, expected in ((faulty.name, ["content-platform-mismatch"]), (right, []), (alone, [])):
        assert codes(await look(reader, reference, Inspect.WAIT)) == expected
    await first.end()
    await start()
    for reference, expected in ((faulty.name, ["content-platform-mismatch"]), (right, []), (alone, [])):
        assert codes(await look(reader, reference, Inspect.KNOWN)) == expected
