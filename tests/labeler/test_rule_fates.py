"""How objects fare on nodes that are looked at in parts."""

import asyncio

import pytest
from tests.labeler.test_rule_reports import TWO, compiled

from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.fleet import DETECTOR, Fleet
from nodeworthy_labeler.rule_fates import RuleFates, find_rule_fates

RULES = compiled(("two.yaml", TWO))


def put(fleet: Fleet, node: str, **values: str) -> None:
    facts = Snapshot({"lab.a": FeatureSet(attributes=values)}, catalogue=frozenset({"lab.a"}))
    fleet.update(node, DETECTOR, facts)


@pytest.fixture
def fleet() -> Fleet:
    made = Fleet()
    for place in range(7):
        put(made, f"n{place}", **({"x": "1"} if place % 2 else {"z": str(place)}))
    return made


@pytest.mark.parametrize("batch", [1, 2, 3])
async def test_parts_say_together_what_all_nodes_say_at_once(fleet: Fleet, batch: int) -> None:
    at_once = await find_rule_fates(fleet, RULES, batch=7)
    assert await find_rule_fates(fleet, RULES, batch=batch) == at_once
    assert (at_once["good"].nodes_matched, at_once["half"].nodes_matched) == (3, 4)
    assert at_once["good"].status.refusals


async def test_a_fleet_without_nodes_has_its_objects() -> None:
    fates = await find_rule_fates(Fleet(), RULES, batch=2)
    assert {name: fate.nodes_matched for name, fate in fates.items()} == {"good": 0, "half": 0}


async def test_what_changes_meanwhile_is_told_at_the_next_question(fleet: Fleet) -> None:
    """Nodes go and come between two parts, and two ask at a time."""
    fates = RuleFates(batch=2)
    both = asyncio.gather(fates.find(fleet, RULES), fates.find(fleet, RULES))
    await asyncio.sleep(0)
    fleet.remove("n5", DETECTOR)
    put(fleet, "n0", x="1")
    put(fleet, "n2", x="1")
    await both
    assert (await fates.find(fleet, RULES))["good"].nodes_matched == 4
