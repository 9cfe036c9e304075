"""What is known of records: what is lost is remembered, and to be written again."""

import gc

import pytest

from nodeworthy.bus import payloads
from nodeworthy.bus.labels import make_record
from nodeworthy.bus.watching import Complete, Put, Removed
from nodeworthy.labels import FactsMark, LabelEntry, LabelMemory, LabelState
from nodeworthy_labeler.memories import Memories
from nodeworthy_labeler.records import Records

ONE = LabelMemory({"x.org/a": LabelEntry(LabelState.APPLIED, "1"), "x.org/b": LabelEntry(LabelState.KEPT, "1")})
TWO = LabelMemory({"x.org/a": LabelEntry(LabelState.APPLIED, "2")})
AGAIN = Complete(is_first=False)
FACTS = FactsMark(5, 6.0)


@pytest.fixture
def records() -> Records:
    return Records(Memories())


def put(node: str, memory: LabelMemory, revision: int) -> Put:
    return Put(node, payloads.encode(make_record(node, memory)), revision, 0.0)


def memory_of(records: Records, node: str) -> LabelMemory | None:
    packed = records.get(node).packed
    return records.memories.unpack(packed).memory if packed else None


def test_a_record_of_somebody_else_is_news_and_an_own_one_is_none(records: Records) -> None:
    assert records.take(put("n1", ONE, 1)) == ["n1"]
    assert records.take(put("n1", ONE, 1)) == []
    records.note_written("n1", records.memories.pack(TWO), 2, FACTS)
    assert records.take(put("n1", TWO, 2)) == []
    assert records.take(put("n1", ONE, 3)) == ["n1"]
    assert memory_of(records, "n1") == ONE


def test_a_record_that_is_gone_is_remembered_and_to_be_written_again(records: Records) -> None:
    records.take(put("n1", ONE, 1))
    assert records.take(Removed("n1", is_lost=True)) == ["n1"]
    record = records.get("n1")
    assert (record.is_stored, record.revision) == (False, 0)
    assert memory_of(records, "n1") == ONE


def test_a_record_tells_from_which_facts_it_was_made_and_one_that_was_removed_may_be_from_any(records: Records) -> None:
    data = payloads.encode(make_record("n1", ONE, facts=FACTS))
    records.take(Put("n1", data, 1, 0.0))
    assert records.get("n1").facts == FACTS
    records.take(Removed("n1", is_lost=False, revision=3))
    record = records.get("n1")
    assert (record.is_stored, record.revision) == (False, 3)
    assert FactsMark(2**62, 1e12).is_behind(record.facts)
    records.take(Removed("n2", is_lost=False, revision=4))
    assert records.get("n2").revision == 4


def test_a_written_record_that_no_watch_has_seen_is_doubted_after_everything_was_read_again(records: Records) -> None:
    records.note_written("n1", records.memories.pack(ONE), 1, FACTS)
    records.note_written("n2", records.memories.pack(ONE), 2, FACTS)
    records.take(put("n2", ONE, 2))
    assert records.take(AGAIN) == ["n1"]
    assert not records.get("n1").is_stored
    assert records.get("n2").is_stored
    assert records.take(AGAIN) == []


def test_a_record_that_cannot_be_read_keeps_what_was_known_and_is_to_be_written_over(records: Records) -> None:
    records.take(put("n1", ONE, 1))
    assert records.take(Put("n1", b"junk", 2, 0.0)) == ["n1"]
    record = records.get("n1")
    assert (record.is_stored, record.revision, record.newer) == (False, 2, "")
    assert memory_of(records, "n1") == ONE


def test_a_record_of_a_newer_program_is_not_to_be_written(records: Records) -> None:
    body = put("n1", ONE, 1).data.replace(b"\xa7version\x01", b"\xa7version\x02")
    assert records.take(Put("n1", body, 1, 0.0)) == ["n1"]
    assert "format version 2" in records.get("n1").newer
    assert records.refused == 1


def test_a_key_that_is_no_nodes_is_passed_over(records: Records, caplog: pytest.LogCaptureFixture) -> None:
    assert records.take(put("=zz", ONE, 1)) == []
    assert len(records) == 0
    assert "labeler.strange_key" in caplog.text


def test_equal_memories_are_kept_once_and_go_with_the_last_record(records: Records) -> None:
    for number in range(100):
        records.take(put(f"n{number}", ONE, number + 1))
    assert len({id(records.get(f"n{number}").packed.tables) for number in range(100)}) == 1  # type: ignore[union-attr] # all were read
    for number in range(100):
        records.take(put(f"n{number}", TWO, number + 1000))
    records.memories._unpacked.clear()
    gc.collect()
    assert len(records.memories._shared) == 2  # tables of TWO, and no inputs


def test_states_are_counted_over_all_nodes(records: Records) -> None:
    records.take(put("n1", ONE, 1))
    records.take(put("n2", ONE, 2))
    records.take(put("n3", TWO, 3))
    assert records.count_states() == {LabelState.APPLIED: 3, LabelState.KEPT: 2}
