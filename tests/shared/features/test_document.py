from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import FeatureDocumentError
from nodeworthy.features import (
    FeatureSet,
    SetState,
    SetStatus,
    Snapshot,
    SourceHealth,
    read_document,
    write_document,
)

SNAPSHOT = Snapshot(
    {
        "cpu.cpuid": FeatureSet(
            flags=frozenset({"AVX"}), attributes={}, unobserved=frozenset({"TSXLDTRK", "AVX10_VERSION"})
        ),
        "pci.device": FeatureSet(instances=({"vendor": "10de"}, {"vendor": "10de"})),
    },
    {"cpu.rdt": SetStatus(SetState.UNKNOWN, "Permission denied"), "cpu.sst": SetStatus(SetState.ABSENT)},
    frozenset({"cpu.cpuid", "cpu.rdt", "cpu.sst", "pci.device"}),
    {"pci": SourceHealth(faults=("0000:00:1f.3: vendor: No such file or directory",))},
)


def test_what_is_written_is_read_again() -> None:
    assert read_document(msgspec.json.encode(write_document(SNAPSHOT)), "f.json") == SNAPSHOT


def test_the_three_maps_have_the_shape_of_nfd() -> None:
    document = write_document(SNAPSHOT)
    assert document["flags"] == {"cpu.cpuid": {"elements": {"AVX": {}}}}
    assert document["attributes"] == {"cpu.cpuid": {"elements": {}}}
    assert document["instances"] == {
        "pci.device": {"elements": [{"attributes": {"vendor": "10de"}}, {"attributes": {"vendor": "10de"}}]}
    }


def test_what_was_not_observed_stands_with_the_state_and_not_in_nfds_maps() -> None:
    status = write_document(SNAPSHOT)["sets"]["cpu.cpuid"]
    assert (status["state"], list(status["unobserved"])) == ("present", ["AVX10_VERSION", "TSXLDTRK"])
    assert "unobserved" not in write_document(SNAPSHOT)["sets"]["pci.device"]


def test_in_nfds_own_export_what_is_not_there_is_unknown() -> None:
    text = '{"flags": {"cpu.cpuid": {"elements": {"AVX": {}}}}, "attributes": {}, "instances": {}}'
    snapshot = read_document(text, "nfd.json")
    assert snapshot.lookup("cpu.cpuid").state is SetState.PRESENT
    assert snapshot.lookup("pci.device").state is SetState.UNKNOWN


def test_nulls_as_nfds_components_write_them_are_read() -> None:
    text = '{"flags": {"a.b": {"elements": null}}, "attributes": null, "instances": {"c.d": {"elements": null}}}'
    snapshot = read_document(text, "nfd.json")
    assert snapshot.contents == {"a.b": FeatureSet(), "c.d": FeatureSet(instances=())}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "truncated"),
        ("flags: {}", "malformed"),
        ("[]", "Expected `object`"),
        ("{}", "none of the maps"),
        ('{"flags": {"cpu.cpuid": []}}', "$.flags[...]"),
        ('{"attributes": {"a.b": {"elements": {"x": 1}}}}', "Expected `str`"),
        ('{"flags": {}, "sets": {"a.b": {"state": "present"}}}', "a.b"),
        ('{"flags": {}, "sets": {"a.b": {"state": "perhaps"}}}', "perhaps"),
        ('{"flags": {"a.b": {"elements": {}}}, "sets": {"a.b": {"state": "unknown"}}}', "its content is there"),
        ('{"flags": {}, "sets": {"a.b": {"state": "unknown", "unobserved": ["x"]}}}', "have unobserved elements"),
        (
            '{"flags": {"a.b": {"elements": {"x": {}}}}, "sets": {"a.b": {"state": "present", "unobserved": ["x"]}}}',
            "set a.b: observed and unobserved at once: ['x']",
        ),
        ('{"flags": {}, "sets": {"a.b": {"state": "present", "unobserved": [1]}}}', "Expected `str`"),
        (b'{"flags": {"\xff": {}}}', "UTF-8"),
        ("[" * 100_000, "Expected"),
    ],
)
def test_other_texts_are_refused_with_the_reason(text: str | bytes, why: str) -> None:
    with pytest.raises(FeatureDocumentError) as caught:
        read_document(text, "f.json")
    assert "f.json" in caught.value.what
    assert why in caught.value.why


@given(st.binary(max_size=100) | st.text(max_size=100))
def test_any_text_is_a_document_or_refused(data: bytes | str) -> None:
    with suppress(FeatureDocumentError):
        read_document(data, "f.json")


def test_text_that_is_no_unicode_is_written_with_the_replacement_character() -> None:
    snapshot = Snapshot({"local.label": FeatureSet(attributes={"k": b"\xff".decode("utf-8", "surrogateescape")})})
    assert write_document(snapshot)["attributes"]["local.label"]["elements"] == {"k": "\ufffd"}
