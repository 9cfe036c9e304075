"""Documents that are wrong, hostile or huge: an error that tells what, or a rule that is left out, and nothing else."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodeworthy.errors import DocumentError, RuleError
from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.rules import (
    Operator,
    Outcome,
    compile_rules,
    evaluate_chain,
    nfd_report,
    read_compatibility_spec,
    read_rule_document,
    read_rule_file,
    read_rule_object,
    report_sets,
)
from nodeworthy.rules.nfd_validation import validate_as_nfd

READERS: list[Callable[[bytes], object]] = [
    lambda data: read_rule_document(data, "f"),
    lambda data: read_compatibility_spec(data, "f"),
    lambda data: read_rule_file(data, "f", strict=True),
]
FACTS = Snapshot(
    {
        "cpu.cpuid": FeatureSet(flags=frozenset({"AVX", "AVX2"})),
        "kernel.version": FeatureSet(attributes={"major": "6", "full": "6.1.0-18-amd64", "odd": "\x00"}),
        "pci.device": FeatureSet(instances=({"vendor": "10de", "class": "0302"}, {})),
        "kernel.loadedmodule": FeatureSet(flags=frozenset({"vfio_pci"})),
        "half.set": FeatureSet(attributes={}, unobserved=frozenset({"k"})),
    },
    catalogue=frozenset({"dark.set"}),
)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a: &a [x,x]\n" + b"".join(b"%c: &%c [%s]\n" % (n, n, b",".join([b"*%c" % (n - 1)] * 9)) for n in b"bcdefghi"),
         "more than 200,000 values"),
        (b"x: " + b"[" * 200 + b"]" * 200, "nested deeper than 100 levels"),
        (b"x: " + b"{a: " * 100_000, "nested deeper than 100 levels"),
        (b"- name: " + b"r" * 10_000_000, "larger than 1,048,576 bytes"),
        (b"- name: 'a\0b'", "not YAML"),
        (b"- name: \xff\xfe", "not UTF-8"),
        (b"x: &x [*x]", "contains itself"),
    ],
    ids=["bomb", "deep list", "deep map", "10 MB", "NUL", "no UTF-8", "cycle"],
)  # fmt: skip
def test_hostile_documents_are_refused_in_plain_words(
    read: Callable[[bytes], object], data: bytes, message: str
) -> None:
    with pytest.raises(DocumentError, match=message):
        read(data)


def test_a_nul_that_is_written_as_an_escape_is_text_like_any_other() -> None:
    document = read_rule_document('- {name: r, labels: {x.org/k: "a\\0b"}}', "f")
    (result,) = evaluate_chain(compile_rules(document.rules), FACTS).results
    assert result.labels == {"x.org/k": "a\0b"}


def test_ten_thousand_rules_are_read_and_evaluated() -> None:
    rules = "".join(
        f"- {{name: r{n}, labels: {{x.org/l{n}: a}}, matchFeatures: [{{feature: cpu.cpuid}}]}}\n" for n in range(10_000)
    )
    document = read_rule_document(rules, "f")
    results = evaluate_chain(compile_rules(document.rules), FACTS).results
    assert sum(one.outcome is Outcome.TRUE for one in results) == 10_000


UNKNOWN = """\
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
top: 1
metadata: {name: n, anything: goes}
spec:
  beside: 1
  rules:
  - name: r
    in-rule: 1
    matchAny:
    - in-alternative: 1
      matchFeatures:
      - feature: cpu.cpuid
        in-term: 1
        matchExpressions:
          AVX: {op: Exists, in-expression: 1}
        matchName: {op: Exists, in-name: 1}
    taints: [{key: x.org/t, effect: NoSchedule, in-taint: 1}]
