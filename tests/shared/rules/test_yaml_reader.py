import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import DocumentError
from nodeworthy.rules.fields import read_text_map
from nodeworthy.rules.findings import Findings
from nodeworthy.rules.trees import MAX_DEPTH, MappingNode, Node, ScalarNode, SequenceNode
from nodeworthy.rules.yaml_reader import MAX_BYTES, MAX_NODES, read_yaml


def plain(node: Node) -> object:
    """The node as Python values; scalars as their text."""
    if isinstance(node, MappingNode):
        return {key: plain(value) for key, value in node.entries.items()}
    if isinstance(node, SequenceNode):
        return [plain(item) for item in node.items]
    return node.scalar.text


def read(text: str | bytes) -> object:
    return plain(read_yaml(text, Findings("file")))


def refusal(text: str | bytes) -> str:
    with pytest.raises(DocumentError) as caught:
        read_yaml(text, Findings("file"))
    (problem,) = caught.value.problems
    return f"{problem.line}: {problem.message}"


def test_maps_lists_and_scalars_are_read() -> None:
    assert read("a: [1, 'x', {b: true}]\nc:\n  - d\n") == {"a": ["1", "x", {"b": "true"}], "c": ["d"]}
    assert read('{"a": [1.50, null]}') == {"a": ["1.5", ""]}
    assert read("") == ""


def test_quoted_and_tagged_text_stays_text() -> None:
    assert read("['010', \"yes\", !!str 010, !!int '7', !!binary aGk=, !foo bar, ! 010]") == [
        "010", "yes", "010", "7", "hi", "bar", "010",
    ]  # fmt: skip


def test_keys_become_text_as_values_do() -> None:
    assert read("{off: a, 010: b, 1.50: c}") == {"false": "a", "8": "b", "1.5": "c"}


def test_every_node_knows_its_line() -> None:
    root = read_yaml("a: 1\nb:\n- x\n- y\n", Findings("file"))
    assert isinstance(root, MappingNode)
    assert root.lines == {"a": 1, "b": 2}
    second = root.entries["b"]
    assert isinstance(second, SequenceNode)
    assert [item.line for item in second.items] == [3, 4]


def test_aliases_and_merge_keys_are_followed() -> None:
    assert read("a: &x {k: 1}\nb: *x\n") == {"a": {"k": "1"}, "b": {"k": "1"}}
    assert read("a: &x {k: 1, l: 2}\nb: {<<: *x, l: 3}\n") == {"a": {"k": "1", "l": "2"}, "b": {"k": "1", "l": "3"}}
    assert read("{<<: [{k: 1}, {k: 2, l: 2}]}") == {"k": "1", "l": "2"}
    assert read("{'<<': 1}") == {"<<": "1"}


def test_of_equal_keys_the_last_one_counts_and_both_are_reported() -> None:
    findings = Findings("file")
    root = read_yaml("spec:\n  a: 1\n  a: 2\n", findings)
    assert plain(root) == {"spec": {"a": "2"}}
    (notice,) = findings.notices
    assert (notice.line, notice.path) == (3, "spec")
    assert "twice" in notice.message


def test_only_the_first_document_is_read_and_the_next_one_is_reported() -> None:
    for text, line in (("a: 1\n---\nb: 2\n", 2), ("a: 1\n...\n%%% not YAML {", 0)):
        findings = Findings("file")
        assert plain(read_yaml(text, findings)) == {"a": "1"}
        assert [notice.line for notice in findings.notices] == [line]


def test_text_that_is_no_yaml_names_the_line() -> None:
    assert refusal("a: 1\nb: {c: [}\n").startswith("2: this is not YAML")
    assert refusal(b"a: 1\nb: \xff\n") == "2: it is not UTF-8 text"
    assert "this is not YAML" in refusal("a: \x01")
    assert "this is not YAML" in refusal("\ud800")


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert read("\ufeffa: 1") == read(b"\xef\xbb\xbfa: 1") == {"a": "1"}


def test_a_key_must_be_text() -> None:
    assert refusal("a: 1\n? [b]\n: c\n") == "2: a key must be text"
    assert refusal("{~: 1}") == "1: a key must be text"


def test_aliases_that_cannot_be_followed_are_refused() -> None:
    assert refusal("a: &x [*x]") == "1: *x contains itself"
    assert refusal("a: *x") == "1: *x is not defined before"
    assert refusal("{<<: 5}") == "1: << wants a map, or a list of maps"


def test_r14_a_document_nested_too_deeply_is_refused() -> None:
    assert read("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert "nested deeper" in refusal("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))
    assert "nest" in refusal("[" * 50_000)
    assert "nested deeper" in refusal("a: &x " + "[" * 60 + "]" * 60 + "\nb: " + "[" * 60 + "*x" + "]" * 60)


def test_aliases_that_stand_for_a_billion_values_are_refused_at_once() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 10)
    )
    start = time.process_time()
    assert f"more than {MAX_NODES:,} values" in refusal(bomb)
    assert time.process_time() - start < 1


def test_a_document_that_is_too_large_is_refused_unread() -> None:
    assert refusal(b" " * (MAX_BYTES + 1)) == f"0: it is larger than {MAX_BYTES:,} bytes"


@given(st.text() | st.binary() | st.text(alphabet="abc:-{}[]&*!|>'\"#%?,~<\n \t01."))
def test_any_text_is_read_or_is_a_document_error(text: str | bytes) -> None:
    try:
        node = read_yaml(text, Findings("file"))
    except DocumentError:
        return
    assert isinstance(node, ScalarNode | SequenceNode | MappingNode)


@given(
    st.recursive(
        st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"])),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet="abc", min_size=1), inner),
        max_leaves=20,
    )
)
def test_json_with_texts_is_read_as_it_is(value: object) -> None:
    import json

    assert read(json.dumps(value, ensure_ascii=False)) == value


def test_a_character_written_as_two_surrogates_is_no_yaml_as_in_nfd() -> None:
    assert "invalid Unicode character escape" in refusal('"\\ud83d\\ude00"')
    assert read('"\U0001f600"') == "\U0001f600"


def test_keys_and_values_of_texts_that_yaml_rewrites_are_noticed() -> None:
    findings = Findings("file")
    node = read_yaml("on: yes\nb: 0302\nc: 1\nd: 'no'\n", findings)
    assert read_text_map(node, "labels", findings) == {"true": "true", "b": "194", "c": "1", "d": "no"}
    assert [(one.line, one.hint) for one in findings.notices] == [
        (1, 'write "on" for the text'),
        (1, 'write "yes" for the text'),
        (2, 'write "0302" for the text'),
    ]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("{{- if .Values.rules }}\na: b\n{{- end }}\n", "template of Helm"),
        ("a:\n- {{ .Values.name }}: {\n", "template of Helm"),
        ("a:\n\tb: c\n", "here is a tab"),
    ],
)
def test_what_is_no_yaml_is_told_with_its_usual_cause(text: str, hint: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_yaml(text, Findings("file"))
    assert hint in caught.value.problems[0].hint
