from collections.abc import Callable

from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.labels import Claims, DefaultLabels, DefaultLabelSettings, compile_defaults, make_default_labels

MakeLabels = Callable[..., dict[str, str]]


def claims(unobserved: frozenset[str]) -> list[Claims]:
    content = FeatureSet(attributes={"a": "1"}, unobserved=unobserved)
    found = Snapshot({"programs.label": content}, catalogue=frozenset())
    made = make_default_labels(found, compile_defaults(DefaultLabelSettings()))
    return [one.claims for one in made.unresolved]


def test_programs_give_labels_under_their_own_names(make_labels: MakeLabels) -> None:
    content = FeatureSet(attributes={"cpu-avx512": "true", "example.com/card": "2", "bad": "no value"})
    assert make_labels("programs.label", content) == {"cpu-avx512": "true", "example.com/card": "2"}
    assert make_labels("programs.label", FeatureSet(attributes={})) == {}


def test_a_failing_program_leaves_its_own_labels_in_doubt_and_one_not_heard_yet_any() -> None:
    assert claims(frozenset()) == []
    assert claims(frozenset({"b"})) == [Claims({"feature.node.kubernetes.io/b": None})]
    assert claims(frozenset({"*"})) == [Claims({}, anything=True)]


def test_where_the_set_is_unknown_any_label_may_be_one_of_it(make_unknown: Callable[..., DefaultLabels]) -> None:
    (doubt,) = make_unknown("programs.label").unresolved
    assert doubt.claims == Claims(anything=True)
