"""Terms, compiled: whether one feature set satisfies all that one term asks of it.

A term's answer depends on the content of its set and on nothing else, so that it need be evaluated only once for all nodes
with the same content. Flags and attributes of one name are one pool, instances are asked one by one, either may satisfy the
term.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from nodeworthy.errors import RuleError
from nodeworthy.features import FeatureSet, Instance, Lookup, SetState
from nodeworthy.rules.elements import in_pool, name_elements, names_hold, on_instance
from nodeworthy.rules.module_names import MODULE_SETS, spellings, unify, unify_set
from nodeworthy.rules.operators import CompiledExpression, Test, compile_expression
from nodeworthy.rules.outcomes import FAILS, HOLDS, Answer, Outcome, all_hold
from nodeworthy.rules.records import Expression, Operator, Term
from nodeworthy.rules.unobserved import Doubt, ask_expressions, ask_names


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
    of_instance: tuple[tuple[str, bool, Test], ...] | None
    """Of each expression the name, the answer where an instance lacks it, and the test of its value; ``None`` where one is
    an error whatever the instance has."""

    def answer(self, found: Lookup) -> Answer:
        """What the term says of a set as it was found."""
        if found.state is SetState.ABSENT:
            # Also for DoesNotExist, as in NFD: nobody has looked for the element.
            return FAILS
        if found.content is None:
            return Answer(Outcome.UNKNOWN, f"{self.set_name} is not known: {found.reason}")
        if found.content.unobserved:
            answer = all_hold(self._parts(found.content, Doubt(self.set_name, found.reason)))
            is_error = answer.outcome is Outcome.ERROR
            return answer._replace(reason=f"{self.source.feature}: {answer.reason}") if is_error else answer
        try:
            return HOLDS if self.holds(found.content) else FAILS
        except RuleError as error:
            return Answer(Outcome.ERROR, f"{self.source.feature}: {error}", error.todo)

    def holds(self, content: FeatureSet) -> bool:
        """Whether the set satisfies the term; first ``matchExpressions``, then, if those hold, ``matchName``.

        For sets that were observed as a whole, which is nearly all; :meth:`answer` asks of any.

        Raises:
            RuleError: an expression cannot be asked of a value that is there.
        """
        if self.set_name in MODULE_SETS and "-" in "".join(content.flags or ()):
            content = unify_set(content)
        if self.expressions is not None and not self._expressions_hold(content, self.expressions):
            return False
        return self.name is None or _some_name(self.name, content)

    def _parts(self, content: FeatureSet, doubt: Doubt) -> Iterable[Answer]:
        if self.set_name in MODULE_SETS:
            content = unify_set(content)
        if self.expressions is not None:
            yield ask_expressions(self.expressions, content, doubt, fallible=self.fallible)
        if self.name is not None:
            yield ask_names(self.name, content, doubt)

    def _expressions_hold(self, content: FeatureSet, expressions: tuple[tuple[str, CompiledExpression], ...]) -> bool:
        pool = (content.flags is not None or content.attributes is not None) and all(
            in_pool(name, expression, content) for name, expression in expressions
        )
        if content.instances is None:
            return pool
        if self.fallible:
            # NFD asks every instance, so an error in a later one counts.
            return len(self.matching_instances(content)) > 0 or pool
        return pool or next(self._instances(content.instances), None) is not None

    def matching_instances(self, content: FeatureSet) -> list[Instance]:
        """The instances that satisfy all expressions.

        Raises:
            RuleError: an expression cannot be asked of a value that is there.
        """
        return list(self._instances(content.instances or ()))

    def _instances(self, instances: Iterable[Instance]) -> Iterator[Instance]:
        asked = self.of_instance
        if asked is None:
            yield from (instance for instance in instances if on_instance(self.expressions or (), instance))
            return
        # As on_instance, without a call for each of a hundred devices.
        for instance in instances:
            for name, absent, test in asked:
                value = instance.get(name)
                if not (absent if value is None else test(value)):
                    break
            else:
                yield instance


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
        name = _compile_module_name(term.name) if modules else compile_expression(term.name, asks_names=True)
    compiled = [expression for _, expression in expressions or ()]
    of_instance = None
    if not any(expression.broken for expression in compiled):
        of_instance = tuple((key, expression.absent, expression.test) for key, expression in expressions or ())
    fallible = any(expression.fallible for expression in compiled)
    return CompiledTerm(term, set_name, expressions, name, fallible, of_instance)


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
    return elements + term.matching_instances(content)


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


def _some_name(expression: CompiledExpression, content: FeatureSet) -> bool:
    some = expression.some
    if some is None:
        return names_hold(expression, content)
    return some(content.flags or ()) or some(content.attributes or ()) or any(map(some, content.instances or ()))


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
