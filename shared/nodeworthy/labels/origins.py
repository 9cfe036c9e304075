"""Where labels come from: who gives them, who may give them, and what was refused."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from nodeworthy.rules import Outcome

MAX_SHOWN = 128
"""How much of a value is shown that may be of any length, twice a legal one."""

_MAX_KEY = 320
"""Just above the longest legal name (253, a slash and 63), so that a cut name is never a legal one."""


class GiverKind(StrEnum):
    """The kinds of origins of a label."""

    DEFAULT = "default"
    """A feature set, by the table of default labels."""
    RULE = "rule"
    UNREAD = "unread"
    """A document of rules that could not be read: it may hold any rule."""


class Giver(msgspec.Struct, frozen=True, omit_defaults=True, order=True):
    """Who gives labels. Two rules of one object under one name are one giver."""

    kind: GiverKind
    name: str
    """The set; the object that holds the rule; of an unread document the object's name, empty where that is not known."""
    part: str = ""
    """The rule's name; of an unread document, where it was read from."""

    def __str__(self) -> str:
        if self.kind is GiverKind.DEFAULT:
            return f"default labels of {self.name}"
        return f"rule {self.name}/{self.part}" if self.kind is GiverKind.RULE else f"document {self.part or self.name}"

    def may_be(self, other: "Giver") -> bool:
        """Whether ``other`` is this giver, or may be a rule of this unread document."""
        if self.kind is GiverKind.UNREAD and other.kind is GiverKind.RULE:
            return self.name in ("", other.name)
        return self == other


class Given(msgspec.Struct, frozen=True, omit_defaults=True):
    """One value of one label, by one giver."""

    giver: Giver
    value: str


class Claims(msgspec.Struct, frozen=True, omit_defaults=True):
    """The labels that a giver may give on some facts, under their full names."""

    values: Mapping[str, str | None] = {}
    """Name to value; ``None`` where the value hangs on the facts."""
    prefixes: tuple[str, ...] = ()
    """Beginnings of names."""
    anything: bool = False
    """Nobody knows the names: a template, a file of features.d, a rule that cannot be read."""

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


def refuse(kind: RejectedKind, given: Given, key: str, reason: str) -> Rejected:
    """The refusal of a value, with texts of any length cut to what a person reads."""
    return Rejected(kind, key[:_MAX_KEY], given.value[:MAX_SHOWN], reason, given.giver)
