"""``rule.matched``: what the rules before a rule have given, as the rule sees it."""

from collections.abc import Iterable, Mapping

from nodeworthy.errors import RuleError
from nodeworthy.features import FeatureSet, Lookup, SetState
from nodeworthy.rules.compiled import MATCHED_SET
from nodeworthy.rules.matching import CompiledTerm, in_pool
from nodeworthy.rules.outcomes import FAILS, HOLDS, Answer, Outcome


class BackReferences:
    """The names that a chain of rules has given so far, and the names of which nobody knows whether it has.

    A scope of its own for each chain: all rules of a cluster, one group, the sets of one specification. After every rule
    that is not in error the set exists, if only empty; a set of this name among the facts is added to.
    """

    def __init__(self, found: Lookup) -> None:
        self._before = found.content or FeatureSet()
        self._names: dict[str, str] = dict(self._before.attributes or {})
        self._exists = found.content is not None
        self._doubtful: set[str] = set()
        self._everything_doubtful = False
        self._doubt = ""

    @property
    def names(self) -> Mapping[str, str] | None:
        """A copy of the names and values so far; ``None`` before the first rule."""
        return dict(self._names) if self._exists else None

    def feed(self, *given: Mapping[str, str]) -> None:
        """Add what a rule gave; later values win."""
        self._exists = True
        for names in given:
            self._names.update(names)

    def doubt(self, rule: str, names: Iterable[str]) -> None:
        """Remember that a rule may have given these names."""
        self._exists = True
        self._doubtful.update(names)
        self._doubt = self._doubt or f"it depends on rule {rule!r}, whose outcome is not known"

    def doubt_all(self, rule: str) -> None:
        """Remember that a rule may have given any name."""
        self._doubt = self._doubt or f"it depends on rule {rule!r}, whose output is not known"
        self._everything_doubtful = True

    def lookup(self) -> Lookup:
        """The set as facts."""
        if not self._exists:
            return Lookup(SetState.ABSENT, None, "no rule stands before this one")
        # Shares the growing map instead of copying it for every rule: nobody keeps the set longer than one question.
        return Lookup(SetState.PRESENT, FeatureSet(self._before.flags, self._names, self._before.instances), "")

    def answer(self, term: CompiledTerm) -> Answer:
        """What a term of ``rule.matched`` says, unknown where it depends on a name in doubt."""
        found = self.lookup()
        if self._everything_doubtful:
            return Answer(Outcome.UNKNOWN, f"{MATCHED_SET} is not known: {self._doubt}")
        if not self._doubtful or found.content is None:
            return term.answer(found)
        try:
            return self._answer_in_doubt(term, found.content)
        except RuleError as error:
            return Answer(Outcome.ERROR, f"{term.source.feature}: {error}", error.todo)

    def _answer_in_doubt(self, term: CompiledTerm, content: FeatureSet) -> Answer:
        unknown = Answer(Outcome.UNKNOWN, f"{MATCHED_SET} is not known: {self._doubt}")
        if content.instances is not None:
            return unknown
        answer = HOLDS
        for name, expression in term.expressions or ():
            if name in self._doubtful:
                answer = unknown
            elif not in_pool(name, expression, content):
                return FAILS
        return answer if term.name is None else unknown
