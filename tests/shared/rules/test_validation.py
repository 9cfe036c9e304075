import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.rules.validation import FileValidation, OpenValidation, Place, validate_file

GOOD = """
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata: {name: good}
spec:
  rules:
  - name: one
    labels: {example.com/x: "1"}
    matchFeatures:
    - feature: cpu.cpuid
      matchExpressions:
        AVX2: {op: Exists}
"""


def validate(text: str) -> FileValidation:
    return validate_file(text.encode(), "f.yaml")


def places(found: FileValidation, kind: str) -> list[tuple[int, int, str]]:
    return [(one.line, one.column, one.path) for document in found.documents for one in getattr(document, kind)]


def test_a_good_file_has_neither_errors_nor_warnings_and_nfd_agrees() -> None:
    found = validate(GOOD)
    assert found.valid
    assert [(one.kind, one.name, one.line) for one in found.documents] == [("NodeFeatureRule", "good", 2)]
    assert (places(found, "errors"), places(found, "warnings"), found.errors, found.warnings) == ([], [], (), ())
    assert found.nfd
    assert (found.nfd.valid, found.nfd.errors) == (True, ())


def test_operators_arity_patterns_and_fields_are_errors_with_line_and_column() -> None:
    text = GOOD.replace("matchFeatures", "matchFeature: []\n    matchFeatures", 1).replace(
        "AVX2: {op: Exists}",
        'a: {op: exists}\n        b: {op: Gt, value: ["1", "2"]}\n        c: {op: InRegexp, value: ["("]}',
    )
    found = validate(text)
    assert not found.valid
    expressions = "spec.rules[0].matchFeatures[0].matchExpressions"
    assert places(found, "errors") == [
        (9, 5, "spec.rules[0].matchFeature"),
        (13, 13, f"{expressions}.a.op"),
        (14, 9, f"{expressions}.b"),
        (15, 9, f"{expressions}.c"),
    ]
    hints = [one.hint for one in found.documents[0].errors]
    assert hints[:2] == ["did you mean matchFeatures?", "write Exists"]


def test_unknown_features_and_short_forms_are_warnings_with_what_to_write() -> None:
    found = validate(GOOD.replace("cpu.cpuid", "cpu.cpud").replace("{op: Exists}", '{in: ["true"]}'))
    assert found.valid
    assert places(found, "warnings") == [
        (10, 7, "spec.rules[0].matchFeatures[0].feature"),
        (12, 9, "spec.rules[0].matchFeatures[0].matchExpressions.AVX2"),
    ]
    first, second = found.documents[0].warnings
    assert first.hint == "did you mean cpu.cpuid?"
    assert "{op: Exists}" in second.hint


def test_nfds_verdict_stands_beside_ours_and_does_not_decide() -> None:
    short = validate(GOOD.replace("example.com/x", "x"))
    assert short.valid
    assert short.nfd
    assert [(one.part, one.key, one.reason) for one in short.nfd.errors] == [("label", "x", "unprefixed")]
    misspelt = validate(GOOD.replace("Exists", "Equals"))
    assert not misspelt.valid
    assert misspelt.nfd
    assert misspelt.nfd.valid


def test_every_document_of_a_file_is_judged_and_other_objects_are_passed_over() -> None:
    other = "apiVersion: v1\nkind: ConfigMap\ndata: {}\n"
    found = validate("\n---\n".join([GOOD, other, GOOD.replace("Exists", "Is"), "- {name: worker}\n"]))
    assert [(one.kind, bool(one.errors)) for one in found.documents] == [
        ("NodeFeatureRule", False),
        ("NodeFeatureRule", True),
        ("worker rules", False),
    ]
    assert [one.line for one in found.documents] == [2, 21, 34]
    assert places(found, "errors")[0][:2] == (31, 16)
    assert ["ConfigMap" in one.message for one in found.warnings] == [True]


def test_what_is_broken_behind_a_good_document_is_told_and_the_good_one_is_judged() -> None:
    found = validate(GOOD + "---\na: [unclosed\n")
    assert [bool(one.errors) for one in found.documents] == [False, True]
    assert not found.valid


