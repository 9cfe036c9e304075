"""What is surely executed when an image starts: from the entry points of its programs on, from library to library."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from nodeworthy_resolver.inspection.closure.records import Loaded, Role
from nodeworthy_resolver.inspection.instructions.code import Code
from nodeworthy_resolver.inspection.instructions.steps import Step
from nodeworthy_resolver.inspection.instructions.surely import IMPORT, Walk

_MAX_CALLS = 2000
"""Functions of libraries that are followed for one image."""


class Use(NamedTuple):
    """Where a feature is used first."""

    function: int
    step: Step


def entry_points(code: Code, role: Role) -> tuple[int, ...]:
    """The addresses at which a file surely begins to run: its initializers, and what a program starts with."""
    own = (code.elf.entry, code.main(), code.main_of_rust()) if role in {Role.PROGRAM, Role.INTERPRETER} else ()
    return tuple(dict.fromkeys(one for one in (*own, *code.initializers) if one))


def surely_used(walks: Mapping[str, tuple[Code, Walk]], loaded: Iterable[Loaded]) -> dict[str, dict[str, Use]]:
    """By file, the features that are used on every way that the start can take.

    A function that a program surely calls is looked for in its libraries; one that several of them have is not followed.
    """
    left = [
        (one.path, address)
        for one in loaded
        if one.path in walks
        for address in entry_points(walks[one.path][0], one.role)
    ]
    exporters = _exporters(walks)
    seen: set[tuple[str, int]] = set()
    found: dict[str, dict[str, Use]] = {}
    while left and len(seen) < _MAX_CALLS:
        path, address = left.pop()
        if (path, address) in seen:
            continue
        seen.add((path, address))
        walk = walks[path][1]
        for one in walk.summary(address).always:
            if one.startswith(IMPORT):
                left.extend(_only(exporters.get(one.removeprefix(IMPORT), [])))
            elif one not in found.get(path, {}) and (use := walk.find(one, address)):
                found.setdefault(path, {})[one] = Use(*use)
    return found


def _exporters(walks: Mapping[str, tuple[Code, Walk]]) -> dict[str, list[tuple[str, int]]]:
    found: dict[str, list[tuple[str, int]]] = {}
    for path, (code, _) in walks.items():
        for name, address in code.exports.items():
            found.setdefault(name, []).append((path, address))
    return found


def _only(places: list[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    if len(places) == 1:
        yield places[0]
