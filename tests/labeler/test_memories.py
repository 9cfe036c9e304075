"""What is remembered of many nodes stands once, however many kinds there are."""

import gc

import pytest

from nodeworthy.labels import LabelEntry, LabelMemory, LabelState
from nodeworthy_labeler import memories as limits
from nodeworthy_labeler.memories import Memories, Packed


def memory(value: str, **inputs: str) -> LabelMemory:
    return LabelMemory({"x.org/a": LabelEntry(LabelState.APPLIED, value)}, inputs=inputs)


def test_what_is_remembered_of_many_nodes_is_one_object() -> None:
    memories = Memories()
    one, other = memories.pack(memory("1", a="x")), memories.pack(memory("1", a="y"))
    assert one.tables is other.tables
    assert memories.unpack(one).memory.labels is memories.unpack(other).memory.labels
    assert memories.unpack(one).memory == memory("1", a="x")
    assert memories.unpack(other).memory == memory("1", a="y")


def test_more_kinds_than_are_kept_are_still_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_UNPACKED", 4)
    monkeypatch.setattr(limits, "_PACKED", 2)
    memories = Memories()
    kinds = [memory(str(number)) for number in range(10)]
    packed = [memories.pack(kind) for kind in kinds]
    for _ in range(2):
        assert [memories.unpack(one).memory for one in packed] == kinds
        assert [memories.pack(kind) for kind in kinds] == packed


def test_what_no_node_has_any_more_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_PACKED", 1)
    memories = Memories()
    held: Packed | None = None
    for number in range(20):
        held = memories.pack(memory(f"of round {number}"))
        memories.unpack(held)
    gc.collect()
    left = {one.value for one in gc.get_objects() if isinstance(one, LabelEntry) and one.value.startswith("of round ")}
    assert held is not None
    assert left == {"of round 19"}
