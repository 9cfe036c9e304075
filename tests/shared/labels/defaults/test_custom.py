from collections.abc import Callable

from nodeworthy.features import FeatureSet
from nodeworthy.labels import Claims, DefaultLabels


def test_the_text_of_rules_makes_no_label_by_itself(make_labels: Callable[..., dict[str, str]]) -> None:
    assert make_labels("custom.rules", FeatureSet(attributes={"sources.custom": "- {name: r}"})) == {}


def test_where_the_rules_are_unknown_any_label_may_be_theirs(make_unknown: Callable[..., DefaultLabels]) -> None:
    (doubt,) = make_unknown("custom.rules").unresolved
    assert (doubt.giver.name, doubt.claims) == ("custom.rules", Claims(anything=True))
