import pytest

from nodeworthy.diagnosis.pods import Affinity, Expression, NodeAffinity, NodeSelector, SelectorTerm, Toleration
from nodeworthy.diagnosis.selecting import NodeView, Taint
from nodeworthy_cli.checkup.placement import Placement, make_placement

ARM = NodeView("arm", {"kubernetes.io/arch": "arm64", "kubernetes.io/os": "linux"})
AMD = NodeView("amd", {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"})


def affinity(*terms: SelectorTerm) -> Affinity:
    return Affinity(NodeAffinity(NodeSelector(terms)))


def term(key: str, *values: str, operator: str = "In") -> SelectorTerm:
    return SelectorTerm((Expression(key, operator, values),))


def admitted(placement: Placement, *nodes: NodeView) -> list[str]:
    return [node.name for node in nodes or (ARM, AMD) if placement.admits(node)]


def test_who_asks_nothing_is_admitted_everywhere() -> None:
    assert admitted(make_placement(None, None, None)) == ["arm", "amd"]


def test_every_label_of_a_selector_must_be_there() -> None:
    assert admitted(make_placement({"kubernetes.io/arch": "arm64", "kubernetes.io/os": "linux"}, None, None)) == ["arm"]
    assert admitted(make_placement({"kubernetes.io/arch": "arm64", "disk": "ssd"}, None, None)) == []


def test_one_term_of_an_affinity_is_enough() -> None:
    either = affinity(term("kubernetes.io/arch", "s390x"), term("kubernetes.io/arch", "arm64"))

    assert admitted(make_placement(None, either, None)) == ["arm"]


def test_a_term_that_asks_nothing_takes_no_node() -> None:
    assert admitted(make_placement(None, affinity(SelectorTerm()), None)) == []


def test_a_field_of_a_term_is_the_nodes_name() -> None:
    by_name = SelectorTerm(match_fields=(Expression("metadata.name", "In", ("amd",)),))

    assert admitted(make_placement(None, affinity(by_name), None)) == ["amd"]


def test_what_is_preferred_keeps_nobody_away() -> None:
    assert admitted(make_placement(None, Affinity(NodeAffinity()), None)) == ["arm", "amd"]


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (None, False),
        (Toleration(key="arch", operator="Equal", value="arm64", effect="NoSchedule"), True),
        (Toleration(key="arch", value="arm64"), True),
        (Toleration(key="arch", value="amd64"), False),
        (Toleration(key="arch", operator="Exists"), True),
        (Toleration(operator="Exists"), True),
        (Toleration(operator="Exists", effect="NoExecute"), False),
        (Toleration(key="other", operator="Exists"), False),
    ],
)
def test_a_taint_keeps_away_who_does_not_tolerate_it(toleration: Toleration | None, expected: bool) -> None:
    node = NodeView("arm", {}, (Taint("arch", "arm64", "NoSchedule"),))

    assert make_placement(None, None, (toleration,) if toleration else ()).admits(node) is expected


@pytest.mark.parametrize(
    "taint",
    [Taint("node.kubernetes.io/unschedulable", "", "NoSchedule"), Taint("arch", "arm64", "PreferNoSchedule")],
)
def test_a_taint_that_passes_or_only_prefers_keeps_nobody_away(taint: Taint) -> None:
    assert make_placement(None, None, ()).admits(NodeView("n", {}, (taint,)))


@pytest.mark.parametrize(
    ("placement", "expected"),
    [
        (make_placement(None, None, None), False),
        (make_placement({"kubernetes.io/os": "linux"}, None, None), False),
        (make_placement({"kubernetes.io/arch": "amd64"}, None, None), True),
        (make_placement(None, affinity(term("gpu", operator="Exists")), None), True),
        (make_placement(None, None, None, node="n1"), True),
        (make_placement(None, None, None, is_everywhere=True), True),
    ],
)
def test_nodes_are_chosen_by_more_than_their_operating_system(placement: Placement, expected: bool) -> None:
    assert placement.is_chosen is expected


def test_tolerations_that_admission_adds_make_no_difference() -> None:
    added = Toleration(key="node.kubernetes.io/not-ready", operator="Exists", effect="NoExecute")

    assert make_placement(None, None, (added,)) == make_placement({}, None, ())


def test_a_placement_is_told_in_words() -> None:
    either = affinity(term("gpu", "a", "b"), term("zone", operator="Exists"))

    assert str(make_placement({"kubernetes.io/arch": "amd64"}, either, None)) == (
        "kubernetes.io/arch=amd64, gpu in (a, b) or zone Exists"
    )
