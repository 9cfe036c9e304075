"""Terms asked of sets of which some names were not observed: the answer is the one of every possibility, or unknown.

A name that was not observed may be there, with any value, or not. So an expression about it is unknown, a false one beside
it decides all the same, and one instance that matches makes up for flags and attributes that nobody knows.
"""

from collections.abc import Sequence
from typing import NamedTuple

from nodeworthy.features import FeatureSet
from nodeworthy.rules.elements import in_pool, names_hold, on_instance
from nodeworthy.rules.operators import CompiledExpression
from nodeworthy.rules.outcomes import FAILS, Answer, Outcome, all_hold, ask
from nodeworthy.rules.records import Operator


class Doubt(NamedTuple):
    """Words for what a set does not tell."""

    set_name: str
    reason: str
    """Why it does not; may be empty."""

    def about(self, name: str) -> Answer:
        """The answer that hangs on an unobserved name."""
        return Answer(Outcome.UNKNOWN, f"{self.set_name} does not tell {name}" + (self.reason and f": {self.reason}"))


def ask_expressions(
    expressions: Sequence[tuple[str, CompiledExpression]], content: FeatureSet, doubt: Doubt, *, fallible: bool
) -> Answer:
    """Whether flags and attributes, or one instance, satisfy all expressions."""
    pool = _ask_pool(expressions, content, doubt)
    if pool.outcome is Outcome.ERROR or (pool.outcome is Outcome.TRUE and not fallible):
        return pool
    instances = content.instances or ()
    # NFD asks every instance, so an error in a later one counts.
    found = ask(lambda: sum([on_instance(expressions, instance) for instance in instances]) > 0)
    return pool if found.outcome is Outcome.FALSE else found


def ask_names(expression: CompiledExpression, content: FeatureSet, doubt: Doubt) -> Answer:
    """Whether some name satisfies ``matchName``; unknown where only an unobserved one would."""
    found = ask(lambda: names_hold(expression, content))
    if found.outcome is not Outcome.FALSE:
        return found
    possible = [name for name in content.unobserved if _may_match(expression, name)]
    return doubt.about(min(possible)) if possible else FAILS


def _ask_pool(expressions: Sequence[tuple[str, CompiledExpression]], content: FeatureSet, doubt: Doubt) -> Answer:
    if content.flags is None and content.attributes is None:
        # Whether there is anything to ask hangs on the unobserved names.
        return doubt.about(min(content.unobserved)) if content.unobserved else FAILS
    return all_hold(_ask_element(name, expression, content, doubt) for name, expression in expressions)


def _ask_element(name: str, expression: CompiledExpression, content: FeatureSet, doubt: Doubt) -> Answer:
    is_certain = expression.broken is not None or expression.source.operator is Operator.ANY
    if name in content.unobserved and not is_certain:
        return doubt.about(name)
    return ask(lambda: in_pool(name, expression, content))


def _may_match(expression: CompiledExpression, name: str) -> bool:
    # A name that cannot be asked would be an error if it were there: nobody knows that either.
    return ask(lambda: expression.test(name)).outcome is not Outcome.FALSE
