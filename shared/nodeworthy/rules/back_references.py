"""``rule.matched``: what the rules before a rule have given, as the rule sees it."""

from collections.abc import Iterable, Mapping

from nodeworthy.features import FeatureSet, Lookup, SetState

_MAX_REASONS = 3
"""How many rules a reason names; a chain may have hundreds."""


class BackReferences:
    """The names that a chain of rules has given so far, and the names of which nobody knows whether it has.

    A scope of its own for each chain: all rules of a cluster, one group, the sets of one specification. After every rule
    that is not in error the set exists, if only empty; a set of this name among the facts is added to.
    """

    def __init__(self, found: Lookup) -> None:
        self._before = found.content or FeatureSet()
        self._names: dict[str, str] = dict(self._before.attributes or {})
        self._exists = found.content is not None
        self._doubtful: dict[str, str] = dict.fromkeys(self._before.unobserved, found.reason)
        """Name to why it is in doubt."""
        self._doubts_everything = ""

    @property
    def names(self) -> Mapping[str, str] | None:
        """A copy of the names and values that are sure so far; ``None`` before the first rule."""
        return dict(self._names) if self._exists else None

    def feed(self, *given: Mapping[str, str]) -> None:
        """Add what a rule gave; later values win, and what they win against need not be known."""
        self._exists = True
        for names in given:
            self._names.update(names)
            for name in self._doubtful.keys() & names.keys():
                del self._doubtful[name]

    def doubt(self, rule: str, names: Iterable[str]) -> None:
        """Remember that a rule may have given these names."""
        self._exists = True
        for name in names:
            self._names.pop(name, None)
            self._doubtful.setdefault(name, f"the outcome of rule {rule!r} is not known")

    def doubt_all(self, rule: str) -> None:
        """Remember that a rule may have given any name."""
        self._doubts_everything = self._doubts_everything or f"the output of rule {rule!r} is not known"

    def lookup(self) -> Lookup:
        """The set as facts."""
        if self._doubts_everything:
            return Lookup(SetState.UNKNOWN, None, self._doubts_everything)
        if not self._exists:
            return Lookup(SetState.ABSENT, None, "no rule stands before this one")
        flags = self._before.flags
        if not self._doubtful:
            # Shares the growing map instead of copying it for every rule: nobody keeps the set longer than one question.
            return Lookup(SetState.PRESENT, FeatureSet(flags, self._names, self._before.instances), "")
        doubtful = frozenset(self._doubtful)
        sure = None if flags is None else flags - doubtful
        return Lookup(SetState.PRESENT, FeatureSet(sure, self._names, self._before.instances, doubtful), self._why())

    def _why(self) -> str:
        reasons = list(dict.fromkeys(filter(None, self._doubtful.values())))
        return "; ".join(reasons[:_MAX_REASONS]) + ("; and others" if len(reasons) > _MAX_REASONS else "")
