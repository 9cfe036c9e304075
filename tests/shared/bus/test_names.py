import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.bus.names import (
    MAX_TOKEN_BYTES,
    Bucket,
    Endpoint,
    Names,
    NodeSubject,
    Topic,
    decode_token,
    encode_token,
)
from nodeworthy.errors import UsageError

NAMES = Names("prod-1")


@given(st.text(min_size=1, max_size=60))
def test_every_name_comes_back_from_its_token(name: str) -> None:
    assert decode_token(encode_token(name)) == name


@given(st.text(min_size=1, max_size=60))
def test_a_token_has_nothing_that_means_something_to_nats(name: str) -> None:
    assert not set(encode_token(name)) & set(".*> \t\r\n$")


@given(st.text(alphabet="ab_=0123456789.", min_size=1, max_size=12))
def test_two_tokens_never_stand_for_one_name(token: str) -> None:
    try:
        name = decode_token(token)
    except UsageError:
        return
    assert encode_token(name) == token


def test_a_cloud_nodes_name_is_one_token() -> None:
    assert encode_token("ip-10-0-1-2.eu-west-1.compute.internal") == "ip-10-0-1-2_eu-west-1_compute_internal"


@pytest.mark.parametrize("name", ["", "x" * (MAX_TOKEN_BYTES + 1)])
def test_a_name_that_is_empty_or_too_long_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="no name for the bus"):
        encode_token(name)


@pytest.mark.parametrize("token", ["", "A", "a.b", "a*", ">", "=4", "=zz", "=61", "a=2e", "=ff", "=5F"])
def test_what_no_name_becomes_is_no_token(token: str) -> None:
    with pytest.raises(UsageError, match="no token of a name"):
        decode_token(token)


@pytest.mark.parametrize("cluster", ["", "Prod", "a.b", "x" * 33, "a b", ">"])
def test_a_cluster_has_a_plain_name(cluster: str) -> None:
    with pytest.raises(UsageError, match="no name of a cluster"):
        Names(cluster)


def test_names_of_buckets_streams_and_endpoints() -> None:
    assert NAMES.bucket(Bucket.NODES) == "nodeworthy-prod-1-nodes"
    assert NAMES.stream(Bucket.SETS) == "KV_nodeworthy-prod-1-sets"
    assert NAMES.events_stream == "nodeworthy-prod-1-events"
    assert NAMES.key_subject(Bucket.LABELS, "n1") == "$KV.nodeworthy-prod-1-labels.n1"
    assert NAMES.endpoint(Endpoint.AT_RISK) == "nodeworthy.prod-1.at-risk"


@pytest.mark.parametrize(
    ("topic", "set_name", "subject"),
    [
        (Topic.EVENTS, "cpu.cpuid", "nodeworthy.prod-1.events.a_b.cpu_cpuid"),
        (Topic.HEARTBEAT, "", "nodeworthy.prod-1.heartbeat.a_b"),
        (Topic.FINDINGS, "", "nodeworthy.prod-1.findings.a_b"),
        (Topic.RESYNC, "", "nodeworthy.prod-1.resync.a_b"),
        (Topic.RESCAN, "", "nodeworthy.prod-1.rescan.a_b"),
    ],
)
def test_a_nodes_subject_can_be_taken_apart(topic: Topic, set_name: str, subject: str) -> None:
    assert NAMES.node_subject(topic, "a.b", set_name) == subject
    assert NAMES.parse_node_subject(subject) == NodeSubject(topic, "a.b", set_name)


@pytest.mark.parametrize(
    "subject",
    [
        "nodeworthy.other.heartbeat.a",
        "nodeworthy.prod-1.heartbeat",
        "nodeworthy.prod-1.heartbeat.a.b",
        "nodeworthy.prod-1.events.a",
        "nodeworthy.prod-1.validate.a",
        "nodeworthy.prod-1.heartbeat.A",
        "heartbeat.a",
    ],
)
def test_a_subject_of_somebody_else_is_not_taken_for_a_nodes(subject: str) -> None:
    with pytest.raises(UsageError):
        NAMES.parse_node_subject(subject)
