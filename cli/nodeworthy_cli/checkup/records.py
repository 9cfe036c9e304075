"""The records of a checkup; ``-o json`` prints them as they are."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from nodeworthy.bus.requests import NodeGroup
from nodeworthy.verdicts import Answer


class Standing(StrEnum):
    """How a workload uses an image; the first that holds."""

    RUNNING = "running"
    TEMPLATE = "template"
    """Its next pod would start it."""
    ROLLBACK = "rollback"
    """Only an older ReplicaSet has it, which ``kubectl rollout undo`` would start."""


class Risk(StrEnum):
    """What may go wrong with an image, the worst first."""

    CANNOT_RUN = "cannot-run"
    """It cannot run where it is, or where it is meant to be."""
    IMAGE_DEFECT = "image-defect"
    """It fails on every node."""
    PLATFORM_MISSING = "platform-missing"
    """It could be placed on nodes for whose platform it is not offered."""
    NODES_LACK = "nodes-lack"
    """It could be placed on nodes that lack something else that it needs: a level of instructions, a device."""
    UNKNOWN = "unknown"
    UNDECLARED = "undeclared"
    """Its platform fits, and nobody knows what else it needs."""
    NONE = "none"

    @property
    def rank(self) -> int:
        """1 is the worst."""
        return list(Risk).index(self) + 1


class WorkloadUse(msgspec.Struct, frozen=True, omit_defaults=True):
    """One workload that uses an image."""

    namespace: str
    kind: str
    name: str
    standing: Standing
    nodes: int = 0
    """On how many nodes it runs."""
    selects: str = ""
    """What its pods ask of nodes, as ``kubernetes.io/arch=amd64``."""
    revisions: tuple[str, ...] = ()
    """Of a rollback: the Deployment's revisions that would start it."""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class ImageReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """One image, and what is at risk with it."""

    image: str
    rank: int
    risk: Risk
    reason: str
    """Why it has this rank."""
    digest: str = ""
    platforms: tuple[str, ...] = ()
    """That it is offered for."""
    missing: tuple[str, ...] = ()
    """Platforms of nodes, wherever it could be placed, for which it is not offered."""
    levels: tuple[str, ...] = ()
    """Of the instruction set, that its platforms or files ask for."""
    declared: str = "unknown"
    """``yes``, ``no`` or ``unknown``."""
    inspected: bool = False
    counts: Mapping[Answer, int] = {}
    """Over all nodes; only answers that a node has."""
    failing: tuple[NodeGroup, ...] = ()
    """Nodes that certainly cannot run it, by why."""
    defects: tuple[str, ...] = ()
    workloads: tuple[WorkloadUse, ...] = ()
    notices: tuple[str, ...] = ()


class Checkup(msgspec.Struct, frozen=True, omit_defaults=True):
    """The whole report, the greatest risk first."""

    images: tuple[ImageReport, ...]
    nodes: int
    notices: tuple[str, ...] = ()
    incomplete: bool = False
    """Whether something could not be read, so that images or nodes may be left out."""

    def counts(self) -> dict[Risk, int]:
        """Images by risk, the worst first; only risks that an image has."""
        found = [one.risk for one in self.images]
        return {risk: found.count(risk) for risk in Risk if risk in found}
