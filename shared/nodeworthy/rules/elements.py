"""One expression asked of the elements of one set: of its flags and attributes together, of an instance, of the names.

Yes or no only, on what was observed; names of which nothing is known are the subject of :mod:`nodeworthy.rules.unobserved`.
How the kinds of features answer is described in NFD's terms in docs/nfd-differences.md and api/nfd/v1alpha1.
"""

from collections.abc import Iterable, Mapping

from nodeworthy.errors import RuleError
from nodeworthy.features import FeatureSet, Instance
from nodeworthy.rules.operators import CompiledExpression
from nodeworthy.rules.records import Operator


def in_pool(name: str, expression: CompiledExpression, content: FeatureSet) -> bool:
    """Whether the flags and attributes of a set satisfy one expression; ``DoesNotExist`` must hold in both."""
    if expression.broken is not None:
        raise RuleError(expression.broken.what, why=expression.broken.why, todo=expression.broken.todo)
    flags, attributes = content.flags, content.attributes
    value = None if attributes is None else attributes.get(name)
    if expression.source.reads_flags and flags is not None and value is None:
        return expression.test("true" if name in flags else "false")
    if expression.source.operator is Operator.DOES_NOT_EXIST:
        return value is None and (flags is None or name not in flags)
    if flags is not None and (expression.flag if name in flags else expression.absent):
        return True
    if attributes is None:
        return False
    return expression.absent if value is None else expression.test(value)


def on_instance(expressions: Iterable[tuple[str, CompiledExpression]], instance: Instance) -> bool:
    """Whether one instance satisfies all expressions; the first that fails ends it."""
    for name, expression in expressions:
        if expression.broken is not None:
            raise RuleError(expression.broken.what, why=expression.broken.why, todo=expression.broken.todo)
        value = instance.get(name)
        if not (expression.absent if value is None else expression.test(value)):
            return False
    return True


def names_hold(expression: CompiledExpression, content: FeatureSet) -> bool:
    """Whether some element's name satisfies ``matchName``; for instances, the name of some attribute."""
    if expression.fallible:
        return bool(name_elements(expression, content))
    test = expression.test
    return (
        any(map(test, content.flags or ()))
        or any(map(test, content.attributes or ()))
        or any(any(map(test, instance)) for instance in content.instances or ())
    )


def name_elements(expression: CompiledExpression, content: FeatureSet) -> list[Instance]:
    """What ``matchName`` has matched."""
    test = expression.test
    pool: list[tuple[str, int, Instance]] = [
        (name, 0, {"Name": name}) for name in sorted(content.flags or ()) if test(name)
    ]
    attributes: Mapping[str, str] = content.attributes or {}
    pool += [(name, 1, {"Name": name, "Value": attributes[name]}) for name in sorted(attributes) if test(name)]
    elements = [element for _, _, element in sorted(pool, key=lambda entry: entry[:2])]
    return elements + [instance for instance in content.instances or () if any(map(test, sorted(instance)))]
