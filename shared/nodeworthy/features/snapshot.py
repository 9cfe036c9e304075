"""A snapshot: everything a producer says of one node at one time, with what it could not find out."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

import msgspec

from nodeworthy.features.encoding import digest, encode
from nodeworthy.features.model import FeatureSet, clean_text

NOBODY_REPORTS = "nothing on this node reports this feature set"
"""Why a set is absent that is in no catalogue; whoever knows the set's name can say more."""


class SetState(StrEnum):
    """Absence is not evidence: the three things that can be said of a set."""

    PRESENT = "present"
    """Observed; the content is there."""
    ABSENT = "absent"
    """Observed not to be on this node."""
    UNKNOWN = "unknown"
    """Could not be found out."""


class SetStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of one set: its state, why if it is not present, and if it is, the digest of its content."""

    state: SetState
    reason: str = ""
    digest: str = ""
    unobserved: tuple[str, ...] = ()
    """Sorted; :attr:`FeatureSet.unobserved` of a present set."""


class SourceHealth(msgspec.Struct, frozen=True, omit_defaults=True):
    """How one source fared: ``error`` if it failed as a whole, ``faults`` for single devices, files or lines it left out."""

    error: str = ""
    faults: tuple[str, ...] = ()
    disabled: bool = False
    """Whether the configuration keeps it from looking; its sets are unknown."""
    polled: str = ""
    """Why it is looked at every few seconds: nothing tells when something changes. Empty where changes are told, or rare."""


_NO_SOURCES = frozenset({"bus", "configuration"})
"""What stands among a detector's sources and reads nothing of the machine."""


def is_blind(sources: Mapping[str, SourceHealth]) -> bool:
    """Whether every source that is not switched off fails, as when a policy has taken the host's mounts away."""
    asked = [health for name, health in sources.items() if not health.disabled and name not in _NO_SOURCES]
    return bool(asked) and all(health.error for health in asked)


class Lookup(NamedTuple):
    """The answer to "what is in this set"; the content is there only when the set is present."""

    state: SetState
    content: FeatureSet | None
    reason: str
    """Why it is not present, or, where that can be said, why names of it are unobserved."""


class Snapshot(msgspec.Struct, frozen=True):
    """What one producer knows of one node.

    ``catalogue`` names the sets that the producer can deliver: a set outside it is absent, a set inside it that has neither
    content nor a status is unknown. ``None`` means that the producer told no catalogue (NFD's own export): then everything
    that is not there is unknown.
    """

    contents: Mapping[str, FeatureSet]
    statuses: Mapping[str, SetStatus] = {}
    catalogue: frozenset[str] | None = None
    sources: Mapping[str, SourceHealth] = {}

    def lookup(self, name: str) -> Lookup:
        """What is known of the set ``name``, spelt in lower case."""
        content = self.contents.get(name)
        if content is not None:
            return Lookup(SetState.PRESENT, content, "")
        status = self.statuses.get(name)
        if status is not None:
            return Lookup(status.state, None, status.reason)
        if self.catalogue is None:
            return Lookup(SetState.UNKNOWN, None, "the facts do not say whether this set was looked for")
        if name in self.catalogue:
            return Lookup(SetState.UNKNOWN, None, "listed by its producer and not delivered")
        return Lookup(SetState.ABSENT, None, NOBODY_REPORTS)

    def status(self, name: str) -> SetStatus:
        """The status of the set ``name`` with the digest of its content."""
        found = self.lookup(name)
        if found.content is None:
            return SetStatus(found.state, found.reason)
        unobserved = tuple(sorted(map(clean_text, found.content.unobserved)))
        return SetStatus(SetState.PRESENT, digest=digest(encode(found.content)), unobserved=unobserved)

    def names(self) -> list[str]:
        """Every set that this snapshot says something of, sorted."""
        return sorted({*self.contents, *self.statuses, *(self.catalogue or ())})
