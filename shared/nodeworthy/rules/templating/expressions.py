"""The values of a template's pipes: fields, variables, literals, calls; each becomes a closure once.

The rules are those of Go's text/template with the option ``missingkey=error``: a name that is not there is an error.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from nodeworthy.rules.templating import nodes
from nodeworthy.rules.templating.functions import FUNCTIONS
from nodeworthy.rules.templating.limits import MAX_OUTPUT, TEXT_PER_STEP, Budget
from nodeworthy.rules.templating.literals import Number
from nodeworthy.rules.templating.problems import TODO, FunctionError, shown, template_error
from nodeworthy.rules.templating.signatures import Signature, signature_of
from nodeworthy.rules.templating.values import AnyDict, Value, is_true, look_up, type_name


class State:
    """One expansion: what was written, the variables, what is left of the budget."""

    __slots__ = ("budget", "depth", "names", "parts", "room", "values")

    def __init__(self, data: Value) -> None:
        self.parts: list[str] = []
        self.room = MAX_OUTPUT
        """How many more characters may be written."""
        self.names = ["$"]
        self.values = [data]
        """Variables, the innermost last."""
        self.budget = Budget()
        self.depth = 0
        """How deep the running blocks are nested, over all templates that include each other."""


Ask: TypeAlias = Callable[[State, Value], Value]
"""Gives a value; the second argument is the current one, ``.``."""


class _Missing:
    """Stands for the last argument of a command that is not behind ``|``."""


_MISSING = _Missing()

_NILABLE = frozenset({object, AnyDict})
"""Types of parameters that take nil."""

_NAMES = {str: "a text", int: "an int", bool: "a boolean", float: "a float", AnyDict: "a map made by dict"}


class Expressions:
    """Makes closures of the expressions of one template."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._signatures: dict[str, Signature] = {}

    def error(self, position: int, message: str) -> Exception:
        """The error of this template at a place."""
        return template_error(self.text, position, message, TODO)

    def refusing(self, position: int, message: str) -> Callable[..., Value]:
        """An expression that is a mistake. Go finds it when it runs into it, and a branch that is not taken has none."""

        def refuse(*_: Value) -> Value:
            raise self.error(position, message)

        return refuse

    def pipe(self, pipe: nodes.Pipe) -> Ask:
        """The value of a pipe; its variables get it."""
        ask = self.commands(pipe)
        if not pipe.variables:
            return ask
        names = pipe.variables
        if pipe.assigns:
            position = pipe.position

            def assigning(state: State, dot: Value) -> Value:
                value = ask(state, dot)
                for name in names:
                    self.assign(state, name, value, position)
                return value

            return assigning

        def declaring(state: State, dot: Value) -> Value:
            value = ask(state, dot)
            for name in names:
                state.names.append(name)
                state.values.append(value)
            return value

        return declaring

    def assign(self, state: State, name: str, value: Value, position: int) -> None:
        """Give the innermost variable of a name a value."""
        for place in range(len(state.names) - 1, -1, -1):
            if state.names[place] == name:
                state.values[place] = value
                return
        raise self.error(position, f"variable {shown(name)} is not declared: write := instead of =")

    def commands(self, pipe: nodes.Pipe) -> Ask:
        """The value of a pipe before its variables get it."""
        first = self.command(pipe.commands[0], is_piped=False)
        if len(pipe.commands) == 1:
            return lambda state, dot: first(state, dot, _MISSING)
        others = [self.command(command, is_piped=True) for command in pipe.commands[1:]]

        def ask(state: State, dot: Value) -> Value:
            value = first(state, dot, _MISSING)
            for command in others:
                value = command(state, dot, value)
            return value

        return ask

    def command(self, command: nodes.Command, *, is_piped: bool) -> Callable[[State, Value, Value], Value]:
        """A command; its third argument is what stands before ``|``."""
        first, *arguments = command.operands
        if isinstance(first, nodes.Identifier):
            return self.call(first, arguments, is_piped=is_piped)
        if isinstance(first, (nodes.Field, nodes.Variable, nodes.Chain)) and first.names:
            return self.value_of_names(first, arguments, is_piped=is_piped)
        if arguments or is_piped:
            return self.refusing(first.position, "this is no function, so it takes no arguments")
        if isinstance(first, nodes.Nil):
            return self.refusing(first.position, "nil can only be an argument")
        ask = self.operand(first)
        return lambda state, dot, _: ask(state, dot)

    def value_of_names(
        self, first: nodes.Field | nodes.Variable | nodes.Chain, arguments: Sequence[nodes.Operand], *, is_piped: bool
    ) -> Callable[[State, Value, Value], Value]:
        """A command that begins with names: a value, for nothing here is a method with arguments."""
        if arguments or is_piped:
            return self.refusing(first.position, f"{shown(first.names[-1])} is no function, so it takes no arguments")
        ask = self.operand(first)
        return lambda state, dot, _: ask(state, dot)

    def operand(self, operand: nodes.Operand) -> Ask:
        """The value of an operand whose type nobody prescribes."""
        match operand:
            case nodes.Dot():
                return _dot
            case nodes.Literal(value=value):
                return _always(value)
            case nodes.Numeral():
                return self.numeral(operand)
            case nodes.Field():
                return self.fields(_dot, operand.names, operand.position)
            case nodes.Variable():
                variable = self.variable(operand)
                return self.fields(variable, operand.names, operand.position) if operand.names else variable
            case nodes.Chain():
                return self.chain(operand)
            case nodes.Identifier():
                call = self.call(operand, (), is_piped=False)
                return lambda state, dot: call(state, dot, _MISSING)
            case nodes.Pipe():
                return self.pipe(operand)
        return _always(None)

    def numeral(self, operand: nodes.Numeral) -> Ask:
        """A number where nothing prescribes its type."""
        number = operand.number
        value = _constant(number)
        if value is None:
            return self.refusing(operand.position, f"{number.text[:40]} does not fit into an int")
        return _always(value)

    def variable(self, operand: nodes.Variable) -> Ask:
        """The innermost variable of a name."""
        wanted, position = operand.name, operand.position
        if wanted == "$":
            return _root

        def ask(state: State, _: Value) -> Value:
            names = state.names
            for place in range(len(names) - 1, -1, -1):
                if names[place] == wanted:
                    return state.values[place]
            raise self.error(position, f"variable {shown(wanted)} is not declared")

        return ask

    def chain(self, operand: nodes.Chain) -> Ask:
        """Names looked up in what something gives."""
        if isinstance(operand.operand, nodes.Nil):
            return self.refusing(operand.position, "nil has no fields")
        return self.fields(self.operand(operand.operand), operand.names, operand.position)

    def fields(self, ask: Ask, names: tuple[str, ...], position: int) -> Ask:
        """Names looked up in a value, one in the other."""
        if len(names) == 1:
            [name] = names

            def single(state: State, dot: Value) -> Value:
                value = ask(state, dot)
                if type(value) is dict and name in value:
                    return value[name]
                return self.field(value, name, position)

            return single

        def several(state: State, dot: Value) -> Value:
            value = ask(state, dot)
            for name in names:
                value = self.field(value, name, position)
            return value

        return several

    def field(self, value: Value, name: str, position: int) -> Value:
        """What a value has under a name."""
        if isinstance(value, dict):
            found, inner = look_up(value, name)
            if found:
                return inner
            raise self.error(position, f"there is no {shown(name)} here; known are {_known(value)}")
        if value is None:
            raise self.error(position, f"there is no value to take {shown(name)} from")
        methods: dict[str, Callable[[], Value]] = getattr(value, "methods", dict)()
        if name in methods:
            return methods[name]()
        hint = ", use range or index" if isinstance(value, list) else ""
        raise self.error(position, f"{shown(name)} cannot be taken from {type_name(value)}{hint}")

    # Calls.

    def call(
        self, function: nodes.Identifier, arguments: Sequence[nodes.Operand], *, is_piped: bool
    ) -> Callable[[State, Value, Value], Value]:
        """A call of a function; the third argument of the closure is what stands before ``|``."""
        name, position = function.name, function.position
        run = FUNCTIONS[name]
        signature = self._signatures.get(name) or self._signatures.setdefault(name, signature_of(run))
        problem = signature.arity_problem(len(arguments) + is_piped)
        if problem is not None:
            return self.refusing(position, f"{name} {problem}")
        if name in ("and", "or"):
            return self.logic([self.operand_or_nil(one) for one in arguments], stops_at=name == "or")
        asks = [self.argument(one, signature.parameter(place), name) for place, one in enumerate(arguments)]
        check = self.checked(signature.parameter(len(arguments)), name, position) if is_piped else None

        def call(state: State, dot: Value, final: Value) -> Value:
            values = [ask(state, dot) for ask in asks]
            if check is not None:
                values.append(check(final))
            budget = state.budget
            try:
                budget.spend(1 + sum([len(value) for value in values if type(value) is str]) // TEXT_PER_STEP)
                result = run(budget, *values) if signature.wants_budget else run(*values)
                if type(result) is str:
                    budget.spend_text(len(result))
                elif isinstance(result, (list, dict)):
                    budget.spend_items(len(result))
            except FunctionError as error:
                raise self.error(position, f"{name}: {error}") from error
            return result

        return call

    def logic(self, asks: Sequence[Ask], *, stops_at: bool) -> Callable[[State, Value, Value], Value]:
        """``and`` and ``or``, which ask no more than they need."""

        def call(state: State, dot: Value, final: Value) -> Value:
            value: Value = None
            for ask in asks:
                value = ask(state, dot)
                if is_true(value) is stops_at:
                    return value
            return value if final is _MISSING else final

        return call

    def operand_or_nil(self, operand: nodes.Operand) -> Ask:
        """The value of an operand that may be nil."""
        return _always(None) if isinstance(operand, nodes.Nil) else self.operand(operand)

    def argument(self, operand: nodes.Operand, wanted: type, name: str) -> Ask:
        """The value of an argument; a literal takes the parameter's type."""
        position = operand.position
        if isinstance(operand, nodes.Nil):
            if wanted in _NILABLE:
                return _always(None)
            return self.refusing(position, f"{name} needs {_NAMES.get(wanted, 'a value')} here, not nil")
        if isinstance(operand, (nodes.Literal, nodes.Numeral)) and wanted is not object:
            value = _typed_literal(operand, wanted)
            if value is None:
                what = f"{name} needs {_NAMES.get(wanted, 'another value')} here, and this is none"
                return self.refusing(position, what)
            return _always(value)
        ask = self.operand(operand)
        if wanted is object:
            return ask
        check = self.checked(wanted, name, position)
        return lambda state, dot: check(ask(state, dot))

    def checked(self, wanted: type, name: str, position: int) -> Callable[[Value], Value]:
        """A value of a given type, or an error."""
        if wanted is object:
            return lambda value: value

        def check(value: Value) -> Value:
            if type(value) is wanted or (value is None and wanted in _NILABLE):
                return value
            what = f"{name} needs {_NAMES.get(wanted, 'a time')} here, and this is {type_name(value)}"
            raise self.error(position, what)

        return check


def _dot(_: State, dot: Value) -> Value:
    return dot


def _root(state: State, _: Value) -> Value:
    return state.values[0]


def _always(value: Value) -> Ask:
    return lambda _state, _dot: value


def _constant(number: Number) -> Value:
    """What a number is where nothing prescribes its type; ``None`` if it is too large for an int."""
    if number.imaginary is not None:
        return number.imaginary
    is_hexadecimal = number.text[:2].lower() == "0x" and not set(number.text) & set("pP")
    if not is_hexadecimal and not number.is_character and set(number.text) & set(".eEpP"):
        return number.real
    return number.integer


def _typed_literal(operand: nodes.Literal | nodes.Numeral, wanted: type) -> Value:
    if isinstance(operand, nodes.Literal):
        return operand.value if type(operand.value) is wanted else None
    if wanted is int:
        return operand.number.integer
    return operand.number.real if wanted is float else None


def _known(value: dict[str, Value]) -> str:
    names = sorted(value)
    return (", ".join(names[:_MAX_KNOWN]) + (", …" if len(names) > _MAX_KNOWN else "")) or "none"


_MAX_KNOWN = 10
