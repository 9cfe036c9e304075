"""What labelers say of the rules in force, under one key of bucket ``labels``: also of those that no node's record names.

A record of a node tells what that node is given; a rule that matches nowhere, or cannot be read, is in none of them. No
detector loads this module, since it loads what rules are made of.
"""

from collections.abc import Iterable

import msgspec

from nodeworthy.bus import payloads
from nodeworthy.bus.records import Message
from nodeworthy.bus.streams import MAX_LABELS_BYTES
from nodeworthy.labels import RuleStatus

RULES_KEY = "rules.status"
"""The key in bucket ``labels``. No node has it: the token of a name has no dot."""

_SPARE_BYTES = 1024
"""For what of a record is not its objects."""


class ObjectReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """One object of rules, or one file of the labeler's folder; counts are nodes where nothing else is said."""

    name: str
    """The object's name; of what cannot tell it, the file's."""
    sources: tuple[str, ...] = ()
    """Where it was read from; several, where files hold objects of one name."""
    problems: tuple[str, ...] = ()
    """Why not everything of it is in force as it is written; empty: it is accepted."""
    notices: tuple[str, ...] = ()
    """What its author should know: an old apiVersion, short forms, fields that nobody reads."""
    generation: int = 0
    """Of the object in the cluster that this is about (``metadata.generation``); 0: it is none."""
    nodes_matched: int = 0
    """On which at least one rule of it matches."""
    rules: tuple[RuleStatus, ...] = ()
    last_error: str = ""
    """Of the first rule that is in error on some node."""
    conflicts: int = 0
    """Keys to which another rule gives another value."""
    rejected: int = 0
    """Labels and other outputs that no node may have."""

    @property
    def is_accepted(self) -> bool:
        """Whether all of it is in force as it is written."""
        return not self.problems


class RulesRecord(Message, frozen=True, kw_only=True):
    """Bucket ``labels``, key :data:`RULES_KEY`: all rules that are in force, and those that are left out."""

    rules_digest: str = ""
    """Of the rules and label settings, as in the records of nodes."""
    objects: tuple[ObjectReport, ...] = ()
    """By name."""
    left_out: int = 0
    """How many objects are not listed, because there are too many for one record."""


def make_rules_record(rules_digest: str, objects: Iterable[ObjectReport]) -> RulesRecord:
    """The record of these objects; of more than a record may hold, the first ones."""
    reports = tuple(objects)
    room = MAX_LABELS_BYTES - _SPARE_BYTES
    fitting = 0
    for report in reports:
        room -= len(msgspec.msgpack.encode(report))
        if room < 0:
            break
        fitting += 1
    return RulesRecord(rules_digest=rules_digest, objects=reports[:fitting], left_out=len(reports) - fitting)


def decode_rules(data: bytes) -> RulesRecord:
    """The record of a body.

    Raises:
        PayloadVersionError: a newer program wrote it.
        PayloadError: it is too large, or no record.
    """
    return payloads.decode(data, RulesRecord, limit=MAX_LABELS_BYTES)
