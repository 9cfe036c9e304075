"""The tree of a template. Positions are offsets in its text, for messages."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from nodeworthy.rules.templating.literals import Number


@dataclass(frozen=True, slots=True)
class Dot:
    """``.``: the current value."""

    position: int


@dataclass(frozen=True, slots=True)
class Nil:
    """``nil``."""

    position: int


@dataclass(frozen=True, slots=True)
class Literal:
    """A text or a boolean."""

    position: int
    value: str | bool


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number or character."""

    position: int
    number: Number


@dataclass(frozen=True, slots=True)
class Field:
    """``.a.b``: names looked up in the current value."""

    position: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """``$x.a.b``: names looked up in a variable."""

    position: int
    name: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """``(…).a.b``: names looked up in what something gives."""

    position: int
    operand: "Operand"
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Identifier:
    """The name of a function."""

    position: int
    name: str


@dataclass(frozen=True, slots=True)
class Command:
    """``f a b``: a function with arguments, or one value."""

    position: int
    operands: tuple["Operand", ...]


@dataclass(frozen=True, slots=True)
class Pipe:
    """``$x := a | f``: commands, each the last argument of the next; the result goes to the variables."""

    position: int
    variables: tuple[str, ...]
    assigns: bool
    """``=`` instead of ``:=``."""
    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """What stands between actions."""

    position: int
    text: str


@dataclass(frozen=True, slots=True)
class Action:
    """``{{…}}``: prints what the pipe gives, unless it declares."""

    position: int
    pipe: Pipe


@dataclass(frozen=True, slots=True)
class Choice:
    """``if`` or ``with`` and its ``else`` branches; the first branch whose pipe gives something true is taken."""

    position: int
    sets_dot: bool
    """``with``."""
    branches: tuple[tuple[Pipe, "Block"], ...]
    otherwise: "Block"


@dataclass(frozen=True, slots=True)
class Range:
    """``range``: the block for each entry, or the other one if there is none."""

    position: int
    pipe: Pipe
    block: "Block"
    otherwise: "Block"


@dataclass(frozen=True, slots=True)
class Include:
    """``template``: runs a defined template."""

    position: int
    name: str
    pipe: Pipe | None


@dataclass(frozen=True, slots=True)
class Jump:
    """``break`` or ``continue``."""

    position: int
    leaves: bool
    """``break``."""


Operand: TypeAlias = Dot | Nil | Literal | Numeral | Field | Variable | Chain | Identifier | Pipe
Node: TypeAlias = Text | Action | Choice | Range | Include | Jump
Block: TypeAlias = tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """A block with a name, and how deep it nests."""

    block: Block
    depth: int


@dataclass(frozen=True, slots=True)
class Tree:
    """A whole template."""

    text: str
    main: Definition
    definitions: Mapping[str, Definition]
