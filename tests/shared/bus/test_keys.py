import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.bus import keys
from nodeworthy.errors import UsageError

DIGEST = "sha256:" + "0a" * 32
NAME = st.text(min_size=1, max_size=20)


@given(NAME, NAME, NAME)
def test_every_producers_key_comes_back(node: str, namespace: str, name: str) -> None:
    producers = (keys.DETECTOR, keys.KUBERNETES, keys.program(name), keys.node_feature(namespace, name))
    for producer in producers:
        assert keys.parse_snapshot_key(keys.snapshot_key(node, producer)) == (node, producer)


def test_keys_are_those_of_the_design() -> None:
    assert keys.snapshot_key("n.1", keys.DETECTOR) == "n_1.detector"
    assert keys.snapshot_key("n1", keys.node_feature("ns", "my.obj")) == "n1.x.ns.my_obj"
    assert keys.set_key(DIGEST) == "0a" * 32
    assert keys.image_key(DIGEST) == "sha256-" + "0a" * 32
    assert keys.tag_key("docker.io/library/alpine:3") == (
        "tag-9e42819a0aa0fab4ff50a739dc72cfc6ffb3c2f4bcb1159cfa6ec88298f426fa"
    )
    assert keys.labels_key("n.1") == "n_1"
    assert keys.parse_labels_key("n_1") == "n.1"
    assert str(keys.node_feature("ns", "obj")) == "x.ns.obj"


@pytest.mark.parametrize(
    "key", ["n1", "n1.", "n1.detector.x", "n1.p", "n1.x.ns", "n1.y", ".detector", "N.detector", "a.b.c.d.e"]
)
def test_what_is_no_snapshots_key_is_refused(key: str) -> None:
    with pytest.raises(UsageError):
        keys.parse_snapshot_key(key)


def test_a_producer_with_the_wrong_names_has_no_key() -> None:
    with pytest.raises(UsageError, match="is no producer"):
        keys.snapshot_key("n1", keys.Producer("detector", "x"))


@pytest.mark.parametrize(
    "digest", ["", "sha256:", "sha256:" + "A" * 64, "sha512:" + "0" * 64, "0" * 64, DIGEST + "0", DIGEST + "\n"]
)
def test_what_is_no_digest_has_no_key(digest: str) -> None:
    with pytest.raises(UsageError, match="is no digest"):
        keys.set_key(digest)


def test_a_sets_key_comes_back() -> None:
    assert keys.parse_set_key(keys.set_key(DIGEST)) == DIGEST
