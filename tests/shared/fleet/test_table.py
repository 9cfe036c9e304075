"""The table as a whole: what it says of a node is what the node's producers say, after any history."""

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodeworthy.errors import UsageError
from nodeworthy.features import FeatureSet, Lookup, SetState, SetStatus, Snapshot, SourceHealth
from nodeworthy.fleet import DETECTOR, KUBERNETES, Fleet, Limits, Producer, ProducerKind, Provenance
from nodeworthy.fleet.contents import DEFAULTS, FULL
from nodeworthy.fleet.merging import merge

if TYPE_CHECKING:
    from tests.shared.fleet.conftest import Worlds

TOOL = Producer(ProducerKind.PROGRAM, "tool")
OWN, ALPHA, OMEGA = (
    Producer(ProducerKind.NODE_FEATURE, name, space) for name, space in (("zz", "nfd"), ("aa", "b"), ("zz", "a"))
)
ORDER = [KUBERNETES, DETECTOR, TOOL, OWN, ALPHA, OMEGA]
"""NFD's own namespace here is ``nfd``."""

NODES = st.sampled_from(("n1", "n2"))

History = list[tuple[str, Producer | None, Snapshot | None]]


def snapshot(**attributes: str) -> Snapshot:
    return Snapshot({"lab.a": FeatureSet(attributes=attributes)}, catalogue=frozenset({"lab.a"}))


def attributes(fleet: Fleet, node: str = "n1") -> dict[str, str]:
    content = fleet.facts(node).lookup("lab.a").content
    return dict(content.attributes or {}) if content else {}


def replay(history: History) -> tuple[Fleet, dict[str, dict[Producer, Snapshot]]]:
    """The table after a history, and what stands in it in the plainest form."""
    fleet, plain = Fleet(own_namespace="nfd"), dict[str, dict[Producer, Snapshot]]()
    for node, producer, one in history:
        if producer is not None and one is not None:
            fleet.update(node, producer, one)
            plain.setdefault(node, {})[producer] = one
        else:
            fleet.remove(node, producer)
            for gone in [producer] if producer else ORDER:
                plain.get(node, {}).pop(gone, None)
            if not plain.get(node):
                plain.pop(node, None)
    return fleet, plain


def expected(reports: dict[Producer, Snapshot], name: str) -> Lookup:
    """What the producers of a node say of a set together."""
    said = [reports[one].lookup(name) for one in ORDER if one in reports and name in reports[one].names()]
    if said:
        return said[0] if len(said) == 1 else merge(name, said)
    if DETECTOR not in reports:
        return DEFAULTS[1]
    return DEFAULTS[0] if reports[DETECTOR].catalogue is not None else DEFAULTS[2]


def draw_history(data: st.DataObject, worlds: "Worlds") -> History:
    pool = data.draw(st.lists(worlds.snapshots, min_size=1, max_size=3))
    update = st.tuples(NODES, st.sampled_from(ORDER[:4]), st.sampled_from(pool))
    removal = st.tuples(NODES, st.none() | st.sampled_from(ORDER[:4]), st.none())
    return data.draw(st.lists(update | update | removal, max_size=12))


@settings(max_examples=60)  # a busy machine is no failure
@given(data=st.data())
def test_the_facts_of_every_node_are_what_its_producers_say_after_any_history(
    data: st.DataObject, worlds: "Worlds"
) -> None:
    fleet, plain = replay(draw_history(data, worlds))
    assert sorted(fleet.nodes()) == sorted(plain)
    for node, reports in plain.items():
        for name in worlds.sets:
            assert fleet.facts(node).lookup(name) == expected(reports, name), (node, name)
        assert list(fleet.reports(node)) == [one for one in ORDER if one in reports]


@settings(max_examples=60)  # a busy machine is no failure
@given(data=st.data())
def test_an_update_names_exactly_the_sets_that_changed(data: st.DataObject, worlds: "Worlds") -> None:
    fleet, _ = replay(draw_history(data, worlds))
    before = {name: fleet.facts("n1").lookup(name) for name in worlds.sets} if "n1" in fleet else None
    change = fleet.update("n1", data.draw(st.sampled_from(ORDER)), data.draw(worlds.snapshots))
    after = {name: fleet.facts("n1").lookup(name) for name in worlds.sets}
    if before is None:
        assert change.unlisted
    else:
        differing = {name for name in worlds.sets if before[name] != after[name]}
        assert change.sets <= differing
        assert all(change.unlisted for name in differing - change.sets)


@settings(max_examples=60)  # a busy machine is no failure
@given(data=st.data())
def test_every_content_is_held_as_often_as_it_stands_somewhere(data: st.DataObject, worlds: "Worlds") -> None:
    fleet, _ = replay(draw_history(data, worlds))
    for name, column in fleet._cells.columns.items():
        standing = Counter(column.numbers.tolist()) + Counter(column._last.values())
        for (_, contested), parts in fleet._cells._contested.items():
            standing.update(parts.values() if contested == name else ())
        held = {n: e.holders for n, e in enumerate(column.contents._entries) if e is not None and n > FULL}
        assert held == {number: count for number, count in standing.items() if number > FULL}


