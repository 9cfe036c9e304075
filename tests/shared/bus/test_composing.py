from typing import TYPE_CHECKING

import msgspec

from nodeworthy.bus import payloads
from nodeworthy.bus.composing import MAX_FAULTS, MAX_REASON, Identity, compose, entry_digest, is_same, list_events
from nodeworthy.bus.keys import DETECTOR
from nodeworthy.bus.records import Session, SnapshotMessage
from nodeworthy.bus.streams import MAX_SNAPSHOT_BYTES
from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot, SourceHealth, digest, encode

if TYPE_CHECKING:
    from tests.shared.bus.conftest import MakeSnapshot

IDENTITY = Identity("n1", DETECTOR, Session("boot", 1))


def message_of(snapshot: Snapshot, before: SnapshotMessage | None = None) -> SnapshotMessage:
    return compose(snapshot, IDENTITY, sequence=1, before=before).message


def test_small_and_own_sets_travel_inside_and_large_ones_by_digest(make_snapshot: "MakeSnapshot") -> None:
    snapshot = make_snapshot()
    composed = compose(snapshot, IDENTITY, sequence=4)
    sets = composed.message.sets
    config = encode(snapshot.contents["kernel.config"])
    assert sets["cpu.cpuid"].content == encode(snapshot.contents["cpu.cpuid"])
    assert (sets["kernel.config"].content, sets["kernel.config"].digest) == (None, digest(config))
    assert composed.shared == {digest(config): config}
    assert entry_digest(sets["kernel.config"]) == digest(config)
    assert entry_digest(sets["cpu.cpuid"]) == digest(encode(snapshot.contents["cpu.cpuid"]))


def test_the_catalogue_tells_absent_from_not_delivered(make_snapshot: "MakeSnapshot") -> None:
    message = message_of(make_snapshot())
    assert message.catalogue == ("cpu.cpuid", "cpu.rdt", "kernel.config", "network.virtual", "pci.device")
    assert (message.sets["cpu.rdt"].state, message.sets["cpu.rdt"].reason) == (SetState.UNKNOWN, "no idea")
    assert message.sets["pci.device"].state is SetState.UNKNOWN
    assert message_of(Snapshot({})).catalogue is None


def test_a_set_that_became_unknown_keeps_the_digest_of_what_it_held(make_snapshot: "MakeSnapshot") -> None:
    known = message_of(make_snapshot())
    unknown = message_of(make_snapshot({"cpu.cpuid": None}), known)
    still_unknown = message_of(make_snapshot({"cpu.cpuid": None}), unknown)
    expected = entry_digest(known.sets["cpu.cpuid"])
    assert unknown.sets["cpu.cpuid"].last_digest == still_unknown.sets["cpu.cpuid"].last_digest == expected
    assert entry_digest(unknown.sets["cpu.cpuid"]) == ""


def test_the_same_facts_are_the_same_whatever_the_session(make_snapshot: "MakeSnapshot") -> None:
    one = compose(make_snapshot(), IDENTITY, sequence=1).message
    other = compose(make_snapshot(), Identity("n1", DETECTOR, Session("boot", 9)), sequence=7, rescans=("x",)).message
    assert is_same(one, other)
    assert not is_same(one, message_of(make_snapshot({"cpu.cpuid": None})))


def test_an_event_says_what_changed(make_snapshot: "MakeSnapshot") -> None:
    old, new = make_snapshot(), make_snapshot({"cpu.cpuid": FeatureSet(flags=frozenset({"AVX2"}))})
    before, after = message_of(old), message_of(new)
    (event,) = list_events(before, after, {"cpu.cpuid": (old.contents["cpu.cpuid"], new.contents["cpu.cpuid"])})
    assert event.set == "cpu.cpuid"
    assert event.change is not None
    assert event.change.flags_removed == ("SSE42",)
    assert event.old_digest == entry_digest(before.sets["cpu.cpuid"])
    assert event.new_digest == entry_digest(after.sets["cpu.cpuid"])


def test_without_the_old_contents_an_event_has_digests_only(make_snapshot: "MakeSnapshot") -> None:
    before, after = message_of(make_snapshot()), message_of(make_snapshot({"cpu.cpuid": None}))
    (event,) = list_events(before, after, None)
    assert (event.change, event.new_state, event.reason) == (None, SetState.UNKNOWN, "no idea")


def test_a_reason_that_changes_makes_no_event(make_snapshot: "MakeSnapshot") -> None:
    snapshot = make_snapshot()
    other = msgspec.structs.replace(snapshot, statuses={"cpu.rdt": SetStatus(SetState.UNKNOWN, "another reason")})
    assert list_events(message_of(snapshot), message_of(other), None) == []


def test_a_message_is_bounded_whatever_a_source_says() -> None:
    snapshot = Snapshot(
        {f"set.{number}": FeatureSet(flags=frozenset({"x" * 900})) for number in range(500)},
        {"a": SetStatus(SetState.UNKNOWN, "x" * 100_000)},
        sources={"pci": SourceHealth(faults=tuple("y" * 10_000 for _ in range(1000)))},
    )
    message = message_of(snapshot)
    assert len(message.sets["a"].reason) == MAX_REASON
    assert len(message.sources["pci"].faults) == MAX_FAULTS + 1
    assert message.sources["pci"].faults[-1] == "and 980 more"
    assert len(payloads.encode(message)) < MAX_SNAPSHOT_BYTES


def test_text_that_is_no_unicode_does_not_stop_a_message() -> None:
    snapshot = Snapshot({}, {"a": SetStatus(SetState.UNKNOWN, "caf\udce9")}, sources={"x": SourceHealth("\udcff")})
    assert payloads.decode(payloads.encode(message_of(snapshot)), SnapshotMessage).sets["a"].reason == "caf\ufffd"
