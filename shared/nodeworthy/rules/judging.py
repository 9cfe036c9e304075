"""Judging every expression of a term on its own, for reports: no expression hides behind one that failed before it."""

from collections.abc import Callable, Iterable

import msgspec

from nodeworthy.errors import RuleError
from nodeworthy.features import FeatureSet, Instance, Lookup, SetState
from nodeworthy.rules.matching import CompiledTerm, compile_term, in_pool, names_hold, on_instance
from nodeworthy.rules.module_names import MODULE_SETS, unify_set
from nodeworthy.rules.observations import observe_element, observe_instances, observe_names, observe_set
from nodeworthy.rules.operators import CompiledExpression
from nodeworthy.rules.outcomes import Answer, Outcome
from nodeworthy.rules.records import Expression, Operator, Term


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


def judge_term(
    term: CompiledTerm, found: Lookup, doubt: Callable[[CompiledTerm], Answer] | None = None
) -> tuple[Judgement, ...]:
    """The judgements of a term's expressions, in the order of their names, then ``matchName``.

    ``doubt`` answers terms of a set that holds names of which nobody is sure (see BackReferences).
    """
    content = found.content
    if content is not None and term.set_name in MODULE_SETS:
        content = unify_set(content)
    judge = _Judge(term, found, content, doubt)
    written = sorted(term.source.expressions or ())
    judgements = [
        judge.expression(name, key, expression)
        for name, (key, expression) in zip(written, term.expressions or (), strict=True)
    ]
    if term.name is not None:
        judgements.append(judge.names(term.name))
    return tuple(judgements) or (judge.presence(),)


class _Judge:
    def __init__(
        self,
        term: CompiledTerm,
        found: Lookup,
        content: FeatureSet | None,
        doubt: Callable[[CompiledTerm], Answer] | None,
    ) -> None:
        self.term = term
        self.found = found
        self.content = content
        self.doubt = doubt

    def expression(self, name: str, key: str, expression: CompiledExpression) -> Judgement:
        content = self.content
        if content is None:
            return self.without_content(name, "matchExpressions", expression)
        pair = [(key, expression)]
        answer = _ask(lambda: in_any(pair, content))
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
        answer = _ask(lambda: names_hold(expression, content))
        observed = observe_names(expression, content, outcome=answer.outcome)
        return self.judgement("", "matchName", expression, answer.outcome, observed, answer.reason)

    def presence(self) -> Judgement:
        """The judgement of a term that asks nothing, or ``matchExpressions: {}``."""
        if self.content is None:
            return self.without_content("", "feature", None)
        answer = self.doubt(self.term) if self.doubt else self.term.answer(self.found)
        return self.judgement("", "feature", None, answer.outcome, observe_set(self.content), answer.reason)

    def without_content(self, name: str, matcher: str, expression: CompiledExpression | None) -> Judgement:
        if self.found.state is SetState.ABSENT:
            reason = f"{self.term.set_name} is not on this node: {self.found.reason}"
            return self.judgement(name, matcher, expression, Outcome.FALSE, "absent", reason)
        reason = f"{self.term.set_name} is not known: {self.found.reason}"
        return self.judgement(name, matcher, expression, Outcome.UNKNOWN, None, reason)

    def judgement(
        self,
        name: str,
        matcher: str,
        expression: CompiledExpression | None,
        outcome: Outcome,
        observed: str | None,
        reason: str,
    ) -> Judgement:
        feature = self.term.source.feature
        if expression is None:
            return Judgement(feature, name, matcher, None, outcome, observed, reason)
        source = expression.source
        if self.doubt is not None:
            alone = Term(feature, name=source) if matcher == "matchName" else Term(feature, {name: source})
            answer = self.doubt(compile_term(alone))
            if answer.outcome is Outcome.UNKNOWN:
                outcome, observed, reason = Outcome.UNKNOWN, None, answer.reason
        return Judgement(feature, name, matcher, source, outcome, observed, reason)


def in_any(expressions: Iterable[tuple[str, CompiledExpression]], content: FeatureSet) -> bool:
    """Whether the pool of flags and attributes, or any one instance, satisfies the expressions."""
    pairs = list(expressions)
    has_pool = content.flags is not None or content.attributes is not None
    pool = has_pool and all(in_pool(name, expression, content) for name, expression in pairs)
    instances: tuple[Instance, ...] = content.instances or ()
    return sum([on_instance(pairs, instance) for instance in instances]) > 0 or pool


def _ask(question: Callable[[], bool]) -> Answer:
    try:
        return Answer(Outcome.TRUE if question() else Outcome.FALSE)
    except RuleError as error:
        return Answer(Outcome.ERROR, str(error), error.todo)


def _asks_value_of_flag(key: str, expression: Expression, content: FeatureSet) -> bool:
    asks_presence = expression.operator in (Operator.ANY, Operator.EXISTS, Operator.DOES_NOT_EXIST)
    is_flag = content.flags is not None and key in content.flags and key not in (content.attributes or {})
    return is_flag and not asks_presence and not expression.reads_flags
