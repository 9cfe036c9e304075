"""Rule objects whose definition has no status, as NFD's: what would stand there is on the bus."""

import dataclasses
from typing import TYPE_CHECKING

from tests.labeler.cluster.objects import Objects
from tests.labeler.cluster.whole import Whole
from tests.labeler.conftest import labeler_settings

from nodeworthy.bus.names import Bucket
from nodeworthy.bus.rule_reports import RULES_KEY, RulesRecord, decode_rules
from nodeworthy.features import FeatureSet

if TYPE_CHECKING:
    from tests.labeler.conftest import Bus, Eventually, MakeFacts, Start

HAS_X = {"lab.a": FeatureSet(attributes={"x": "1"})}


async def test_what_a_status_would_say_is_on_the_bus_where_objects_have_none(
    whole: Whole, facts: "MakeFacts", objects: Objects, bus: "Bus", start: "Start", eventually: "Eventually"
) -> None:
    whole.cluster.create_node("s-plain")
    await whole.bus.publish("s-plain", facts({}, HAS_X))
    path = objects.rule("r-plain", {"x.org/r": "1", "kubernetes.io/no": "1"})
    objects.rule("r-never", {"x.org/n": "1"}, key="never")

    async def read() -> RulesRecord | None:
        stored = await bus.store.get(Bucket.LABELS, RULES_KEY)
        record = None if stored is None else decode_rules(stored.data)
        return record if record is not None and record.objects[-1].nodes_matched else None

    with objects.without_status("nodefeaturerules", path):
        objects.change_rule(path, {"x.org/r": "2", "kubernetes.io/no": "1"})
        mark = whole.cluster.mark_requests()
        pace = dataclasses.replace(labeler_settings("").pace, report=0.1)
        await start(kubernetes=dataclasses.replace(whole.settings, status_seconds=0.1), pace=pace)
        record: RulesRecord = await eventually(read)
        await whole.labels_are("s-plain", {"x.org/r": "2"})
        never, plain = record.objects
        assert (plain.name, plain.generation, plain.rejected) == ("r-plain", 2, 1)
        assert (never.name, never.generation, never.nodes_matched) == ("r-never", 1, 0)
        assert never.is_accepted
        await whole.bus.settled_writes()
    assert {request.resource for request in whole.writes(mark)} == {
        "leases.coordination.k8s.io",
        "nodes",
        "nodefeaturerules.nfd.k8s-sigs.io/status",
    }
