"""What a node should have, each with its origin, and what nobody knows of it."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from nodeworthy.features import SetStatus
from nodeworthy.labels.origins import Given, Giver, GiverKind, Rejected, Unresolved
from nodeworthy.rules import Facts, Taint


class NodeFacts(Facts, Protocol):
    """Facts that also tell the digest of a set; :class:`nodeworthy.features.Snapshot` is one."""

    def status(self, name: str) -> SetStatus:
        """State and digest of the set ``name``."""


class WantedLabel(msgspec.Struct, frozen=True, omit_defaults=True):
    """One label, annotation or extended resource that the node should have."""

    key: str
    value: str
    given: tuple[Given, ...]
    """Everybody who gives it, in order: the last one wins. A value with ``@`` is as the rule writes it."""
    sets: tuple[str, ...]
    """The sets that the winner read, sorted."""
    position: int = 0
    """The winner's place in the order."""

    @property
    def rules_disagree(self) -> bool:
        """Whether two rules give different values: the later one wins, as in NFD, and somebody should know."""
        return len({given.value for given in self.given if given.giver.kind is GiverKind.RULE}) > 1


class WantedTaint(msgspec.Struct, frozen=True, omit_defaults=True):
    """One taint that the node should have; of those with one key and effect, the last one."""

    taint: Taint
    giver: Giver
    sets: tuple[str, ...]
    """The sets that its giver read, sorted."""


class WantedLabels(msgspec.Struct, frozen=True):
    """What one node should have, what nobody knows, and what was refused."""

    labels: Mapping[str, WantedLabel]
    givers: frozenset[Giver]
    """Everybody who was asked: who is not among them is gone."""
    inputs: Mapping[str, str]
    """The sets that the labels were made from: name to digest, or to ``absent`` or ``unknown``."""
    unresolved: tuple[Unresolved, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    annotations: Mapping[str, WantedLabel] = {}
    extended_resources: Mapping[str, WantedLabel] = {}
    taints: tuple[WantedTaint, ...] = ()

    @property
    def conflicts(self) -> tuple[WantedLabel, ...]:
        """Labels, annotations and extended resources to which two rules give different values."""
        found = (*self.labels.values(), *self.annotations.values(), *self.extended_resources.values())
        return tuple(one for one in found if one.rules_disagree)
