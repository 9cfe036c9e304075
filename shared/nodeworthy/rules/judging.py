"""Judging every expression of a term on its own, for reports: no expression hides behind one that failed before it."""

import msgspec

from nodeworthy.features import NOBODY_REPORTS, FeatureSet, Lookup, SetState
from nodeworthy.rules.known_sets import is_known_set
from nodeworthy.rules.matching import CompiledTerm
from nodeworthy.rules.module_names import MODULE_SETS, unify_set
from nodeworthy.rules.observations import observe_element, observe_instances, observe_names, observe_set
from nodeworthy.rules.operators import CompiledExpression
from nodeworthy.rules.outcomes import Outcome
from nodeworthy.rules.records import Expression, Operator
from nodeworthy.rules.unobserved import Doubt, ask_expressions, ask_names


class Judgement(msgspec.Struct, frozen=True):
    """What one expression says of one node, and what was seen there.

    ``matcher`` is ``matchExpressions``, ``matchName``, or ``feature`` where a term only wants its set to be there;
    ``expression`` is ``None`` then.
    """

    feature: str
    name: str
    matcher: str
    expression: Expression | None
    outcome: Outcome
    observed: str | None
    """``None`` where nothing is known."""
    reason: str = ""
    """Why it does not hold, where that says more than observed and expected."""


def judge_term(term: CompiledTerm, found: Lookup) -> tuple[Judgement, ...]:
    """The judgements of a term's expressions, in the order of their names, then ``matchName``."""
    content = found.content
    if content is not None and term.set_name in MODULE_SETS:
        content = unify_set(content)
    judge = _Judge(term, found, content)
    written = sorted(term.source.expressions or ())
    judgements = [
        judge.expression(name, key, expression)
        for name, (key, expression) in zip(written, term.expressions or (), strict=True)
    ]
    if term.name is not None:
        judgements.append(judge.names(term.name))
    return tuple(judgements) or (judge.presence(),)


class _Judge:
    def __init__(self, term: CompiledTerm, found: Lookup, content: FeatureSet | None) -> None:
        self.term = term
        self.found = found
        self.content = content
        self.doubt = Doubt(term.set_name, found.reason)

    def expression(self, name: str, key: str, expression: CompiledExpression) -> Judgement:
        content = self.content
        if content is None:
            return self.without_content(name, "matchExpressions", expression)
        answer = ask_expressions([(key, expression)], content, self.doubt, fallible=True)
        if content.instances is not None:
            observed = observe_instances(key, self.term.expressions or (), content, outcome=answer.outcome)
        else:
            observed = observe_element(key, content)
        reason = answer.reason
        if answer.outcome is Outcome.FALSE and _asks_value_of_flag(key, expression.source, content):
            reason = "a flag has no value; write {op: Exists}"
        return self.judgement(name, "matchExpressions", expression, answer.outcome, observed, reason)

    def names(self, expression: CompiledExpression) -> Judgement:
        # Not unified: a report shows names as they are, and the compiled question knows both spellings.
        content = self.found.content
        if content is None:
            return self.without_content("", "matchName", expression)
        answer = ask_names(expression, content, self.doubt)
        observed = observe_names(expression, content, outcome=answer.outcome)
        return self.judgement("", "matchName", expression, answer.outcome, observed, answer.reason)

    def presence(self) -> Judgement:
        """The judgement of a term that asks nothing, or ``matchExpressions: {}``."""
        if self.content is None:
            return self.without_content("", "feature", None)
        answer = self.term.answer(self.found)
        return self.judgement("", "feature", None, answer.outcome, observe_set(self.content), answer.reason)

    def without_content(self, name: str, matcher: str, expression: CompiledExpression | None) -> Judgement:
        if self.found.state is SetState.ABSENT:
            return self.judgement(name, matcher, expression, Outcome.FALSE, "absent", self.why_absent())
        reason = f"{self.term.set_name} is not known: {self.found.reason}"
        return self.judgement(name, matcher, expression, Outcome.UNKNOWN, None, reason)

    def why_absent(self) -> str:
        name = self.term.set_name
        if self.found.reason != NOBODY_REPORTS:
            return f"{name} is not on this node: {self.found.reason}"
        # A set that is known may be the business of a program that does not run there.
        question = "" if is_known_set(name) else "; is the name right?"
        return f"nothing on this node reports the feature set {name}{question}"

    def judgement(
        self,
        name: str,
        matcher: str,
        expression: CompiledExpression | None,
        outcome: Outcome,
        observed: str | None,
        reason: str,
    ) -> Judgement:
        observed = None if outcome is Outcome.UNKNOWN else observed
        source = expression.source if expression else None
        return Judgement(self.term.source.feature, name, matcher, source, outcome, observed, reason)


def _asks_value_of_flag(key: str, expression: Expression, content: FeatureSet) -> bool:
    asks_presence = expression.operator in (Operator.ANY, Operator.EXISTS, Operator.DOES_NOT_EXIST)
    is_flag = content.flags is not None and key in content.flags and key not in (content.attributes or {})
    return is_flag and not asks_presence and not expression.reads_flags
