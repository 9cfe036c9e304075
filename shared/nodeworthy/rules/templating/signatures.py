"""What a function of templates takes, as its Python signature says it.

``str``, ``int``, ``bool``, ``float``, ``AnyDict`` and ``Moment`` stand for the Go types of those names, ``object`` for
anything. A first parameter ``budget`` is not the template's business: the evaluator gives it.
"""

import inspect
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

Function: TypeAlias = Callable[..., object]


class Signature(NamedTuple):
    """The parameters of a function, as types."""

    fixed: tuple[type, ...]
    rest: type | None
    """The type of any further arguments; ``None`` if there may be none."""
    wants_budget: bool

    def parameter(self, place: int) -> type:
        """The type of the argument at a place."""
        if place < len(self.fixed):
            return self.fixed[place]
        assert self.rest is not None
        return self.rest

    def arity_problem(self, count: int) -> str | None:
        """What is wrong with a number of arguments."""
        if count < len(self.fixed) or (self.rest is None and count > len(self.fixed)):
            least = "at least " if self.rest is not None else ""
            return f"needs {least}{len(self.fixed)} {'argument' if len(self.fixed) == 1 else 'arguments'}, not {count}"
        return None


def signature_of(function: Function) -> Signature:
    """The signature of a function of templates; all of its parameters have annotations that are types."""
    parameters = list(inspect.signature(function).parameters.values())
    wants_budget = bool(parameters) and parameters[0].name == "budget"
    own = parameters[1:] if wants_budget else parameters
    fixed = tuple(one.annotation for one in own if one.kind is not inspect.Parameter.VAR_POSITIONAL)
    rest = [one.annotation for one in own if one.kind is inspect.Parameter.VAR_POSITIONAL]
    return Signature(fixed, rest[0] if rest else None, wants_budget)
