"""Reading the tables of ``inspection/data``."""

from functools import cache
from importlib.resources import files
from typing import TypeVar

import msgspec

_Row = TypeVar("_Row")


@cache
def read_table(name: str, row: type[_Row]) -> tuple[_Row, ...]:
    """The rows of one table, as ``distributions``; they never change while the program runs."""
    data = files("nodeworthy_resolver.inspection.data").joinpath(f"{name}.json").read_bytes()
    return msgspec.json.decode(data, type=tuple[row, ...])  # type: ignore[valid-type] # the type is the argument
