import pytest

from nodeworthy.errors import RuleError
from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.rules import CompatibilitySet, Expression, Operator, Rule, Term, nfd_report, read_compatibility_spec

FACTS = Snapshot({"lab.x": FeatureSet(attributes={"k": "abc"})})


def test_what_is_unknown_is_no_match_for_want_of_a_third_value() -> None:
    rule = Rule("r", (Term("dark.set", {"a": Expression(Operator.EXISTS)}),))
    (one,) = nfd_report([CompatibilitySet((rule,))], FACTS)
    assert one["rules"][0]["isMatch"] is False
    assert one["rules"][0]["matchedExpressions"][0]["isMatch"] is False


def test_one_question_that_cannot_be_asked_ends_the_report_as_in_nfd() -> None:
    bad = Term("lab.x", {"k": Expression(Operator.GT, ("1",))})
    for rule in (Rule("r", (bad,)), Rule("r", (Term("no.such"), bad), ((Term("lab.x"),),))):
        with pytest.raises(RuleError, match=r"rule 'r' cannot be evaluated: .*'abc' is not a whole number"):
            nfd_report([CompatibilitySet((rule,))], FACTS)


def test_a_rule_that_could_not_be_read_ends_the_report() -> None:
    spec = read_compatibility_spec("compatibilities: [{rules: [{name: r, vars: [x]}]}]", "spec")
    with pytest.raises(RuleError, match="could not be read"):
        nfd_report(spec.compatibilities, FACTS)
