import pytest

from nodeworthy import rules
from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot
from nodeworthy.rules import Outcome, RuleReport
from nodeworthy.rules.explanation import deciding_expressions, distance, explain_chain

FACTS = Snapshot(
    {
        "kernel.version": FeatureSet(attributes={"major": "6", "minor": "1"}),
        "pci.device": FeatureSet(instances=({"vendor": "8086", "class": "0200"}, {"vendor": "10de", "class": "0300"})),
    },
    {"cpu.cpuid": SetStatus(SetState.UNKNOWN, "no answer")},
    catalogue=frozenset(),
)


def term(feature: str, **expressions: str) -> str:
    written = ", ".join(f'{name}: {{op: In, value: ["{value}"]}}' for name, value in expressions.items())
    return f"{{feature: {feature}, matchExpressions: {{{written}}}}}"


def explain(*written: str) -> tuple[RuleReport, ...]:
    return explain_chain(rules.read_rule_document("[" + ", ".join(written) + "]", "f").rules, FACTS)


def names(report: RuleReport) -> list[tuple[str, int | None]]:
    return [(one.name, one.alternative) for one in deciding_expressions(report)]


def test_a_rule_that_matches_shows_all_that_had_to_hold_and_its_first_alternative() -> None:
    [report] = explain(
        f"{{name: r, matchFeatures: [{term('kernel.version', major='6', minor='1')}], matchAny: ["
        f"{{matchFeatures: [{term('pci.device', vendor='1002')}]}},"
        f" {{matchFeatures: [{term('pci.device', vendor='10de')}]}}]}}"
    )
    assert report.outcome is Outcome.TRUE
    assert names(report) == [("major", None), ("minor", None), ("vendor", 1)]
    assert distance(report) == 0


def test_a_rule_that_does_not_match_shows_what_fails_with_what_was_observed() -> None:
    [report] = explain(f"{{name: r, matchFeatures: [{term('kernel.version', major='5', minor='1')}]}}")
    [one] = deciding_expressions(report)
    assert (one.name, one.observed, one.expected) == ("major", "6", "5")
    assert distance(report) == 1


def test_where_only_alternatives_are_in_the_way_the_nearest_one_is_shown() -> None:
    [report] = explain(
        f"{{name: r, matchAny: [{{matchFeatures: [{term('kernel.version', major='5', minor='2')}]}},"
        f" {{matchFeatures: [{term('kernel.version', major='6', minor='2')}]}}]}}"
    )
    assert names(report) == [("minor", 1)]
    assert distance(report) == 1


def test_expressions_that_no_single_device_meets_are_shown_though_each_is_met() -> None:
    [report] = explain(f"{{name: r, matchFeatures: [{term('pci.device', **{'vendor': '10de', 'class': '0200'})}]}}")
    assert report.outcome is Outcome.FALSE
    assert [name for name, _ in names(report)] == ["class", "vendor"]
    assert distance(report) == 1
    assert "no single device" in report.reason


def test_what_is_not_known_is_shown_as_such() -> None:
    [report] = explain(f"{{name: r, matchFeatures: [{term('kernel.version', major='6')}, {term('cpu.cpuid', A='x')}]}}")
    assert report.outcome is Outcome.UNKNOWN
    [one] = deciding_expressions(report)
    assert (one.name, one.observed) == ("A", None)
    assert "no answer" in report.reason


def test_a_bad_value_is_shown_where_it_is_reached() -> None:
    [report] = explain(
        "{name: r, matchFeatures: [{feature: kernel.version, matchExpressions: {major: {op: Gt, value: [x]}}}]}"
    )
    assert report.outcome is Outcome.ERROR
    assert names(report) == [("major", None)]


@pytest.mark.parametrize(("major", "expected"), [("6", Outcome.TRUE), ("5", Outcome.FALSE)])
def test_labels_of_a_rule_are_seen_by_those_after_it_as_when_labelling(major: str, expected: Outcome) -> None:
    chain = (
        f"{{name: a, labels: {{x: v}}, matchFeatures: [{term('kernel.version', major=major)}]}}",
        f"{{name: b, matchFeatures: [{term('rule.matched', x='v')}]}}",
    )
    reports = explain(*chain)
    compiled = rules.compile_rules(rules.read_rule_document("[" + ", ".join(chain) + "]", "f").rules)
    labelled = rules.evaluate_chain(compiled, FACTS).results
    assert [one.outcome for one in reports] == [one.outcome for one in labelled] == [expected, expected]


def test_a_rule_that_cannot_be_read_is_in_error_and_hides_no_other() -> None:
    broken, whole = explain("{name: a, matchFeatures: 1}", "{name: b}")
    assert (broken.outcome, whole.outcome) == (Outcome.ERROR, Outcome.TRUE)
    assert deciding_expressions(broken) == ()
    assert distance(broken) == 1