def test_a_file_without_rules_is_no_valid_file() -> None:
    for text in ("", "# nothing\n", "kind: ConfigMap\n"):
        found = validate(text)
        assert not found.valid
        assert "no rules" in found.errors[0].message


def test_a_compatibility_specification_is_judged_as_one() -> None:
    text = "version: v1alpha1\ncompatibilities:\n- wieght: 1\n  rules: [{name: r}]\n"
    found = validate(text)
    assert places(found, "errors") == [(3, 3, "compatibilities[0].wieght")]
    assert found.documents[0].kind == "compatibility specification"
    assert found.nfd is None
    assert validate(text.replace("wieght", "weight")).valid


def test_a_file_that_is_too_large_is_not_valid_and_more_than_a_thousand_findings_stay_errors() -> None:
    assert not validate_file(b"a" * (10 * 1024 * 1024), "f").valid
    strange = "".join(f"- {{name: r{number}, x{number}: 1, matchAny: 1}}\n" for number in range(1_500))
    (document,) = validate(strange).documents
    assert len(document.errors) > 1_000
    assert not any("must be a list" in one.message for one in document.warnings)


def test_rules_of_one_name_in_an_object_are_told() -> None:
    rules = "- {name: a, matchFeatures: []}\n- {name: a}\n- {name: b}\n- {name: a}\n"
    assert places(validate(rules), "warnings") == [(2, 4, "[1].name"), (4, 4, "[3].name")]


def test_further_findings_are_placed_as_those_of_the_reader() -> None:
    opened = OpenValidation((GOOD + "---" + GOOD).encode(), "f.yaml")
    opened.add_error(1, "spec.rules[0].labels.example.com/x", "no", "so")
    opened.add_warning(0, "metadata.name", "hm")
    found = opened.close()
    assert [one.errors for one in found.documents] == [
        (),
        (Place(20, 14, "spec.rules[0].labels.example.com/x", "no", "so"),),
    ]
    assert places(found, "warnings") == [(4, 12, "metadata.name")]
    assert found.documents[1].errors[0].describe("f.yaml") == (
        "f.yaml:20:14: spec.rules[0].labels.example.com/x: no (so)"
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=12,
)


@given(JSON, st.sampled_from(["kind", "metadata", "spec", "compatibilities", "x"]))
def test_no_document_is_too_strange_to_be_judged(value: Any, key: str) -> None:
    for document in (value, {key: value}, {"kind": "NodeFeatureRule", "spec": {"rules": value}}):
        found = validate(json.dumps(document))
        assert found.valid == (not found.errors and not any(one.errors for one in found.documents))
        for place in (one for document in found.documents for one in (*document.errors, *document.warnings)):
            assert (place.line > 0) == (place.column > 0)


@given(st.text(max_size=60) | st.binary(max_size=60))
def test_no_text_is_too_strange_to_be_judged(text: str | bytes) -> None:
    data = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    assert validate_file(data, "f").documents or validate_file(data, "f").errors


def test_an_object_without_kind_name_or_rules_is_told() -> None:
    found = validate(GOOD.replace("kind: NodeFeatureRule\n", ""))
    assert [one.message for one in found.documents[0].errors] == ["no kind; read as NodeFeatureRule"]
    head = "apiVersion: nfd.k8s-sigs.io/v1alpha1\nkind: NodeFeatureGroup\n"
    found = validate(head + "spec: {featureGroupRules: []}\n")
    assert found.valid
    assert [one.message for one in found.documents[0].warnings] == [
        "this object has no name",
        "this object has no rules",
    ]


def test_a_template_that_is_never_expanded_is_told() -> None:
    text = GOOD.replace(
        "    matchFeatures:", "  - name: two\n    labelsTemplate: a=b\n  - name: three\n    matchFeatures:"
    )
    assert places(validate(text), "warnings") == [(10, 5, "spec.rules[1].labelsTemplate")]


def test_names_and_numbers_that_no_machine_has_are_warnings() -> None:
    found = validate(GOOD.replace("AVX2: {op: Exists}", "avx2: {op: Exists}"))
    assert found.valid
    assert [one.hint for one in found.documents[0].warnings] == ["did you mean AVX2?"]
