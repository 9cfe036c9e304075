from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, encode
from nodeworthy_detector.programs.output import ProgramFacts, ProgramOutputError, parse_output

NOW = datetime(2026, 5, 6, tzinfo=UTC)


def test_lines_are_features_and_labels() -> None:
    found = parse_output(b"avx512=true\r\nready\n\n# a comment\n", NOW)
    assert found == ProgramFacts(
        FeatureSet(attributes={"avx512": "true", "ready": "true"}), {"avx512": "true", "ready": "true"}
    )


def test_directives_of_features_d_hold() -> None:
    text = b"# +no-label\na=1\n# +no-feature\nb=2\n# +expiry-time=2020-01-01T00:00:00Z\nc=3\n"
    assert parse_output(text, NOW) == ProgramFacts(FeatureSet(attributes={"a": "1"}), {"b": "2"})


def test_e6_lines_for_people_are_faults_and_their_neighbours_count() -> None:
    text = (
        b"[custom-detector] AVX-512 detected on this node\nFeature: avx512 = true\n"
        b"Custom env var test passed\navx512=true\n"
    )
    found = parse_output(text, NOW)
    assert found.content.attributes == {"avx512": "true"}
    assert [fault.partition(" is no name")[0] for fault in found.faults] == [
        "line 1: '[custom-detector] AVX-512 detected on this node'",
        "line 2: 'Feature: avx512'",
        "line 3: 'Custom env var test passed'",
    ]


def test_a_line_that_is_a_fault_does_not_use_up_a_directive() -> None:
    assert parse_output(b"# +no-label\nHello, world\na=1\n", NOW).labels == {}


def test_a_document_gives_flags_attributes_instances_and_labels() -> None:
    text = b""" {"flags": ["avx512"], "attributes": {"cores": "8"}, "instances": [{"name": "card0"}, {}],
               "labels": {"example.com/avx512": "true"}}"""
    assert parse_output(text, NOW) == ProgramFacts(
        FeatureSet(flags=frozenset({"avx512"}), attributes={"cores": "8"}, instances=({"name": "card0"}, {})),
        {"example.com/avx512": "true"},
    )


def test_illegal_names_of_a_document_are_faults_and_their_neighbours_count() -> None:
    text = b'{"flags": ["a b", "ok"], "attributes": {"": "1", "x": "2"}, "instances": [{"n m": "1", "y": "2"}]}'
    found = parse_output(text, NOW)
    assert found.content == FeatureSet(flags=frozenset({"ok"}), attributes={"x": "2"}, instances=({"y": "2"},))
    assert len(found.faults) == 3


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (b"{", "truncated"),
        (b'{"attributes": {"cores": 8}}', "$.attributes[...]"),
        (b'{"labels": {"fast": true}}', 'values are text, so 8 is written "8"'),
        (b'{"sets": {}}', "sets"),
        (b'{"flags": "avx"}', "$.flags"),
        (b'{"attributes": {"a": "\xff"}}', ""),
        (b"{" * 100_000, ""),
    ],
)
def test_a_document_of_another_form_is_refused_as_a_whole(text: bytes, part: str) -> None:
    with pytest.raises(ProgramOutputError) as error:
        parse_output(text, NOW)
    assert part in error.value.why


def test_a_program_that_says_nothing_has_an_empty_set() -> None:
    assert parse_output(b"", NOW) == ProgramFacts(FeatureSet(attributes={}), {})


@given(st.binary() | st.text().map(lambda text: b"{" + text.encode()))
def test_any_bytes_give_facts_that_can_be_published_or_a_refusal(text: bytes) -> None:
    try:
        found = parse_output(text, NOW)
    except ProgramOutputError:
        return
    encode(found.content)
    encode(FeatureSet(attributes=found.labels))
