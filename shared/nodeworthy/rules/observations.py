"""What was seen and what was asked for, in words for a person: short whatever the machine holds."""

from collections.abc import Iterable, Sequence

from nodeworthy.errors import RuleError
from nodeworthy.features import FeatureSet, Instance
from nodeworthy.rules.elements import on_instance
from nodeworthy.rules.operators import CompiledExpression
from nodeworthy.rules.outcomes import Outcome
from nodeworthy.rules.records import Expression, Operator

MAX_SHOWN = 3
"""How many devices or names are shown; the rest is counted."""

MAX_TEXT = 80
"""How much of one value is shown."""

_COMPARISONS = {Operator.GT: ">", Operator.GE: ">=", Operator.LT: "<", Operator.LE: "<="}


def describe(expression: Expression | None) -> str:
    """What an expression asks for: ``one of 10de, 1002``, ``exists``, ``>= 5.15``."""
    if expression is None:
        return "present"
    values = [shorten(value) or '""' for value in expression.values]
    match expression.operator:
        case Operator.IN:
            return values[0] if len(values) == 1 else f"one of {_listed(values, 10)}"
        case Operator.NOT_IN:
            return f"not {values[0]}" if len(values) == 1 else f"none of {_listed(values, 10)}"
        case Operator.IN_REGEXP:
            return f"matching {' or '.join(values[:MAX_SHOWN])}"
        case Operator.GT_LT | Operator.GE_LE:
            equal = "=" if expression.operator is Operator.GE_LE else ""
            return " and ".join(f"{sign}{equal} {value}" for sign, value in zip("><", values, strict=False))
        case Operator.EXISTS:
            return "exists"
        case Operator.DOES_NOT_EXIST:
            return "does not exist"
        case Operator.IS_TRUE | Operator.IS_FALSE:
            return "true" if expression.operator is Operator.IS_TRUE else "false"
        case Operator.ANY:
            return "anything"
        case _:
            return f"{_COMPARISONS[expression.operator]} {', '.join(values)}"


def shorten(text: str) -> str:
    """The text, cut where it is too long, without what would break a line."""
    text = "".join(letter if letter.isprintable() else "\ufffd" for letter in text[: MAX_TEXT + 1])
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "…"


def observe_element(name: str, content: FeatureSet) -> str:
    """What flags and attributes hold under a name."""
    value = (content.attributes or {}).get(name)
    if value is not None:
        return shorten(value) or '""'
    if name in content.unobserved:
        return "not observed"
    return "present" if content.flags is not None and name in content.flags else "absent"


def observe_instances(
    name: str,
    expressions: Sequence[tuple[str, CompiledExpression]],
    content: FeatureSet,
    *,
    outcome: Outcome,
) -> str:
    """What instances hold under a name: those that satisfy most of the term, nearest first.

    Where the one expression holds, only the instances on which it does are looked at.
    """
    instances = content.instances or ()
    if not instances:
        return "no device"
    if outcome is Outcome.TRUE:
        own = [pair for pair in expressions if pair[0] == name]
        instances = tuple(instance for instance in instances if _holds(own, instance)) or instances
    return _listed_once(_show(name, expressions, instance) for instance in nearest(expressions, instances))


def nearest(expressions: Iterable[tuple[str, CompiledExpression]], instances: Iterable[Instance]) -> list[Instance]:
    """The instances that satisfy the largest number of expressions."""
    ranked = [(sum(_holds([pair], instance) for pair in expressions), instance) for instance in instances]
    best = max((rank for rank, _ in ranked), default=0)
    return [instance for rank, instance in ranked if rank == best]


def observe_names(expression: CompiledExpression, content: FeatureSet, *, outcome: Outcome) -> str:
    """Names that satisfy ``matchName``, or how many there are that do not."""
    names = sorted({*(content.flags or ()), *(content.attributes or ())}.union(*(content.instances or ())))
    if outcome is Outcome.TRUE:
        return _listed([shorten(name) for name in names if _satisfies(expression, name)], MAX_SHOWN)
    return f"none of {len(names)} names" if names else "no names"


def observe_set(content: FeatureSet) -> str:
    """That a set is there, and how much is in it."""
    if content.instances is not None:
        return f"{len(content.instances)} devices" if content.instances else "no device"
    return "present" if content.flags is not None or content.attributes is not None else "empty"


def _show(name: str, expressions: Sequence[tuple[str, CompiledExpression]], instance: Instance) -> str:
    own = instance.get(name)
    shown = "absent" if own is None else shorten(own) or '""'
    others = [f"{key}={shorten(instance[key])}" for key, _ in expressions if key != name and key in instance]
    return f"{shown} ({', '.join(others[:MAX_SHOWN])})" if others else shown


def _listed_once(texts: Iterable[str]) -> str:
    return _listed(list(dict.fromkeys(texts)), MAX_SHOWN)


def _listed(texts: Sequence[str], limit: int) -> str:
    more = f" and {len(texts) - limit} more" if len(texts) > limit else ""
    return ", ".join(texts[:limit]) + more


def _holds(expressions: Iterable[tuple[str, CompiledExpression]], instance: Instance) -> bool:
    try:
        return on_instance(expressions, instance)
    except RuleError:
        return False


def _satisfies(expression: CompiledExpression, name: str) -> bool:
    try:
        return expression.test(name)
    except RuleError:
        return False
