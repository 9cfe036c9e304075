"""Terms, compiled: whether one feature set satisfies all that one term asks of it.

A term's answer depends on the content of its set and on nothing else, so that it need be evaluated only once for all nodes
with the same content. How the kinds of features answer is described in NFD's terms in docs/nfd-differences.md and
api/nfd/v1alpha1: flags and attributes of one name are one pool, instances are asked one by one, either may satisfy the term.
"""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from nodeworthy.errors import RuleError
from nodeworthy.features import FeatureSet, Instance, Lookup, SetState
from nodeworthy.rules.module_names import MODULE_SETS, spellings, unify, unify_set
from nodeworthy.rules.operators import CompiledExpression, Test, compile_expression
from nodeworthy.rules.outcomes import FAILS, HOLDS, Answer, Outcome
from nodeworthy.rules.records import Expression, Operator, Term


class CompiledTerm(msgspec.Struct, frozen=True):
    """One term, ready to be asked of many sets."""

    source: Term
    set_name: str
    """The one set that it reads."""
    expressions: tuple[tuple[str, CompiledExpression], ...] | None
    """In the order of their names, which is the order of evaluation (NFD's is random)."""
    name: CompiledExpression | None
    fallible: bool
    """Whether some instance can raise, so that all of them have to be asked."""

    def answer(self, found: Lookup) -> Answer:
        """What the term says of a set as it was found."""
        if found.state is SetState.ABSENT:
            # Also for DoesNotExist, as in NFD: nobody has looked for the element.
            return FAILS
        if found.content is None:
            return Answer(Outcome.UNKNOWN, f"{self.set_name} is not known: {found.reason}")
        try:
            return HOLDS if self.holds(found.content) else FAILS
        except RuleError as error:
            return Answer(Outcome.ERROR, f"{self.source.feature}: {error}", error.todo)

    def holds(self, content: FeatureSet) -> bool:
        """Whether the set satisfies the term; first ``matchExpressions``, then, if those hold, ``matchName``.

        Raises:
            RuleError: an expression cannot be asked of a value that is there.
        """
        if self.set_name in MODULE_SETS:
            content = unify_set(content)
        if self.expressions is not None and not self._expressions_hold(content, self.expressions):
            return False
        return self.name is None or names_hold(self.name, content)

    def _expressions_hold(self, content: FeatureSet, expressions: tuple[tuple[str, CompiledExpression], ...]) -> bool:
        pool = (content.flags is not None or content.attributes is not None) and all(
            in_pool(name, expression, content) for name, expression in expressions
        )
        if content.instances is None:
            return pool
        if self.fallible:
            # NFD asks every instance, so an error in a later one counts.
            return sum([on_instance(expressions, instance) for instance in content.instances]) > 0 or pool
        return pool or any(on_instance(expressions, instance) for instance in content.instances)


def compile_term(term: Term) -> CompiledTerm:
    """The compiled form of a term."""
    set_name = term.feature.lower()
    modules = set_name in MODULE_SETS
    expressions: tuple[tuple[str, CompiledExpression], ...] | None = None
    if term.expressions is not None:
        expressions = tuple(
            (unify(name) if modules else name, compile_expression(expression))
            for name, expression in sorted(term.expressions.items())
        )
    name = None
    if term.name is not None:
        name = _compile_module_name(term.name) if modules else compile_expression(term.name)
    fallible = any(expression.fallible for _, expression in expressions or ())
    return CompiledTerm(term, set_name, expressions, name, fallible)


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


def term_elements(term: CompiledTerm, content: FeatureSet) -> list[Instance]:
    """What a term that holds has matched, as templates see it; names sorted, instances in their order.

    A flag is ``{Name}``, an attribute ``{Name, Value}``, an instance all of its attributes. ``matchExpressions`` come before
    ``matchName``, and what both match is there twice.
    """
    elements: list[Instance] = []
    if term.expressions is not None:
        # Expressions name modules in their own spelling, also where the set has the other one.
        unified = unify_set(content) if term.set_name in MODULE_SETS else content
        elements += expression_elements(term, unified)
    if term.name is not None:
        elements += name_elements(term.name, content)
    return elements


def expression_elements(term: CompiledTerm, content: FeatureSet) -> list[Instance]:
    """What ``matchExpressions`` have matched: nothing of the pool where the pool as a whole fails."""
    expressions = term.expressions or ()
    elements: list[Instance] = []
    if all(in_pool(name, expression, content) for name, expression in expressions):
        for written, (name, expression) in zip(sorted(term.source.expressions or ()), expressions, strict=True):
            elements += _pool_elements(written, name, expression, content)
    elements += [instance for instance in content.instances or () if on_instance(expressions, instance)]
    return elements


def _pool_elements(written: str, name: str, expression: CompiledExpression, content: FeatureSet) -> list[Instance]:
    elements: list[Instance] = []
    if content.flags is not None and (expression.flag if name in content.flags else expression.absent):
        elements.append({"Name": written})
    if content.attributes is not None:
        value = content.attributes.get(name)
        if expression.absent if value is None else expression.test(value):
            elements.append({"Name": written, "Value": value or ""})
    if not elements and expression.source.reads_flags:
        elements.append({"Name": written})
    return elements


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


def _compile_module_name(expression: Expression) -> CompiledExpression:
    if expression.operator is not Operator.IN_REGEXP:
        values = tuple(map(unify, expression.values))
        compiled = compile_expression(msgspec.structs.replace(expression, values=values))
        return msgspec.structs.replace(compiled, source=expression, test=_unified(compiled.test))
    compiled = compile_expression(expression)
    return msgspec.structs.replace(compiled, test=_in_any_spelling(compiled.test))


def _unified(test: Test) -> Test:
    return lambda name: test(unify(name))


def _in_any_spelling(test: Test) -> Callable[[str], bool]:
    return lambda name: any(map(test, spellings(name)))
