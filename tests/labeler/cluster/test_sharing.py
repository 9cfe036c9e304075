"""What of a Node's labels is kept and shared, and that no plan misses the rest."""

from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.labels import (
    Given,
    Giver,
    GiverKind,
    LabelEntry,
    LabelMemory,
    LabelState,
    NodeLabels,
    WantedLabel,
    WantedLabels,
    reconcile,
)
from nodeworthy.labels.origins import RejectedKind
from nodeworthy_labeler.cluster.sharing import SharedLabels, join_all

KINDS = (RejectedKind.ANNOTATION, RejectedKind.EXTENDED_RESOURCE)
GIVER = Giver(GiverKind.RULE, "o", "r")

keys = st.sampled_from(("x.org/a", "x.org/b", "x.org/c", "x.org/d"))
values = st.sampled_from(("1", "2", ""))
managers = st.sampled_from(("kubelet", "gitops"))


@st.composite
def parts(draw: st.DrawFn) -> NodeLabels:
    live = draw(st.dictionaries(keys, values))
    owned = frozenset(key for key in live if draw(st.booleans()))
    owners = {key: (draw(managers),) for key in live if draw(st.booleans())}
    return NodeLabels(live, owned, owners)


@st.composite
def node_labels(draw: st.DrawFn) -> NodeLabels:
    labels = draw(parts())
    others = {kind: one for kind in KINDS if (one := draw(parts())).live}
    return NodeLabels(labels.live, labels.owned, labels.owners, others=others)


def make_wanted(values: dict[str, str]) -> dict[str, WantedLabel]:
    return {key: WantedLabel(key, value, (Given(GIVER, value),), ()) for key, value in values.items()}


wishes = st.builds(
    lambda labels, annotations, resources: WantedLabels(
        make_wanted(labels),
        frozenset({GIVER}),
        {},
        annotations=make_wanted(annotations),
        extended_resources=make_wanted(resources),
    ),
    *(st.dictionaries(keys, values) for _ in range(3)),
)
memories = st.none() | st.builds(
    lambda given: LabelMemory({key: LabelEntry(LabelState.APPLIED, "1", (Given(GIVER, "1"),)) for key in given}),
    st.sets(keys),
)


@given(node_labels(), wishes, memories)
def test_a_plan_needs_nothing_that_is_neither_ours_nor_wanted(
    labels: NodeLabels, wanted: WantedLabels, memory: LabelMemory | None
) -> None:
    shared = SharedLabels()
    assert reconcile(wanted, shared.look(shared.split(labels), wanted).labels, memory) == reconcile(
        wanted, labels, memory
    )


@given(node_labels())
def test_the_two_parts_are_the_whole(labels: NodeLabels) -> None:
    assert join_all(SharedLabels().split(labels)) == labels


@given(node_labels(), node_labels())
def test_parts_differ_in_the_keys_that_are_others_and_not_the_same(one: NodeLabels, other: NodeLabels) -> None:
    shared = SharedLabels()
    first, second = shared.split(one).foreign, shared.split(other).foreign
    found = first.differing(second)
    assert found == second.differing(first)
    assert bool(found) == (dict(first.read()) != dict(second.read()))


def test_nodes_that_differ_in_what_nobody_wants_have_one_object_of_labels() -> None:
    shared = SharedLabels()
    wanted = WantedLabels(make_wanted({"x.org/a": "1"}), frozenset({GIVER}), {})
    found = [
        shared.look(shared.split(NodeLabels({"x.org/a": "1", "x.org/b": str(number)}, frozenset({"x.org/a"}))), wanted)
        for number in range(2000)
    ]
    assert {id(one.labels) for one in found} == {id(found[0].labels)}
    assert found[0].labels == NodeLabels({"x.org/a": "1"}, frozenset({"x.org/a"}))
    assert found[0].names == {"x.org/a"}


def test_nodes_that_have_the_same_of_others_where_it_is_wanted_have_one_object_of_labels() -> None:
    shared = SharedLabels()
    wanted = WantedLabels(make_wanted({"x.org/b": "1"}), frozenset({GIVER}), {})
    split = [
        shared.split(NodeLabels({"x.org/b": "theirs", "x.org/c": name}, owners={"x.org/b": ("kubelet",)}))
        for name in ("n1", "n2")
    ]
    one, other = (shared.look(found, wanted).labels for found in split)
    assert one is other
    assert one == NodeLabels({"x.org/b": "theirs"}, owners={"x.org/b": ("kubelet",)})
    assert split[0].foreign.keys is split[1].foreign.keys


def test_what_nodes_with_labels_of_their_own_are_looked_at_for_is_one_object() -> None:
    shared = SharedLabels()
    split = shared.split(NodeLabels({}))
    wishes = [WantedLabels(make_wanted({"x.org/a": str(n)}), frozenset({GIVER}), {}) for n in range(200)]
    names = [shared.look(split, wanted).names for wanted in wishes]
    assert {id(one) for one in names} == {id(names[0])}
    assert names[0] == {"x.org/a"}
