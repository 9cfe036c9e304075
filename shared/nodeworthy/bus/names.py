"""Every name on the bus: subjects, buckets, streams and headers; keys stand in :mod:`nodeworthy.bus.keys`.

All names of a cluster are ``nodeworthy.<cluster>.…`` (subjects) and ``nodeworthy-<cluster>-…`` (streams and buckets). What
comes from outside (node names, feature sets, namespaces) becomes one *token* by :func:`encode_token`, so that no dot,
wildcard or space of it can mean anything to NATS (case L12: ``ip-10-0-1-2.eu-west-1.compute.internal`` is a node's name).
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from nodeworthy.errors import UsageError

MAX_TOKEN_BYTES = 253
"""Bytes of a name before encoding: the longest Kubernetes object name (RFC 1123 subdomain)."""

_STRANGE = re.compile(rb"[^a-z0-9.-]")
_TOKEN = re.compile(r"(?:[a-z0-9_-]|=[0-9a-f]{2})+")
_CLUSTER = re.compile(r"[a-z0-9-]{1,32}")


def encode_token(text: str) -> str:
    """One token for any name: ``.`` is written ``_``, every byte outside ``[a-z0-9-]`` is written ``=xx``; it reverses.

    >>> encode_token("ip-10-0-1-2.eu-west-1.compute.internal")
    'ip-10-0-1-2_eu-west-1_compute_internal'
    >>> encode_token("A_b")
    '=41=5fb'

    Raises:
        UsageError: the name is empty or longer than :data:`MAX_TOKEN_BYTES`.
    """
    data = text.encode("utf-8", "surrogatepass")
    if not 0 < len(data) <= MAX_TOKEN_BYTES:
        raise UsageError(f"{text[:60]!r} is no name for the bus", why=f"names have 1 to {MAX_TOKEN_BYTES} bytes")
    return _STRANGE.sub(_encode_byte, data).replace(b".", b"_").decode()


def _encode_byte(found: re.Match[bytes]) -> bytes:
    return f"={ord(found[0]):02x}".encode()


def decode_token(token: str) -> str:
    """The name that a token stands for; the inverse of :func:`encode_token`.

    Raises:
        UsageError: no name has this token, so that two spellings can never mean one node.
    """
    if not _TOKEN.fullmatch(token):
        raise UsageError(f"{token[:60]!r} is no token of a name")
    data = re.sub(rb"=([0-9a-f]{2})", lambda found: bytes.fromhex(found[1].decode()), token.replace("_", ".").encode())
    try:
        text = data.decode("utf-8", "surrogatepass")
        if encode_token(text) == token:
            return text
    except UnicodeDecodeError:
        pass
    raise UsageError(f"{token[:60]!r} is no token of a name")


class Bucket(StrEnum):
    """The four buckets, by the last part of their names."""

    NODES = "nodes"
    SETS = "sets"
    IMAGES = "images"
    LABELS = "labels"


class Topic(StrEnum):
    """Subjects of one node: the token after the cluster's."""

    EVENTS = "events"
    """``events.<node>.<set>``: the stream"""
    HEARTBEAT = "heartbeat"
    FINDINGS = "findings"
    RESYNC = "resync"
    RESCAN = "rescan"


_TOPICS = frozenset(Topic)


class Endpoint(StrEnum):
    """What can be asked; the token after the cluster's, and the name of the service's endpoint."""

    VALIDATE = "validate"
    EXPLAIN = "explain"
    NODES = "nodes"
    AT_RISK = "at-risk"
    RESOLVE = "resolve"
    ATTACH = "attach"


class NodeSubject(NamedTuple):
    """A subject of one node, taken apart; ``set`` is empty but for events."""

    topic: Topic
    node: str
    set: str = ""


VALIDATOR_SERVICE = "nodeworthy-validator"
RESOLVER_SERVICE = "nodeworthy-resolver"

TIMEOUT_HEADER = "Nodeworthy-Timeout-Ms"
"""How long the asker waits; what is past it is dropped."""


@dataclass(frozen=True)
class Names:
    """All names of one cluster.

    Raises:
        UsageError: the cluster's name is not ``[a-z0-9-]{1,32}``.
    """

    cluster: str = "local"

    def __post_init__(self) -> None:
        if not _CLUSTER.fullmatch(self.cluster):
            raise UsageError(
                f"{self.cluster[:60]!r} is no name of a cluster", why="it has 1 to 32 of the letters a-z, 0-9 and -"
            )

    @property
    def prefix(self) -> str:
        """What every subject of ours begins with."""
        return f"nodeworthy.{self.cluster}"

    def bucket(self, bucket: Bucket) -> str:
        """The full name of a bucket."""
        return f"nodeworthy-{self.cluster}-{bucket}"

    def stream(self, bucket: Bucket) -> str:
        """The stream behind a bucket; NATS names it so (ADR-8, JetStream based key-value stores)."""
        return f"KV_{self.bucket(bucket)}"

    @property
    def events_stream(self) -> str:
        """The stream of events."""
        return f"nodeworthy-{self.cluster}-events"

    def key_subject(self, bucket: Bucket, key: str) -> str:
        """The subject of one key; ``>`` is all keys (ADR-8)."""
        return f"$KV.{self.bucket(bucket)}.{key}"

    def stored_subject(self, bucket: Bucket, key: str) -> str:
        """Where the server says again what it stored under a key; ``>`` is all keys. Nobody else may publish there."""
        return f"{self.prefix}.stored.{bucket}.{key}"

    def node_subject(self, topic: Topic, node: str, set_name: str = "") -> str:
        """A subject of one node; events have the set as a further token."""
        parts = (self.prefix, topic, encode_token(node), *([encode_token(set_name)] if set_name else []))
        return ".".join(parts)

    def all_nodes(self, topic: Topic) -> str:
        """The subject that matches a topic for every node."""
        return f"{self.prefix}.{topic}.{'>' if topic is Topic.EVENTS else '*'}"

    def parse_node_subject(self, subject: str) -> NodeSubject:
        """Take a subject of one node apart; the inverse of :meth:`node_subject`.

        Raises:
            UsageError: it is no such subject of this cluster.
        """
        head, _, rest = subject.removeprefix(self.prefix + ".").partition(".")
        tokens = rest.split(".")
        expected = 2 if head == Topic.EVENTS else 1
        if not subject.startswith(self.prefix + ".") or head not in _TOPICS or len(tokens) != expected:
            raise UsageError(f"{subject[:80]!r} is no subject of a node in cluster {self.cluster}")
        return NodeSubject(Topic(head), *map(decode_token, tokens))

    @property
    def labelers(self) -> str:
        """Where the labelers of a cluster tell each other that they are there."""
        return f"{self.prefix}.labelers"

    @property
    def image_changes(self) -> str:
        """Where resolvers say that a tag moved and lost a platform."""
        return f"{self.prefix}.image-changes"

    def endpoint(self, endpoint: Endpoint) -> str:
        """The subject to ask."""
        return f"{self.prefix}.{endpoint}"
