"""Running templates: the tree becomes closures once, which then run on any data."""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum, auto
from typing import TypeAlias

from nodeworthy.rules.templating import nodes
from nodeworthy.rules.templating.expressions import Ask, Expressions, State
from nodeworthy.rules.templating.formatting import text_of
from nodeworthy.rules.templating.functions import FUNCTIONS, refusal
from nodeworthy.rules.templating.limits import MAX_NESTING, MAX_OUTPUT
from nodeworthy.rules.templating.parser import parse
from nodeworthy.rules.templating.problems import FunctionError, shown
from nodeworthy.rules.templating.values import Value, is_true, type_name


class _Signal(Enum):
    """Why a block ended early."""

    BREAK = auto()
    CONTINUE = auto()


_Run: TypeAlias = Callable[[State, Value], _Signal | None]
"""Runs a node or block; the second argument is the current value, ``.``."""


class Program:
    """A template, ready to be expanded on any data."""

    def __init__(self, run: Callable[[State, Value], object]) -> None:
        self._run = run

    def expand(self, data: Value) -> str:
        """The text that the template makes of the data.

        Raises:
            RuleError: it cannot be expanded on this data; the message has the place in the template.
        """
        state = State(data)
        self._run(state, data)
        return "".join(state.parts)


def compile_template(text: str) -> Program:
    """The program of a template.

    Raises:
        RuleError: the text is no template, is too long or calls a function that is refused.
    """
    return Program(_Blocks(parse(text, FUNCTIONS, refusal)).main)


class _Blocks:
    """Makes closures of the blocks of one template."""

    def __init__(self, tree: nodes.Tree) -> None:
        self.expressions = Expressions(tree.text)
        self.definitions: Mapping[str, nodes.Definition] = tree.definitions
        self.compiled: dict[str, _Run] = {name: self.block(one.block) for name, one in tree.definitions.items()}
        self.main = self.block(tree.main.block)

    def block(self, block: nodes.Block) -> _Run:
        runs = [self.node(node) for node in block]
        position = block[0].position if block else 0
        steps = len(runs)

        def run(state: State, dot: Value) -> _Signal | None:
            self.spend(state, steps, position)
            for one in runs:
                signal = one(state, dot)
                if signal is not None:
                    return signal
            return None

        return run

    def spend(self, state: State, steps: int, position: int) -> None:
        budget = state.budget
        budget.left -= steps
        if budget.left < 0:
            try:
                budget.spend(0)
            except FunctionError as error:
                raise self.expressions.error(position, str(error)) from error

    def node(self, node: nodes.Node) -> _Run:
        match node:
            case nodes.Text():
                return self.text(node)
            case nodes.Action():
                return self.action(node)
            case nodes.Choice():
                return self.choice(node)
            case nodes.Range():
                return self.range(node)
            case nodes.Include():
                return self.include(node)
            case nodes.Jump():
                signal = _Signal.BREAK if node.leaves else _Signal.CONTINUE
                return lambda _state, _dot: signal

    def text(self, node: nodes.Text) -> _Run:
        text, position = node.text, node.position
        return lambda state, _dot: self.write(state, text, position)

    def write(self, state: State, text: str, position: int) -> None:
        state.room -= len(text)
        if state.room < 0:
            raise self.expressions.error(position, f"the output gets longer than {MAX_OUTPUT:,} characters")
        state.parts.append(text)

    def action(self, node: nodes.Action) -> _Run:
        ask, position = self.expressions.pipe(node.pipe), node.position
        if node.pipe.variables:

            def declare(state: State, dot: Value) -> None:
                ask(state, dot)

            return declare

        def run(state: State, dot: Value) -> None:
            value = ask(state, dot)
            self.write(state, value if type(value) is str else self.shown(state, value, position), position)

        return run

    def shown(self, state: State, value: Value, position: int) -> str:
        if value is None:
            return "<no value>"
        try:
            return text_of(value, state.budget)
        except FunctionError as error:
            raise self.expressions.error(position, str(error)) from error

    def choice(self, node: nodes.Choice) -> _Run:
        branches = [(self.expressions.pipe(pipe), self.block(block)) for pipe, block in node.branches]
        otherwise = self.block(node.otherwise)
        sets_dot = node.sets_dot

        def run(state: State, dot: Value) -> _Signal | None:
            mark = len(state.names)
            for ask, block in branches:
                value = ask(state, dot)
                if is_true(value):
                    signal = block(state, value if sets_dot else dot)
                    break
            else:
                signal = otherwise(state, dot)
            del state.names[mark:], state.values[mark:]
            return signal

        return run

    def range(self, node: nodes.Range) -> _Run:
        ask, block, otherwise = self.expressions.commands(node.pipe), self.block(node.block), self.block(node.otherwise)
        entries = self.entries(node)
        names, position = node.pipe.variables, node.position
        assigns = node.pipe.assigns

        def bind(state: State, mark: int, index: Value, value: Value) -> None:
            values = (value,) if len(names) == 1 else (index, value)
            if assigns:
                for name, one in zip(names, values, strict=True):
                    self.expressions.assign(state, name, one, position)
            else:
                state.values[mark - len(names) : mark] = values

        def run(state: State, dot: Value) -> _Signal | None:
            outside = len(state.names)
            found = ask(state, dot)
            if assigns:
                for name in names:
                    self.expressions.assign(state, name, found, position)
            else:
                state.names.extend(names)
                state.values.extend([found] * len(names))
            mark = len(state.names)
            signal: _Signal | None = None
            empty = True
            for index, value in entries(found):
                empty = False
                if names:
                    bind(state, mark, index, value)
                signal = block(state, value)
                self.spend(state, 1, position)
                del state.names[mark:], state.values[mark:]
                if signal is _Signal.BREAK:
                    break
            signal = otherwise(state, dot) if empty else None
            del state.names[outside:], state.values[outside:]
            return signal

        return run

    def entries(self, node: nodes.Range) -> Callable[[Value], Iterable[tuple[Value, Value]]]:
        """What ``range`` goes through: index or name, and value."""
        variables, position = len(node.pipe.variables), node.position

        def entries(value: Value) -> Iterable[tuple[Value, Value]]:
            if isinstance(value, list):
                return enumerate(list(value))
            if isinstance(value, dict):
                return sorted(value.items())
            if isinstance(value, int) and not isinstance(value, bool):
                if variables > 1:
                    raise self.expressions.error(position, "range over a number sets one variable")
                return ((None, type(value)(one)) for one in range(value))
            if value is None:
                return ()
            raise self.expressions.error(position, f"range needs a list, a map or a number, not {type_name(value)}")

        return entries

    def include(self, node: nodes.Include) -> _Run:
        name, position = node.name, node.position
        definition = self.definitions.get(name)
        ask: Ask = self.expressions.pipe(node.pipe) if node.pipe is not None else lambda _state, _dot: None

        def run(state: State, dot: Value) -> None:
            if definition is None:
                raise self.expressions.error(position, f"there is no template {shown(name)}")
            if state.depth + definition.depth > MAX_NESTING:
                raise self.expressions.error(position, f"templates include each other deeper than {MAX_NESTING} levels")
            data = ask(state, dot)
            outer = state.names, state.values
            state.names, state.values = ["$"], [data]
            state.depth += definition.depth
            self.compiled[name](state, data)
            state.depth -= definition.depth
            state.names, state.values = outer

        return run
