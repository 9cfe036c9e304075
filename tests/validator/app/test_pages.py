"""Which nodes are asked about, and how long answers come in pages."""

from typing import TYPE_CHECKING

import pytest

from nodeworthy.bus import payloads
from nodeworthy.bus.keys import labels_key
from nodeworthy.bus.labels import make_record
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.requests import Require
from nodeworthy.labels import LabelEntry, LabelMemory, LabelState
from nodeworthy.verdicts import Answer

if TYPE_CHECKING:
    from tests.validator.app.conftest import MakeNode
    from tests.validator.conftest import Bus, Person, Registry, Start


@pytest.mark.usefixtures("resolver")
async def test_pages_go_on_with_any_replica_and_list_each_verdict_once(
    bus: "Bus", reader: "Person", registry: "Registry", start: "Start", make_node: "MakeNode", card: str
) -> None:
    names = [f"n{number:02}" for number in range(23)]
    for name in names:
        await bus.publish(name, make_node("10de" if name < "n11" else "8086"))
    for _ in range(2):
        await start()
    images = (await registry.push("app", spec=card), await registry.push("other", "linux/arm64"))
    listed, cursor, pages = [], "", 0
    while pages == 0 or cursor:
        reply = await reader.validate(images=images, limit=5, cursor=cursor)
        listed += [(verdict.image, verdict.node) for verdict in reply.verdicts]
        cursor, pages = reply.cursor, pages + 1
        assert pages < 20
    assert listed == [(image, name) for image in images for name in names]
    only = await reader.validate(images=images, only=(Answer.COMPATIBLE,))
    assert [verdict.node for verdict in only.verdicts] == names[:11]
    listed, cursor = [], "0.0."
    while cursor:
        page = await reader.nodes(limit=4, cursor=cursor)
        assert page.total == 23
        listed += [(one.node, one.platform) for one in page.nodes]
        cursor = page.cursor
        assert len(listed) <= 23
    assert listed == [(name, "linux/amd64") for name in names]


@pytest.mark.usefixtures("resolver")
async def test_a_selector_asks_about_labels_and_names_and_says_what_it_cannot_know(
    bus: "Bus", reader: "Person", registry: "Registry", start: "Start", make_node: "MakeNode", card: str
) -> None:
    for name in ("a1", "a2", "b1"):
        await bus.publish(name, make_node())
    record = make_record("a1", LabelMemory(labels={"zone": LabelEntry(LabelState.APPLIED, "a")}))
    await bus.store.put(Bucket.LABELS, labels_key("a1"), payloads.encode(record))
    await start()
    image = await registry.push("app", spec=card)
    reply = await reader.validate(image, selector="zone=a", require=Require.ALL)
    assert [verdict.node for verdict in reply.verdicts] == ["a1"]
    assert (reply.undecided, reply.totals[0].answer) == (2, Answer.UNKNOWN)
    assert "labels of 2 nodes are not known" in reply.notices[0]
    reply = await reader.validate(image, selector="metadata.name in (a1,b1)", require=Require.ALL)
    assert [verdict.node for verdict in reply.verdicts] == ["a1", "b1"]
    assert (reply.undecided, reply.totals[0].answer) == (0, Answer.COMPATIBLE)
    assert [one.labels for one in (await reader.nodes(selector="zone")).nodes] == [{"zone": "a"}]
    assert not (await reader.validate(image, selector="metadata.name=zz")).totals[0].counts
