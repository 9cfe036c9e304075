"""The canonical form is a promise to other processes, other Pythons and other languages: its bytes stand here."""

import hashlib

import msgpack
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import EncodingError
from nodeworthy.features import MAX_SET_BYTES, FeatureSet, clean_text, decode, digest, encode

texts = st.text(max_size=20)
attributes = st.dictionaries(texts, texts, max_size=6)


def without_names(content: FeatureSet, names: frozenset[str]) -> FeatureSet:
    return msgspec.structs.replace(content, unobserved=names - content.names())


sets = st.builds(
    without_names,
    st.builds(
        FeatureSet,
        flags=st.none() | st.frozensets(texts, max_size=6),
        attributes=st.none() | attributes,
        instances=st.none() | st.lists(attributes, max_size=6).map(tuple),
    ),
    st.frozensets(texts, max_size=6),
)

GOLDEN = [
    (FeatureSet(), "80"),
    (FeatureSet(flags=frozenset()), "81a5666c61677390"),
    (FeatureSet(flags=frozenset({"AVX2", "ADX"})), "81a5666c61677392a3414458a441565832"),
    (
        FeatureSet(attributes={"minor": "8", "full": "6.8.0", "major": "6"}),
        "81aa6174747269627574657383a466756c6ca5362e382e30a56d616a6f72a136a56d696e6f72a138",
    ),
    (
        FeatureSet(instances=({"vendor": "10de"}, {"vendor": "10de"}, {"vendor": "8086"}, {"vendor": "10de"})),
        "81a9696e7374616e636573939281a676656e646f72a431306465029281a676656e646f72a438303836019281a676656e646f72a43130646501",
    ),
    (
        FeatureSet(flags=frozenset({"X"}), attributes={"AVX10_VERSION": "2"}),
        "82aa6174747269627574657381ad41565831305f56455253494f4ea132a5666c61677391a158",
    ),
    (
        FeatureSet(flags=frozenset({"AVX"}), attributes={}, unobserved=frozenset({"TSXLDTRK", "HTT"})),
        "83aa6174747269627574657380a5666c61677391a3415658aa756e6f6273657276656492a3485454a85453584c4454524b",
    ),
    (FeatureSet(unobserved=frozenset({"x"})), "81aa756e6f6273657276656491a178"),
]


@pytest.mark.parametrize(("content", "expected"), GOLDEN)
def test_the_bytes_are_the_published_ones(content: FeatureSet, expected: str) -> None:
    assert encode(content).hex() == expected
    assert decode(bytes.fromhex(expected)) == content


def test_the_digest_is_the_sha256_of_the_bytes() -> None:
    data = encode(GOLDEN[2][0])
    assert digest(data) == "sha256:" + hashlib.sha256(data).hexdigest()


@given(sets)
def test_what_is_encoded_is_decoded(content: FeatureSet) -> None:
    assert decode(encode(content)) == content


@given(sets)
def test_an_independent_reader_reads_the_same(content: FeatureSet) -> None:
    read = msgpack.unpackb(encode(content))
    assert list(read) == sorted(read)
    if content.flags is not None:
        assert read["flags"] == sorted(content.flags, key=str.encode)
    if content.attributes is not None:
        assert list(read["attributes"].items()) == sorted(content.attributes.items(), key=lambda item: item[0].encode())
    assert read.get("unobserved", []) == sorted(content.unobserved, key=str.encode)


def test_neighbours_are_folded_and_the_order_is_kept() -> None:
    functions = ({"device": "1572"},) + ({"device": "154c"},) * 256
    assert len(encode(FeatureSet(instances=functions))) < 64
    assert decode(encode(FeatureSet(instances=functions))).instances == functions


def test_the_order_of_attributes_in_an_instance_does_not_matter() -> None:
    one = FeatureSet(instances=({"a": "1", "b": "2"},))
    other = FeatureSet(instances=({"b": "2", "a": "1"},))
    assert encode(one) == encode(other)


def test_names_are_sorted_by_their_utf8_bytes() -> None:
    # UTF-16, as Java and JavaScript sort, would put U+1F600 before U+FF21.
    data = encode(FeatureSet(flags=frozenset({"\U0001f600", "\uff21", "z"})))
    assert msgpack.unpackb(data)["flags"] == ["z", "\uff21", "\U0001f600"]


def test_bytes_that_are_no_text_become_the_replacement_character() -> None:
    raw = b"caf\xe9".decode("utf-8", "surrogateescape")
    assert clean_text(raw) == "caf\ufffd"
    assert decode(encode(FeatureSet(flags=frozenset({raw})))).flags == frozenset({"caf\ufffd"})


def test_names_that_become_one_are_observed_if_one_of_them_is() -> None:
    one, other = (raw.decode("utf-8", "surrogateescape") for raw in (b"caf\xe9", b"caf\xe8"))
    content = FeatureSet(flags=frozenset({one}), unobserved=frozenset({other}))
    assert decode(encode(content)) == FeatureSet(flags=frozenset({"caf\ufffd"}))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "truncated"),
        (b"\xc1", "invalid"),
        (b"\x80\x80", "trailing"),
        (b"\x90", "Expected `object`"),
        (bytes.fromhex("81a5666c61677392a441565832a3414458"), "canonical"),  # not sorted
        (bytes.fromhex("81a5666c61677392a3414458a3414458"), "canonical"),  # twice
        (bytes.fromhex("81a5666c616773dc0001a3414458"), "canonical"),  # a longer form of the array's length
        (bytes.fromhex("81a5666c616773c0"), "canonical"),  # null instead of nothing
        (bytes.fromhex("81a5666c6167739101"), "Expected `str`"),
        (bytes.fromhex("81a161a162"), "unknown field"),
        (bytes.fromhex("81a9696e7374616e636573919281a161a16200"), ">= 1"),  # a run of none
        (bytes.fromhex("81a9696e7374616e636573919281a161a162ce7fffffff"), "100,000"),  # two thousand million devices
        (bytes.fromhex("81a9696e7374616e636573929281a161a162019281a161a16201"), "canonical"),  # a run in two pieces
        (bytes.fromhex("81aa756e6f6273657276656490"), "canonical"),  # an empty list of unobserved names
        (bytes.fromhex("81aa756e6f6273657276656492a162a161"), "canonical"),  # unobserved names that are not sorted
        (bytes.fromhex("81aa756e6f6273657276656492a161a161"), "canonical"),  # an unobserved name twice
        (bytes.fromhex("82a5666c61677391a161aa756e6f6273657276656491a161"), "contradicts itself"),  # also a flag
        (bytes.fromhex("82aa6174747269627574657381a161a162aa756e6f6273657276656491a161"), "contradicts itself"),
        (bytes.fromhex("82aa756e6f6273657276656491a161a5666c61677391a162"), "canonical"),  # keys in another order
        (b"\x91" * 100_000, "Expected `object`"),
        (bytes(MAX_SET_BYTES + 1), "limit"),
    ],
)
def test_other_bytes_are_refused_with_the_reason(data: bytes, why: str) -> None:
    with pytest.raises(EncodingError) as caught:
        decode(data)
    assert why in str(caught.value)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_set_or_refused(data: bytes) -> None:
    try:
        content = decode(data)
    except EncodingError:
        return
    assert encode(content) == data


def test_a_set_over_the_limit_is_refused() -> None:
    with pytest.raises(EncodingError, match="limit is 524,288"):
        encode(FeatureSet(attributes={"key": "x" * MAX_SET_BYTES}))
