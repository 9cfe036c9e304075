"""From the tokens of a template to its tree, by the rules of Go's text/template/parse."""

from collections.abc import Callable, Container
from typing import NamedTuple

from nodeworthy.errors import RuleError
from nodeworthy.rules.templating import nodes
from nodeworthy.rules.templating.lexer import Kind, Token, tokens
from nodeworthy.rules.templating.limits import MAX_NESTING, MAX_TEMPLATE
from nodeworthy.rules.templating.literals import LiteralError, parse_number, unquote
from nodeworthy.rules.templating.problems import TODO, shown, template_error

_OPERANDS = frozenset(
    {
        Kind.BOOL,
        Kind.NIL,
        Kind.IDENTIFIER,
        Kind.DOT,
        Kind.FIELD,
        Kind.VARIABLE,
        Kind.NUMBER,
        Kind.TEXT_LITERAL,
        Kind.OPEN,
    }
)
_VALUES = (nodes.Dot, nodes.Nil, nodes.Literal, nodes.Numeral)
_END_OF_BLOCK = frozenset({"end", "else"})


def parse(text: str, known: Container[str], refused: Callable[[str], str | None]) -> nodes.Tree:
    """The tree of a template; ``known`` are the functions, ``refused`` says why a function is not one of them.

    Raises:
        RuleError: the template is too long or is none; the message has the place.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_TEMPLATE:
        raise RuleError(
            "the template is too long", why=f"it has {size:,} bytes, and the limit is {MAX_TEMPLATE:,} bytes", todo=TODO
        )
    return _Parser(text, known, refused).tree()


class _Scope(NamedTuple):
    """What belongs to one template or definition."""

    variables: list[str]
    ranges: list[int]
    """Its length is the number of ``range`` around."""
    deepest: list[int]
    """The last entry is the deepest nesting so far."""


class _Parser:
    def __init__(self, text: str, known: Container[str], refused: Callable[[str], str | None]) -> None:
        self.text = text
        self.known = known
        self.refused = refused
        self.source = tokens(text)
        self.waiting: list[Token] = []
        """Tokens that were looked at and given back, the next one last."""
        self.definitions: dict[str, nodes.Definition] = {}
        self.scope = _Scope(["$"], [], [0])
        self.depth = 0

    # Tokens.

    def next(self) -> Token:
        return self.waiting.pop() if self.waiting else next(self.source)

    def peek(self) -> Token:
        token = self.next()
        self.waiting.append(token)
        return token

    def next_solid(self) -> Token:
        while (token := self.next()).kind is Kind.SPACE:
            pass
        return token

    def peek_solid(self) -> Token:
        token = self.next_solid()
        self.waiting.append(token)
        return token

    def expect(self, kind: Kind, where: str) -> Token:
        token = self.next_solid()
        if token.kind is not kind:
            raise self.unexpected(token, where)
        return token

    def error(self, position: int, message: str) -> RuleError:
        return template_error(self.text, position, message, TODO)

    def unexpected(self, token: Token, where: str) -> RuleError:
        return self.error(token.position, f"{shown(token.text)} may not stand in {where}")

    def descend(self, position: int) -> None:
        self.depth += 1
        self.scope.deepest.append(max(self.depth, self.scope.deepest.pop()))
        if self.depth > MAX_NESTING:
            raise self.error(position, f"nested deeper than {MAX_NESTING} levels")

    # Blocks.

    def tree(self) -> nodes.Tree:
        block: list[nodes.Node] = []
        while (token := self.next()).kind is not Kind.END:
            if token.kind is Kind.LEFT and self.is_keyword("define"):
                self.define()
            elif token.kind is Kind.LEFT and self.peek_solid().text in _END_OF_BLOCK:
                raise self.unexpected(self.peek_solid(), "the template itself: nothing is open here")
            else:
                block.append(self.node(token))
        return nodes.Tree(self.text, nodes.Definition(tuple(block), self.scope.deepest[-1]), self.definitions)

    def is_keyword(self, word: str) -> bool:
        token = self.peek_solid()
        return token.kind is Kind.KEYWORD and token.text == word

    def block(self, start: int) -> tuple[nodes.Block, str]:
        """The nodes up to ``end`` or ``else``, and which of the two; ``end`` is read as a whole."""
        found: list[nodes.Node] = []
        while (token := self.next()).kind is not Kind.END:
            if token.kind is Kind.LEFT and self.peek_solid().kind is Kind.KEYWORD:
                word = self.peek_solid().text
                if word in _END_OF_BLOCK:
                    self.next_solid()
                    if word == "end":
                        self.expect(Kind.RIGHT, "{{end}}")
                    return tuple(found), word
            found.append(self.node(token))
        raise self.error(start, "{{end}} is missing for this")

    def node(self, token: Token) -> nodes.Node:
        if token.kind is Kind.TEXT:
            return nodes.Text(token.position, token.text)
        first = self.peek_solid()
        if first.kind is not Kind.KEYWORD:
            return nodes.Action(first.position, self.pipe("an action", Kind.RIGHT))
        self.next_solid()
        match first.text:
            case "if" | "with":
                return self.choice(first)
            case "range":
                return self.range(first)
            case "template" | "block":
                return self.include(first)
            case "break" | "continue":
                return self.jump(first)
        raise self.unexpected(first, "this place")

    def choice(self, first: Token) -> nodes.Choice:
        mark = len(self.scope.variables)
        branches = []
        while True:
            self.descend(first.position)
            pipe = self.pipe(first.text, Kind.RIGHT)
            block, end = self.block(first.position)
            self.depth -= 1
            branches.append((pipe, block))
            if end == "end" or not self.is_keyword(first.text):
                break
            self.next_solid()
        otherwise = self.otherwise(first) if end == "else" else ()
        del self.scope.variables[mark:]
        return nodes.Choice(first.position, first.text == "with", tuple(branches), otherwise)

    def otherwise(self, first: Token) -> nodes.Block:
        self.expect(Kind.RIGHT, "{{else}}")
        self.descend(first.position)
        block, end = self.block(first.position)
        self.depth -= 1
        if end != "end":
            raise self.error(first.position, "a second {{else}} for this")
        return block

    def range(self, first: Token) -> nodes.Range:
        mark = len(self.scope.variables)
        self.descend(first.position)
        pipe = self.pipe("range", Kind.RIGHT)
        self.scope.ranges.append(first.position)
        block, end = self.block(first.position)
        self.scope.ranges.pop()
        self.depth -= 1
        otherwise = self.otherwise(first) if end == "else" else ()
        del self.scope.variables[mark:]
        return nodes.Range(first.position, pipe, block, otherwise)

    def jump(self, first: Token) -> nodes.Jump:
        self.expect(Kind.RIGHT, f"{{{{{first.text}}}}}")
        if not self.scope.ranges:
            raise self.error(first.position, f"{{{{{first.text}}}}} outside of {{{{range}}}}")
        return nodes.Jump(first.position, first.text == "break")

    def define(self) -> None:
        first = self.next_solid()
        name = self.name(first)
        self.expect(Kind.RIGHT, "{{define}}")
        self.definition(first, name)

    def include(self, first: Token) -> nodes.Include:
        name = self.name(first)
        if first.text == "template" and self.peek_solid().kind is Kind.RIGHT:
            self.next_solid()
            return nodes.Include(first.position, name, None)
        pipe = self.pipe(first.text, Kind.RIGHT)
        if first.text == "block":
            self.definition(first, name)
        return nodes.Include(first.position, name, pipe)

    def name(self, first: Token) -> str:
        return self.unquote(self.expect(Kind.TEXT_LITERAL, f"{{{{{first.text}}}}}, where a name in quotes is wanted"))

    def definition(self, first: Token, name: str) -> None:
        outer, self.scope = self.scope, _Scope(["$"], [], [self.depth])
        outer_depth = self.depth
        self.descend(first.position)
        block, end = self.block(first.position)
        if end != "end":
            raise self.error(first.position, f"{{{{else}}}} in {{{{{first.text}}}}}")
        defined = nodes.Definition(block, self.scope.deepest[-1] - outer_depth)
        self.scope, self.depth = outer, outer_depth
        before = self.definitions.get(name)
        if before is not None and not _is_empty(before.block):
            if not _is_empty(block):
                raise self.error(first.position, f"template {shown(name)} is defined twice")
        else:
            self.definitions[name] = defined

    # Pipes.

    def pipe(self, where: str, end: Kind) -> nodes.Pipe:
        position = self.peek_solid().position
        variables, assigns = self.declarations(where)
        commands: list[nodes.Command] = []
        while (token := self.next_solid()).kind is not end:
            if token.kind not in _OPERANDS:
                raise self.unexpected(token, where)
            self.waiting.append(token)
            commands.append(self.command())
        if not commands:
            raise self.error(token.position, f"{where} needs a value")
        for command in commands[1:]:
            if isinstance(command.operands[0], _VALUES):
                raise self.error(command.position, "behind | stands a function, and this is a value")
        return nodes.Pipe(position, variables, assigns, tuple(commands))

    def declarations(self, where: str) -> tuple[tuple[str, ...], bool]:
        """The variables before ``:=`` or ``=``; ``range`` takes two."""
        found: list[str] = []
        while self.peek_solid().kind is Kind.VARIABLE:
            variable = self.next()
            behind = self.peek()
            sign = self.peek_solid()
            if sign.kind in (Kind.ASSIGN, Kind.DECLARE):
                self.next_solid()
                self.declare(found, variable)
                return tuple(found), sign.kind is Kind.ASSIGN
            if sign.text != ",":
                if behind.kind is Kind.SPACE:
                    self.waiting.append(behind)
                self.waiting.append(variable)
                break
            self.next_solid()
            self.declare(found, variable)
            if where != "range" or len(found) > 1:
                raise self.error(variable.position, f"too many variables for {where}")
            if self.peek_solid().kind not in (Kind.VARIABLE, Kind.RIGHT, Kind.CLOSE):
                raise self.error(variable.position, "range can only set variables")
        return tuple(found), False

    def declare(self, found: list[str], variable: Token) -> None:
        found.append(variable.text)
        self.scope.variables.append(variable.text)

    def command(self) -> nodes.Command:
        position = self.peek_solid().position
        operands: list[nodes.Operand] = []
        while True:
            self.peek_solid()
            operand = self.operand()
            if operand is not None:
                operands.append(operand)
            token = self.next()
            if token.kind is Kind.SPACE:
                continue
            if token.kind in (Kind.RIGHT, Kind.CLOSE):
                self.waiting.append(token)
            elif token.kind is not Kind.PIPE:
                raise self.error(token.position, f"{shown(token.text)} may not stand here; perhaps a space is missing")
            break
        if not operands:
            raise self.error(position, "nothing stands before |")
        return nodes.Command(position, tuple(operands))

    def operand(self) -> nodes.Operand | None:
        operand = self.term()
        if operand is None or self.peek().kind is not Kind.FIELD:
            return operand
        names = []
        while self.peek().kind is Kind.FIELD:
            names.append(self.next().text[1:])
        if isinstance(operand, nodes.Field):
            return nodes.Field(operand.position, (*operand.names, *names))
        if isinstance(operand, nodes.Variable):
            return nodes.Variable(operand.position, operand.name, (*operand.names, *names))
        if isinstance(operand, _VALUES):
            raise self.error(operand.position, "no field can be taken from a value")
        return nodes.Chain(operand.position, operand, tuple(names))

    def term(self) -> nodes.Operand | None:
        token = self.next_solid()
        position, text = token.position, token.text
        match token.kind:
            case Kind.IDENTIFIER:
                return self.function(token)
            case Kind.DOT | Kind.NIL:
                return nodes.Dot(position) if token.kind is Kind.DOT else nodes.Nil(position)
            case Kind.VARIABLE:
                return self.variable(token)
            case Kind.FIELD:
                return nodes.Field(position, (text[1:],))
            case Kind.BOOL:
                return nodes.Literal(position, text == "true")
            case Kind.NUMBER:
                return self.numeral(token)
            case Kind.TEXT_LITERAL:
                return nodes.Literal(position, self.unquote(token))
            case Kind.OPEN:
                self.descend(position)
                pipe = self.pipe("parentheses", Kind.CLOSE)
                self.depth -= 1
                return pipe
        self.waiting.append(token)
        return None

    def variable(self, token: Token) -> nodes.Variable:
        if token.text not in self.scope.variables:
            raise self.error(token.position, f"variable {shown(token.text)} is not declared before this")
        return nodes.Variable(token.position, token.text, ())

    def function(self, token: Token) -> nodes.Identifier:
        if token.text not in self.known:
            why = self.refused(token.text)
            if why is not None:
                raise self.error(token.position, f"function {token.text} is refused: {why}")
            raise self.error(token.position, f"there is no function {shown(token.text)}")
        return nodes.Identifier(token.position, token.text)

    def numeral(self, token: Token) -> nodes.Numeral:
        try:
            return nodes.Numeral(token.position, parse_number(token.text))
        except LiteralError as error:
            raise self.error(token.position, str(error)) from error

    def unquote(self, token: Token) -> str:
        try:
            return unquote(token.text)
        except LiteralError as error:
            raise self.error(token.position, str(error)) from error


def _is_empty(block: nodes.Block) -> bool:
    """Whether a definition holds nothing but spaces: then another one may take its place."""
    return all(isinstance(node, nodes.Text) and not node.text.strip() for node in block)
