"""Where labels come from: who gives them, who may give them, and what was refused."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from nodeworthy.rules import Outcome
from nodeworthy.rules.labels import Fault, Objection

MAX_SHOWN = 128
"""How much of a value is shown that may be of any length, twice a legal one."""

_MAX_KEY = 320
"""Just above the longest legal name (253, a slash and 63), so that a cut name is never a legal one."""


class GiverKind(StrEnum):
    """The kinds of origins of a label."""

    DEFAULT = "default"
    """A feature set, by the table of default labels; or a rule of the node itself, which stands in a set."""
    RULE = "rule"
    UNREAD = "unread"
    """A document of rules that could not be read: it may hold any rule."""
    ADOPTED = "adopted"
    """Whoever gave labels before us and does so no more; by which rule, nobody knows."""


class Giver(msgspec.Struct, frozen=True, omit_defaults=True, order=True):
    """Who gives labels. Two rules of one object under one name are one giver."""

    kind: GiverKind
    name: str
    """The set; the object that holds the rule; of an unread document the object's name, empty where that is not known; the
    former labeler."""
    part: str = ""
    """The rule's name; of a node's own rule, also its file; of an unread document, where it was read from."""

    def __str__(self) -> str:
        if self.kind is GiverKind.DEFAULT:
            return f"custom rule {self.part}" if self.part else f"default labels of {self.name}"
        if self.kind is GiverKind.ADOPTED:
            return self.name
        return f"rule {self.name}/{self.part}" if self.kind is GiverKind.RULE else f"document {self.part or self.name}"

    def may_be(self, other: "Giver") -> bool:
        """Whether ``other`` is this giver, or may be a rule of this unread document or set.

        A former labeler may have had its labels from any of ours.
        """
        if other.kind is GiverKind.ADOPTED:
            return True
        if self.kind is GiverKind.UNREAD and other.kind is GiverKind.RULE:
            return self.name in ("", other.name)
        if self.kind is GiverKind.DEFAULT and not self.part:
            return (self.kind, self.name) == (other.kind, other.name)
        return self == other


class Given(msgspec.Struct, frozen=True, omit_defaults=True):
    """One value of one label, by one giver."""

    giver: Giver
    value: str


class Claims(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a giver may give on some facts, under full names; labels, where nothing else is said."""

    values: Mapping[str, str | None] = {}
    """Name to value; ``None`` where the value hangs on the facts."""
    prefixes: tuple[str, ...] = ()
    """Beginnings of names."""
    anything: bool = False
    """Nobody knows the names: a template, a file of features.d, a rule that cannot be read."""
    annotations: frozenset[str] = frozenset()
    extended_resources: frozenset[str] = frozenset()
    taints: frozenset[str] = frozenset()
    """Keys."""

    def names(self, key: str) -> bool:
        """Whether the label is among those that are named."""
        return key in self.values or key.startswith(self.prefixes)

    def may_give(self, key: str) -> bool:
        """Whether the label may be given at all."""
        return self.anything or self.names(key)


class Unresolved(msgspec.Struct, frozen=True, omit_defaults=True):
    """A giver of which it is not known what it gives now: its facts are unknown, or it is in error."""

    giver: Giver
    outcome: Outcome
    """UNKNOWN or ERROR."""
    reason: str
    claims: Claims
    position: int = 0
    """Its place in the order in which a later giver wins over an earlier one."""


class RejectedKind(StrEnum):
    """What was refused."""

    LABEL = "label"
    ANNOTATION = "annotation"
    EXTENDED_RESOURCE = "extended resource"
    TAINT = "taint"


class Rejected(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that a giver gives and that no node may have; its neighbours are not touched by it."""

    kind: RejectedKind
    key: str
    value: str
    reason: str
    giver: Giver
    fault: Fault
    """The reason for programs."""


def refuse(kind: RejectedKind, given: Given, key: str, objection: Objection) -> Rejected:
    """The refusal of a value, with texts of any length cut to what a person reads."""
    value = given.value[:MAX_SHOWN]
    return Rejected(kind, key[:_MAX_KEY], value, objection.text, given.giver, objection.fault)