@settings(max_examples=60)  # a busy machine is no failure
@given(data=st.data())
def test_nothing_is_left_of_nodes_that_are_gone(data: st.DataObject, worlds: "Worlds") -> None:
    fleet, plain = replay(draw_history(data, worlds))
    for node in tuple(plain):
        fleet.remove(node)
    assert (len(fleet), fleet.nodes()) == (0, [])
    assert (fleet.content_bytes, fleet._cells.columns, fleet._cells._contested) == (0, {}, {})


def test_a_row_that_is_free_is_used_again_and_holds_nothing_of_the_old_node() -> None:
    fleet = Fleet()
    fleet.update("old", DETECTOR, snapshot(x="1"))
    fleet.update("other", DETECTOR, snapshot(x="2"))
    [row] = fleet.rows(["old"])
    fleet.remove("old")
    fleet.update("new", KUBERNETES, Snapshot({}, catalogue=frozenset()))
    assert fleet.rows(["new"]).tolist() == [row]
    assert fleet.facts("new").lookup("lab.a").state is SetState.UNKNOWN


def test_producers_win_in_nfds_order() -> None:
    fleet = Fleet(own_namespace="nfd")
    for producer in reversed(ORDER):
        fleet.update("n1", producer, snapshot(winner=str(producer), **{str(producer): "here"}))
    assert attributes(fleet)["winner"] == "x.a.zz"
    assert len(attributes(fleet)) == 7
    for loser, winner in zip(reversed(ORDER), reversed(ORDER[:-1]), strict=False):
        fleet.remove("n1", loser)
        assert attributes(fleet)["winner"] == str(winner)


def test_equal_contents_are_one_whatever_object_and_node_they_come_from() -> None:
    fleet = Fleet()
    for number in range(5):
        fleet.update(f"n{number}", DETECTOR, snapshot(x="1"))
    column = fleet.column("lab.a")
    assert column is not None
    assert column.contents.alive == 1
    fleet.update("n0", DETECTOR, snapshot(x="2"))
    assert column.contents.alive == 2


def test_a_node_of_which_the_detector_has_said_nothing_is_unknown_and_not_empty() -> None:
    fleet = Fleet()
    fleet.update("n1", KUBERNETES, snapshot(x="1"))
    assert fleet.facts("n1").lookup("cpu.cpuid").state is SetState.UNKNOWN
    change = fleet.update("n1", DETECTOR, Snapshot({}, catalogue=frozenset({"cpu.cpuid"})))
    assert change.unlisted
    assert fleet.facts("n1").lookup("cpu.cpuid").reason == "listed by its producer and not delivered"
    assert fleet.facts("n1").lookup("no.set").state is SetState.ABSENT


def test_what_was_there_is_kept_beside_a_set_that_became_unknown() -> None:
    fleet = Fleet()
    failed = Snapshot({}, {"lab.a": SetStatus(SetState.UNKNOWN, "denied")}, frozenset({"lab.a"}))
    fleet.update("n1", DETECTOR, snapshot(x="1"))
    assert fleet.last_content("n1", "lab.a") is None
    fleet.update("n1", DETECTOR, failed)
    fleet.update("n1", DETECTOR, Snapshot({}, {"lab.a": SetStatus(SetState.UNKNOWN, "again")}, frozenset({"lab.a"})))
    assert fleet.facts("n1").lookup("lab.a") == Lookup(SetState.UNKNOWN, None, "again")
    assert fleet.last_content("n1", "lab.a") == FeatureSet(attributes={"x": "1"})
    fleet.update("n1", DETECTOR, snapshot(x="2"))
    assert fleet.last_content("n1", "lab.a") is None


def test_a_snapshot_put_again_changes_nothing() -> None:
    fleet = Fleet()
    assert fleet.update("n1", DETECTOR, snapshot(x="1")).sets == {"lab.a"}
    version = fleet.version
    assert not fleet.update("n1", DETECTOR, snapshot(x="1"), Provenance(revision=2))
    assert fleet.version == version
    assert fleet.reports("n1")[DETECTOR].provenance.revision == 2


def test_a_set_that_a_producer_no_longer_names_is_gone() -> None:
    fleet = Fleet()
    fleet.update("n1", DETECTOR, snapshot(x="1"))
    assert fleet.update("n1", DETECTOR, Snapshot({}, catalogue=frozenset())).sets == {"lab.a"}
    assert fleet.facts("n1").lookup("lab.a").state is SetState.ABSENT
    assert fleet.column("lab.a") is None


def test_one_producer_that_names_sets_without_end_hides_nothing_of_what_detectors_tell() -> None:
    fleet = Fleet(limits=Limits(sets=2))
    many = Snapshot({}, {f"site.{number}": SetStatus(SetState.ABSENT) for number in range(10)})
    assert len(fleet.update("rogue", Producer(ProducerKind.PROGRAM, "site"), many).refused) == 8
    told = Snapshot(
        {"cpu.cpuid": FeatureSet(flags=frozenset({"AVX"}))}, catalogue=frozenset({"cpu.cpuid", "cpu.model"})
    )
    assert not fleet.update("n1", DETECTOR, told).refused
    states = [fleet.facts("n1").lookup(name).state for name in ("cpu.cpuid", "cpu.model", "lab.a")]
    assert states == [SetState.PRESENT, SetState.UNKNOWN, SetState.ABSENT]


