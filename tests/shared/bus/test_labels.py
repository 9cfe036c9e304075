"""Records of labels: nothing of a memory is lost, they are small, and what is no record is told as such."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.bus import payloads
from nodeworthy.bus.labels import make_record, pack_memory, read_live_labels, read_memory, unpack_memory
from nodeworthy.errors import PayloadError, PayloadVersionError
from nodeworthy.labels import Given, Giver, GiverKind, LabelEntry, LabelMemory, LabelState, RejectedKind
from nodeworthy.labels.memory import UnresolvedNote
from nodeworthy.rules import Outcome

PREFIX = "feature.node.kubernetes.io/"
CPUID = Giver(GiverKind.DEFAULT, "cpu.cpuid")

texts = st.text(max_size=5)
keys = st.sampled_from(["a", "x.org/a", "x.org/b", "y.org/a", "/a", "a/", "a/b/c", ""])
givers = st.builds(Giver, st.sampled_from(GiverKind), texts, texts)
entries = st.builds(
    LabelEntry,
    st.sampled_from(LabelState),
    texts,
    st.lists(st.builds(Given, givers, texts), max_size=3).map(tuple),
    st.lists(texts, max_size=2).map(tuple),
    texts,
    texts,
    st.lists(texts, max_size=2).map(tuple),
)
memories = st.builds(
    LabelMemory,
    st.dictionaries(keys, entries),
    st.dictionaries(texts, texts, max_size=3),
    st.lists(st.builds(UnresolvedNote, givers, st.sampled_from(Outcome), texts), max_size=3).map(tuple),
    st.integers(0, 5),
    st.dictionaries(st.sampled_from(list(RejectedKind)[1:]), st.dictionaries(keys, entries, min_size=1)),
)


@given(memories)
def test_a_memory_is_read_as_it_was_written(memory: LabelMemory) -> None:
    assert read_memory(payloads.encode(make_record("n1", memory))) == memory


@given(memories)
def test_equal_memories_have_equal_bytes_whatever_the_order_of_their_labels(memory: LabelMemory) -> None:
    turned = msgspec.structs.replace(memory, labels=dict(reversed(list(memory.labels.items()))))
    assert pack_memory(turned) == pack_memory(memory)


def test_a_node_with_242_labels_takes_some_kilobytes() -> None:
    entry = LabelEntry(LabelState.APPLIED, "true", (Given(CPUID, "true"),), ("cpu.cpuid",))
    memory = LabelMemory({f"{PREFIX}cpu-cpuid.FEATURE_{number}": entry for number in range(242)})
    assert len(payloads.encode(make_record("n1", memory))) < 7_000


def test_live_labels_are_those_that_the_node_has() -> None:
    labels = {
        "x.org/applied": LabelEntry(LabelState.APPLIED, "1"),
        "x.org/kept": LabelEntry(LabelState.KEPT, "2"),
        "x.org/held": LabelEntry(LabelState.HELD, "3"),
        "x.org/conflict": LabelEntry(LabelState.CONFLICT, "4", live="theirs"),
        "x.org/rejected": LabelEntry(LabelState.REJECTED, "5"),
        "x.org/unknown": LabelEntry(LabelState.UNKNOWN, "6"),
    }
    assert read_live_labels(payloads.encode(make_record("n1", LabelMemory(labels)))) == {
        "x.org/applied": "1",
        "x.org/kept": "2",
        "x.org/held": "3",
        "x.org/conflict": "theirs",
    }


@pytest.mark.parametrize(
    "tables",
    [
        {"groups": [[0, "", {"a": "1"}]]},
        {"origins": [["applied", [], [], "", "", []]], "groups": [[-1, "", {"a": "1"}]]},
        {"origins": [["applied", [[3, None]], [], "", "", []]], "groups": [[0, "", {"a": "1"}]]},
        {"origins": [["painted", [], [], "", "", []]], "groups": []},
        {"notes": [[0, "unknown", ""]]},
        [],
        "text",
    ],
)
def test_tables_that_contradict_themselves_are_no_memory(tables: object) -> None:
    packed = pack_memory(LabelMemory())._replace(tables=msgspec.msgpack.encode(tables))
    with pytest.raises(PayloadError, match="a record of labels holds no memory"):
        unpack_memory(packed)


def test_inputs_that_are_no_map_of_texts_are_no_memory() -> None:
    with pytest.raises(PayloadError, match="a record of labels holds no memory"):
        unpack_memory(pack_memory(LabelMemory())._replace(inputs=msgspec.msgpack.encode({"a": 1})))


def test_a_newer_format_json_and_other_bodies_are_not_read() -> None:
    body = payloads.encode(make_record("n1", LabelMemory()))
    with pytest.raises(PayloadVersionError):
        read_memory(body.replace(b"\xa7version\x01", b"\xa7version\x02"))
    for other in (b"", b"\x80", b'{"node": "n1"}', b"\x00" * 600_000):
        with pytest.raises(PayloadError):
            read_memory(other)
