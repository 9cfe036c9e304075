"""Keys of the buckets: whose facts, which content, which image, which node's labels."""

import hashlib
import re
from typing import NamedTuple

from nodeworthy.bus.names import decode_token, encode_token
from nodeworthy.errors import UsageError

_SHA256 = re.compile(r"[0-9a-f]{64}")


class Producer(NamedTuple):
    """Who says something of a node; each has one key in bucket ``nodes``.

    ``detector`` and ``kubernetes`` have no name; ``p`` is a program of the operator, ``x`` a NodeFeature object.
    """

    kind: str
    name: str = ""
    namespace: str = ""

    def __str__(self) -> str:
        return ".".join((self.kind, *(part for part in (self.namespace, self.name) if part)))

    def tokens(self) -> tuple[str, ...]:
        """The tokens of the producer's key after the node's.

        Raises:
            UsageError: there is no such kind, or it has another number of names.
        """
        parts = [part for part in (self.namespace, self.name) if part]
        if len(parts) != _PRODUCER_NAMES.get(self.kind):
            raise UsageError(f"{str(self)[:80]!r} is no producer", why=f"the kinds are {', '.join(_PRODUCER_NAMES)}")
        return (self.kind, *map(encode_token, parts))


_PRODUCER_NAMES = {"detector": 0, "kubernetes": 0, "p": 1, "x": 2}
"""How many names each kind of producer has."""

DETECTOR = Producer("detector")
KUBERNETES = Producer("kubernetes")


def program(name: str) -> Producer:
    """A program of the operator that publishes facts of its own."""
    return Producer("p", name)


def node_feature(namespace: str, name: str) -> Producer:
    """A NodeFeature object that the labeler mirrors."""
    return Producer("x", name, namespace)


def snapshot_key(node: str, producer: Producer) -> str:
    """The key in bucket ``nodes``, ``<node>.detector``."""
    return ".".join((encode_token(node), *producer.tokens()))


def parse_snapshot_key(key: str) -> tuple[str, Producer]:
    """The node and the producer of a key in bucket ``nodes``; the inverse of :func:`snapshot_key`.

    Raises:
        UsageError: it is no such key.
    """
    node, _, rest = key.partition(".")
    kind, *parts = rest.split(".")
    names = [decode_token(part) for part in parts]
    if len(names) != _PRODUCER_NAMES.get(kind):
        raise UsageError(f"{key[:80]!r} is no key of a snapshot")
    return decode_token(node), Producer(kind, names[-1] if names else "", names[0] if len(names) > 1 else "")


def set_key(digest: str) -> str:
    """The key in bucket ``sets`` of ``sha256:<hex>``: its hexadecimal digits.

    Raises:
        UsageError: it is no such digest.
    """
    algorithm, _, hexadecimal = digest.partition(":")
    if algorithm != "sha256" or not _SHA256.fullmatch(hexadecimal):
        raise UsageError(
            f"{digest[:80]!r} is no digest of a set", why="it is written sha256: and 64 hexadecimal digits"
        )
    return hexadecimal


def parse_set_key(key: str) -> str:
    """The digest of a key in bucket ``sets``; the inverse of :func:`set_key`."""
    set_key(f"sha256:{key}")
    return f"sha256:{key}"


def image_key(digest: str) -> str:
    """The key in bucket ``images`` of a manifest's or index's digest, ``sha256-<hex>``."""
    return f"sha256-{set_key(digest)}"


def inspection_key(digest: str, claimed: str = "") -> str:
    """The key in bucket ``images`` of what the files of a manifest's image say, ``scan-<hex>``.

    ``claimed`` is a platform that only an index says: what is found under it counts for no other.
    """
    hexadecimal = set_key(digest)
    return f"scan-{hashlib.sha256(f'{digest} {claimed}'.encode()).hexdigest() if claimed else hexadecimal}"


def tag_key(reference: str) -> str:
    """The key in bucket ``images`` of a canonical reference, ``tag-<hex of its SHA-256>``."""
    return f"tag-{hashlib.sha256(reference.encode()).hexdigest()}"


def labels_key(node: str) -> str:
    """The key in bucket ``labels``."""
    return encode_token(node)


def parse_labels_key(key: str) -> str:
    """The node of a key in bucket ``labels``; the inverse of :func:`labels_key`."""
    return decode_token(key)
