"""Who says something of a node, and whose word counts last."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

import msgspec

from nodeworthy.features import SourceHealth


class ProducerKind(StrEnum):
    """The kinds of producers, as they are told apart by the keys of the bus; later ones win over earlier ones."""

    KUBERNETES = "kubernetes"
    """What the cluster says of the node, brought by the labeler."""
    DETECTOR = "detector"
    PROGRAM = "p"
    """A program of the operator."""
    NODE_FEATURE = "x"
    """A NodeFeature object of the cluster, mirrored by the labeler."""


_RANKS = {kind: rank for rank, kind in enumerate(ProducerKind)}


class Producer(NamedTuple):
    """One producer of one node's facts."""

    kind: ProducerKind
    name: str = ""
    """Of the program or the object."""
    namespace: str = ""
    """Of the object."""

    def __str__(self) -> str:
        return ".".join(part for part in (self.kind.value, self.namespace, self.name) if part)


KUBERNETES = Producer(ProducerKind.KUBERNETES)
DETECTOR = Producer(ProducerKind.DETECTOR)


class Provenance(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where and when a snapshot is from; the table keeps it and draws no conclusion from it."""

    uid: str = ""
    """Of the Node object that the producer knows; empty where it does not."""
    revision: int = 0
    """Of the snapshot's key on the bus."""
    timestamp: float = 0.0
    """When the server stored it, in seconds since 1970: the age of the facts."""


class Report(NamedTuple):
    """What the table keeps of a producer's last snapshot beside its sets."""

    provenance: Provenance
    names: frozenset[str]
    """Every set that it says something of."""
    has_catalogue: bool
    """Whether it told what it can deliver."""
    ailing: Mapping[str, SourceHealth]
    """Its sources that failed, or left something out."""
    is_overfull: bool = False
    """Whether it names sets for which the table has no column."""


def precedence(producer: Producer, own_namespace: str) -> tuple[int, bool, str, str]:
    """Sorts producers so that of two that contradict each other the later one wins.

    Objects come as in NFD (nfd-master, getAndMergeNodeFeatures): those of its own namespace first, then by name, then by
    namespace.
    """
    foreign = producer.kind is ProducerKind.NODE_FEATURE and producer.namespace != own_namespace
    return (_RANKS[producer.kind], foreign, producer.name, producer.namespace)
