"""NodeFeature objects that come early, say too much, or change their mind: each harms at most itself."""

from typing import TYPE_CHECKING

from tests.kubernetes.api import MERGE
from tests.labeler.cluster.objects import NODE_LABEL, Objects
from tests.labeler.cluster.whole import Whole

from nodeworthy.bus.keys import node_feature

if TYPE_CHECKING:
    from tests.labeler.conftest import MakeFacts

A, B = "x.org/a", "x.org/b"


async def test_an_object_that_was_there_before_its_node_counts_when_the_node_comes(
    whole: Whole, objects: Objects, namespace: str
) -> None:
    objects.feature(namespace, "vendor", "v-later", labels={B: "vendor"})
    whole.cluster.create_node("v-there")
    objects.feature(namespace, "other", "v-there", labels={B: "other"})
    await whole.start()
    await whole.labels_are("v-there", {B: "other"})
    assert not await whole.bus.has_key("v-later", node_feature(namespace, "vendor"))
    whole.cluster.create_node("v-later")
    await whole.labels_are("v-later", {B: "vendor"})


async def test_an_object_that_says_too_much_is_not_used_and_its_neighbours_are(
    whole: Whole, facts: "MakeFacts", objects: Objects, namespace: str
) -> None:
    whole.cluster.create_node("v-large")
    await whole.bus.publish("v-large", facts({A: "1"}))
    # More than a set may have, and less than etcd takes.
    objects.feature(namespace, "large", "v-large", labels={f"x.org/l{number:05}": "x" * 60 for number in range(8000)})
    objects.feature(namespace, "vendor", "v-large", labels={B: "vendor"})
    await whole.start()
    await whole.labels_are("v-large", {A: "1", B: "vendor"})
    await whole.bus.settled_writes()
    assert whole.labels("v-large") == {A: "1", B: "vendor"}
    assert not await whole.bus.has_key("v-large", node_feature(namespace, "large"))


async def test_an_object_that_speaks_of_another_node_now_labels_that_one(
    whole: Whole, facts: "MakeFacts", objects: Objects, namespace: str
) -> None:
    for name in ("v-one", "v-two"):
        whole.cluster.create_node(name)
        await whole.bus.publish(name, facts({A: "1"}))
    path = objects.feature(namespace, "vendor", "v-one", labels={B: "vendor"})
    await whole.start()
    await whole.labels_are("v-one", {A: "1", B: "vendor"})
    change = {"metadata": {"labels": {NODE_LABEL: "v-two"}}}
    whole.cluster.admin.must("PATCH", path, change, content=MERGE)
    await whole.labels_are("v-two", {A: "1", B: "vendor"})
    await whole.labels_are("v-one", {A: "1"})
    # Nobody's now: it names no node any more.
    whole.cluster.admin.must("PATCH", path, {"metadata": {"labels": {NODE_LABEL: None}}}, content=MERGE)
    await whole.labels_are("v-two", {A: "1"})