"""


def test_unknown_fields_are_told_at_every_level_and_refused_by_a_validation() -> None:
    document = read_rule_document(UNKNOWN, "f")
    told = [
        (one.line, one.path.rpartition(".")[2]) for one in document.notices if one.message == "nobody reads this field"
    ]
    fields = ["top", "beside", "in-rule", "in-alternative", "in-term", "in-expression", "in-name", "in-taint"]
    assert told == list(zip([3, 6, 9, 11, 14, 16, 17, 18], fields, strict=True))
    (result,) = evaluate_chain(compile_rules(document.rules), FACTS).results
    assert result.outcome is Outcome.TRUE
    with pytest.raises(DocumentError) as caught:
        read_rule_document(UNKNOWN, "f", strict=True)
    assert len(caught.value.problems) == len(fields)


TEXTS = st.sampled_from(
    ["AVX", "major", "full", "vendor", "10de", "6", "6.1", "true", "(", "[a-", "^v", "@a.b.c", "", "\0"]
)
SCALARS = TEXTS | st.integers() | st.booleans() | st.none() | st.floats()
OPERATORS = st.sampled_from([*(operator.value for operator in Operator), "Equals", "in", "exists", "gt"])
EXPRESSIONS = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=3),
    st.fixed_dictionaries(
        {"op": OPERATORS}, optional={"value": SCALARS | st.lists(SCALARS, max_size=3), "type": TEXTS}
    ),
    st.dictionaries(OPERATORS, SCALARS | st.lists(SCALARS, max_size=2), max_size=2),
)
FEATURES = st.sampled_from(
    [
        "cpu.cpuid",
        "Kernel.Version",
        "pci.device",
        "rule.matched",
        "kernel.loadedmodule",
        "dark.set",
        "half.set",
        "x",
        "",
    ]
)
TERMS = st.fixed_dictionaries(
    {"feature": FEATURES},
    optional={
        "matchExpressions": st.dictionaries(TEXTS, EXPRESSIONS, max_size=3) | st.lists(TEXTS, max_size=2) | SCALARS,
        "matchName": EXPRESSIONS,
    },
)
TEXT_MAPS = st.dictionaries(TEXTS, SCALARS, max_size=2)
RULES = st.fixed_dictionaries(
    {"name": SCALARS},
    optional={
        "matchFeatures": st.lists(TERMS, max_size=3) | SCALARS,
        "matchAny": st.lists(
            st.fixed_dictionaries({}, optional={"matchFeatures": st.lists(TERMS, max_size=2)}), max_size=2
        ),
        "labels": TEXT_MAPS,
        "vars": TEXT_MAPS,
        "extendedResources": TEXT_MAPS,
        "labelsTemplate": TEXTS | st.just("{{ range .cpu.cpuid }}x-{{ .Name }}=1\n{{ end }}"),
        "taints": st.lists(st.dictionaries(st.sampled_from(["key", "effect", "timeAdded"]), SCALARS), max_size=2),
        "unknown": SCALARS,
    },
)


@settings(max_examples=300)
@given(st.lists(RULES | SCALARS, max_size=4))
def test_whatever_stands_in_rules_they_are_read_and_every_rule_has_an_outcome(rules: list[object]) -> None:
    text = json.dumps(rules)
    try:
        document = read_rule_document(text, "f")
    except DocumentError:
        return
    results = evaluate_chain(compile_rules(document.rules), FACTS).results
    assert [one.name for one in results] == [rule.name for rule in document.rules]
    assert all(one.reason for one in results if one.outcome in (Outcome.UNKNOWN, Outcome.ERROR))
    validate_as_nfd(json.dumps({"spec": {"rules": rules}}))


@settings(max_examples=200)
@given(st.lists(RULES | SCALARS, max_size=3))
def test_the_same_holds_for_objects_of_a_cluster_and_for_specifications(rules: list[object]) -> None:
    try:
        value = {"kind": "NodeFeatureRule", "spec": {"rules": rules}}
        evaluate_chain(compile_rules(read_rule_object(value, "o").rules), FACTS)
        spec = read_compatibility_spec(json.dumps({"compatibilities": [{"rules": rules}]}), "s")
        reports = report_sets(spec.compatibilities, FACTS)
        assert all(one.reason for one in reports if one.outcome is not Outcome.TRUE)
        nfd_report(spec.compatibilities, FACTS)
    except (DocumentError, RuleError):
        return
