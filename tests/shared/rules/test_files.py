import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import DocumentError
from nodeworthy.rules import RuleDocument, RuleFile, UnreadableDocument, UnreadableRule, read_rule_file

RULE = """\
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata: {name: %s}
spec:
  rules:
  - {name: r, labels: {x.org/k: "1"}}
"""
OTHER = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}\n"


def names(file: RuleFile) -> list[tuple[str, bool]]:
    """Name of each document, and whether it could be read."""
    return [(document.name, isinstance(document, RuleDocument)) for document in file.documents]


def join(*documents: str) -> str:
    return "---\n".join(documents)


def listed(*documents: str, kind: str = "List") -> str:
    items = "".join("- " + document.rstrip().replace("\n", "\n  ") + "\n" for document in documents)
    return f"apiVersion: v1\nkind: {kind}\nitems:\n{items}"


def test_all_documents_are_read_and_objects_of_other_kinds_are_passed_over() -> None:
    worker = "- {name: w}\n"
    file = read_rule_file(join(RULE % "a", "", OTHER, RULE % "b", "# a comment\n", worker), "f.yaml", strict=True)
    assert names(file) == [("a", True), ("b", True), ("", True)]
    assert [document.kind for document in file.documents if isinstance(document, RuleDocument)] == [
        "NodeFeatureRule", "NodeFeatureRule", "worker rules",
    ]  # fmt: skip
    assert [(notice.line, notice.message) for notice in file.notices] == [
        (9, "a ConfigMap holds no rules, so it is passed over")
    ]


def test_documents_have_the_lines_of_the_file() -> None:
    file = read_rule_file(join(RULE % "a", (RULE % "b").replace("labels", "label")), "f.yaml")
    _, second = file.documents
    assert isinstance(second, RuleDocument)
    assert (second.line, [notice.line for notice in second.notices]) == (8, [13])


@pytest.mark.parametrize("kind", ["List", "NodeFeatureRuleList"])
def test_the_items_of_a_list_are_documents(kind: str) -> None:
    file = read_rule_file(listed(RULE % "a", OTHER, RULE % "b", kind=kind), "f.yaml", strict=True)
    assert names(file) == [("a", True), ("b", True)]
    assert [notice.path for notice in file.notices] == ["items[1].kind"]


def test_a_list_in_json_is_read_as_one_in_yaml() -> None:
    item = {"apiVersion": "nfd.k8s-sigs.io/v1alpha1", "kind": "NodeFeatureRule", "metadata": {"name": "a"}, "spec": {}}
    text = json.dumps({"kind": "List", "items": [item, [{"name": "w"}]]})
    assert names(read_rule_file(text.encode(), "f.json")) == [("a", True), ("", True)]


@pytest.mark.parametrize("wrap", [join, listed])
def test_a_document_that_cannot_be_read_harms_only_itself(wrap: object) -> None:
    assert callable(wrap)
    bad = (RULE % "bad").replace("v1alpha1", "v9")
    text = wrap(RULE % "a", bad, RULE % "b")
    file = read_rule_file(text, "f.yaml")
    assert names(file) == [("a", True), ("bad", False), ("b", True)]
    with pytest.raises(DocumentError, match="is no group and version of rules"):
        read_rule_file(text, "f.yaml", strict=True)


def test_what_is_no_yaml_ends_the_file_and_leaves_what_stands_before_it() -> None:
    file = read_rule_file(join(RULE % "a", "spec: [unclosed\n", RULE % "b"), "f.yaml")
    assert names(file) == [("a", True), ("", False)]
    assert isinstance(file.documents[1], UnreadableDocument)
    assert file.documents[1].problems[0].message.startswith("this is not YAML")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: NodeFeatureRules\nspec: {}\n", "'NodeFeatureRules' holds no rules"),
        ("apiVersion: nfd.k8s-sigs.io/v1alpha1\nkind: Rule\n", "'Rule' holds no rules"),
        ("kind: List\nitems: hello\n", "this must be a list"),
        ("hello", "rules stand in a map"),
        ("version: v1alpha1\ncompatibilities: []\n", "it has neither kind nor spec"),
    ],
)
def test_what_is_most_likely_meant_for_us_is_not_passed_over(text: str, message: str) -> None:
    (document,) = read_rule_file(text, "f.yaml").documents
    assert isinstance(document, UnreadableDocument)
    assert message in document.problems[0].message


@pytest.mark.parametrize(
    ("version", "kind"),
    [("nfd.k8s-sigs.io/v1alpha1", "NodeFeature"), ("nfd.openshift.io/v1", "NodeFeatureDiscovery"), ("v1", "Secret")],
)
def test_objects_that_stand_beside_rules_are_passed_over(version: str, kind: str) -> None:
    file = read_rule_file(f"apiVersion: {version}\nkind: {kind}\nspec: {{}}\n", "f.yaml", strict=True)
    assert file.documents == ()
    assert [notice.message for notice in file.notices] == [f"a {kind} holds no rules, so it is passed over"]


def test_a_validation_tells_what_is_wrong_in_every_document_at_once() -> None:
    bad = (RULE % "a").replace("labels", "label")
    with pytest.raises(DocumentError) as caught:
        read_rule_file(join(bad, bad), "f.yaml", strict=True)
    assert [problem.line for problem in caught.value.problems] == [6, 13]


def test_the_limits_hold_for_the_file_and_not_for_each_document() -> None:
    patterns = ", ".join(["'[a-b]x{2}'"] * 600)
    term = f"{{feature: a.b, matchExpressions: {{k: {{op: InRegexp, value: [{patterns}]}}}}}}"
    rule = f"- {{name: r, matchFeatures: [{term}]}}\n"
    documents = read_rule_file(join(rule, rule), "f.yaml").documents
    rules = [one.rules[0] for one in documents if isinstance(one, RuleDocument)]
    assert [isinstance(one, UnreadableRule) for one in rules] == [False, True]
    values = "[" + "a, " * 150_000 + "]\n"
    assert names(read_rule_file(join(OTHER + f"x: {values}", OTHER + f"x: {values}"), "f.yaml")) == [("", False)]


SNIPPETS = st.sampled_from(
    [
        *(RULE % "a").splitlines(keepends=True),
        *OTHER.splitlines(keepends=True),
        *("---\n", "...\n", "kind: List\n", "items:\n", "- ", "  ", "{", "}", "&a ", "*a\n", "? ", "\0", "\ud800"),
    ]
)


@given(st.lists(SNIPPETS | st.text(max_size=5), max_size=16).map("".join), st.booleans())
def test_any_text_is_a_file_of_rules_or_a_document_error(text: str, strict: bool) -> None:
    try:
        file = read_rule_file(text, "f.yaml", strict=strict)
    except DocumentError:
        # Without strict, one document that is wrong harms only itself.
        if strict:
            return
        raise
    assert all(one.problems for one in file.documents if isinstance(one, UnreadableDocument))


@given(st.binary(max_size=60))
def test_any_bytes_are_a_file_of_rules(data: bytes) -> None:
    assert isinstance(read_rule_file(data, "f.yaml"), RuleFile)
