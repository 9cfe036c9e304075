import pytest

from nodeworthy import rules


@pytest.mark.parametrize(
    ("rule", "meant"),
    [
        ("{name: r, labels: {x.org/a: b}, matchFeature: [{feature: cpu.cpuid}]}", "matchFeatures"),
        ("{name: r, labels: {x.org/a: b}, match_any: []}", "matchAny"),
        ("{name: r, matchFeatures: [{feature: cpu.cpuid, matchExpression: {AVX: Exists}}]}", "matchExpressions"),
        ("{name: r, matchFeatures: [{feature: cpu.cpuid, matchNames: {op: Exists}}]}", "matchName"),
    ],
)
def test_a_misspelt_condition_does_not_make_a_rule_that_always_holds(rule: str, meant: str) -> None:
    document = rules.read_rule_document(f"[{rule}]", "custom.yaml")
    (read,) = document.rules
    assert isinstance(read, rules.UnreadableRule)
    assert [problem.hint for problem in document.problems] == [f"did you mean {meant}?"]


def test_a_strange_field_beside_a_condition_is_passed_over() -> None:
    text = (
        "[{name: r, matchFeature: [], matchFeatures: [{feature: cpu.cpuid, matchNames: {}, matchName: {op: Exists}}]}]"
    )
    document = rules.read_rule_document(text, "custom.yaml")
    assert not document.problems
    assert isinstance(document.rules[0], rules.Rule)