def test_ailing_sources_are_kept_and_healthy_ones_are_not() -> None:
    fleet = Fleet()
    health = {"pci": SourceHealth("permission denied"), "cpu": SourceHealth(), "usb": SourceHealth(faults=("usb1",))}
    fleet.update("n1", DETECTOR, Snapshot({}, {}, frozenset(), health))
    assert set(fleet.reports("n1")[DETECTOR].ailing) == {"pci", "usb"}


def test_an_unknown_node_is_named_in_the_error() -> None:
    fleet = Fleet()
    with pytest.raises(UsageError, match="'ghost'"):
        fleet.facts("ghost")
    with pytest.raises(UsageError, match="'ghost'"):
        fleet.rows(["ghost"])
    assert not fleet.remove("ghost")
    assert fleet.reports("ghost") == {}


def test_one_node_too_many_is_refused_and_changes_nothing() -> None:
    fleet = Fleet(limits=Limits(nodes=1))
    fleet.update("n1", DETECTOR, snapshot(x="1"))
    with pytest.raises(UsageError, match="n2"):
        fleet.update("n2", DETECTOR, snapshot(x="1"))
    fleet.remove("n1")
    fleet.update("n2", DETECTOR, snapshot(x="1"))
    assert fleet.nodes() == ["n2"]


def test_one_producer_too_many_is_refused_and_the_others_go_on() -> None:
    fleet = Fleet(limits=Limits(producers=1))
    fleet.update("n1", DETECTOR, snapshot(x="1"))
    with pytest.raises(UsageError, match="too many producers"):
        fleet.update("n1", TOOL, snapshot(x="2"))
    assert fleet.update("n1", DETECTOR, snapshot(x="3")).sets == {"lab.a"}
    assert attributes(fleet) == {"x": "3"}


def test_names_of_sets_beyond_the_limit_harm_only_the_node_that_has_them() -> None:
    fleet = Fleet(limits=Limits(sets=2))
    greedy = Snapshot({f"lab.{letter}": FeatureSet(flags=frozenset()) for letter in "abc"}, catalogue=frozenset())
    fleet.update("good", DETECTOR, snapshot(x="1"))
    change = fleet.update("greedy", DETECTOR, greedy)
    [refused] = change.refused
    assert "takes no further names" in refused
    name = refused.partition(":")[0]
    assert fleet.facts("greedy").lookup(name).state is SetState.UNKNOWN
    assert fleet.facts("greedy").lookup("no.set").state is SetState.UNKNOWN
    assert fleet.facts("good").lookup("no.set").state is SetState.ABSENT
    assert attributes(fleet, "good") == {"x": "1"}
    fleet.remove("greedy")
    assert not fleet.update("new", DETECTOR, Snapshot({"lab.z": FeatureSet(flags=frozenset())})).refused


def test_a_set_for_which_there_was_no_column_is_in_doubt_until_it_is_said_again() -> None:
    fleet = Fleet(limits=Limits(sets=1))
    fleet.update("other", DETECTOR, Snapshot({"lab.z": FeatureSet(flags=frozenset())}))
    for producer in (DETECTOR, TOOL):
        assert fleet.update("n1", producer, snapshot(x=str(producer))).refused
    fleet.remove("other")
    fleet.update("n1", KUBERNETES, snapshot(x="k"))
    assert fleet.facts("n1").lookup("lab.a").state is SetState.UNKNOWN
    for producer in (DETECTOR, TOOL):
        assert not fleet.update("n1", producer, snapshot(x=str(producer))).refused
    assert attributes(fleet) == {"x": "p.tool"}
    assert fleet.facts("n1").lookup("no.set").state is SetState.ABSENT


def test_contents_beyond_the_space_are_unknown_and_said_to_be_until_there_is_room() -> None:
    fleet = Fleet(limits=Limits(content_bytes=100))
    fleet.update("n1", DETECTOR, snapshot(x="1" * 60))
    [refused] = fleet.update("n2", DETECTOR, snapshot(x="2" * 60)).refused
    assert refused == "lab.a: the fleet's table is full"
    assert fleet.facts("n2").lookup("lab.a").state is SetState.UNKNOWN
    fleet.remove("n1")
    assert not fleet.update("n2", DETECTOR, snapshot(x="2" * 60)).refused
    assert attributes(fleet, "n2") == {"x": "2" * 60}


def test_a_set_that_is_too_large_is_unknown_and_its_neighbours_are_not() -> None:
    fleet = Fleet()
    large = FeatureSet(attributes={"x": "y" * 600_000})
    change = fleet.update("n1", DETECTOR, Snapshot({"lab.big": large, "lab.a": FeatureSet(attributes={"x": "1"})}))
    assert change.refused[0].startswith("lab.big: a feature set has 600,0")
    assert fleet.facts("n1").lookup("lab.big").state is SetState.UNKNOWN
    assert attributes(fleet) == {"x": "1"}
