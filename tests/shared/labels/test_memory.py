import msgspec

from nodeworthy.labels import Given, Giver, GiverKind, LabelEntry, LabelMemory, LabelState, labels_of_memory
from nodeworthy.labels.memory import UnresolvedNote
from nodeworthy.rules import Outcome

GIVER = Giver(GiverKind.RULE, "o", "r")
MEMORY = LabelMemory(
    labels={
        "x.org/a": LabelEntry(LabelState.APPLIED, "1", (Given(GIVER, "@a.b.c"),), ("a.b",)),
        "x.org/k": LabelEntry(LabelState.KEPT, "2", reason="nothing explains it"),
        "x.org/h": LabelEntry(LabelState.HELD, "3", owners=("kubectl",)),
        "x.org/c": LabelEntry(LabelState.CONFLICT, "4", live="5"),
        "x.org/r": LabelEntry(LabelState.REJECTED, "a b", reason="no"),
        "x.org/u": LabelEntry(LabelState.UNKNOWN, "6"),
    },
    inputs={"a.b": "sha256:00"},
    unresolved=(UnresolvedNote(GIVER, Outcome.UNKNOWN, "why"),),
)


def test_without_a_cluster_a_node_has_what_is_applied_or_kept_and_all_of_it_is_ours() -> None:
    labels = labels_of_memory(MEMORY)
    assert labels.live == {"x.org/a": "1", "x.org/k": "2"}
    assert labels.owned == {"x.org/a", "x.org/k"}
    assert labels_of_memory(None).live == {}


def test_a_memory_comes_back_from_messagepack_and_from_json() -> None:
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(MEMORY), type=LabelMemory) == MEMORY
    assert msgspec.json.decode(msgspec.json.encode(MEMORY), type=LabelMemory) == MEMORY
