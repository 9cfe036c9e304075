"""The order in which objects of rules run: by name as in NFD, but after those whose names they ask for.

A rule asks for names in ``rule.matched``. In NFD an object sees only what objects with a smaller name gave, so that a rule
works or not by how its object is called. Here an object runs after those that give the names it asks for (case R15), and
apart from that by name. Within an object the order of the list is the contract: a name that an earlier rule of the same
object gives makes no object wait for another.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from nodeworthy.errors import RuleError
from nodeworthy.rules import MATCHED_SET, Expression, Rule, Term, UnreadableRule
from nodeworthy.rules.operators import CompiledExpression, compile_expression

_Edges = list[set[int]]


class Order(NamedTuple):
    """Objects by their places in the list that was given."""

    places: tuple[int, ...]
    """In the order in which they run."""
    cycles: tuple[tuple[int, ...], ...]
    """Objects that wait for each other: these run in the order given."""


def order_objects(objects: Sequence[Sequence[Rule | UnreadableRule]]) -> Order:
    """The order in which objects run that stand in the order of their names."""
    given = _Given(objects)
    waits = [_waits(place, rules, given) for place, rules in enumerate(objects)]
    if not any(waits):
        return Order(tuple(range(len(objects))), ())
    parts = _strong_parts(waits)
    part_of = {place: number for number, part in enumerate(parts) for place in part}
    between = [{part_of[other] for place in part for other in waits[place]} - {n} for n, part in enumerate(parts)]
    places = [place for number in _first_first(between, [part[0] for part in parts]) for place in parts[number]]
    return Order(tuple(places), tuple(tuple(part) for part in parts if len(part) > 1))


class _Given:
    """Which objects may give which names."""

    def __init__(self, objects: Iterable[Iterable[Rule | UnreadableRule]]) -> None:
        self.names: dict[str, set[int]] = {}
        self.by_templates: set[int] = set()
        for place, rules in enumerate(objects):
            for rule in rules:
                if isinstance(rule, Rule):
                    self.add(place, rule)

    def add(self, place: int, rule: Rule) -> None:
        for name in (*rule.labels, *rule.vars):
            self.names.setdefault(name, set()).add(place)
        if rule.has_templates:
            self.by_templates.add(place)

    def of_name(self, name: str) -> set[int]:
        """Those that name it; only where nobody does, those whose templates may give it."""
        return self.names.get(name) or self.by_templates

    def of_matching(self, expression: Expression) -> set[int]:
        """Those that give a name of which the expression holds."""
        holds = compile_expression(expression)
        return set().union(*(places for name, places in self.names.items() if _holds(holds, name)))


def _waits(place: int, rules: Iterable[Rule | UnreadableRule], given: _Given) -> set[int]:
    """The other objects that an object waits for."""
    found: set[int] = set()
    own: set[str] = set()
    for rule in rules:
        if isinstance(rule, UnreadableRule):
            continue
        for term in _matched_terms(rule):
            for name in (term.expressions or {}).keys() - own:
                found |= given.of_name(name)
            if term.name is not None:
                found |= given.of_matching(term.name)
        own.update(rule.labels, rule.vars)
    return found - {place}


def _matched_terms(rule: Rule) -> Iterator[Term]:
    for terms in (*rule.match_any, rule.match_features):
        yield from (term for term in terms if term.feature.lower() == MATCHED_SET)


def _holds(expression: CompiledExpression, name: str) -> bool:
    try:
        return expression.test(name)
    except RuleError:
        return False


def _strong_parts(waits: _Edges) -> list[list[int]]:
    """Objects that wait for each other, directly or through others, in one part each (Tarjan, without recursion)."""
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    open_places: list[int] = []
    is_open: set[int] = set()
    parts: list[list[int]] = []
    for root in range(len(waits)):
        path = [] if root in number else [(root, iter(sorted(waits[root])))]
        while path:
            place, others = path[-1]
            if place not in number:
                number[place] = low[place] = len(number)
                open_places.append(place)
                is_open.add(place)
            other = next(others, None)
            if other is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[place])
                if low[place] == number[place]:
                    first = open_places.index(place)
                    part = open_places[first:]
                    del open_places[first:]
                    is_open.difference_update(part)
                    parts.append(sorted(part))
            elif other not in number:
                path.append((other, iter(sorted(waits[other]))))
            elif other in is_open:
                low[place] = min(low[place], number[other])
    return parts


def _first_first(waits: _Edges, keys: Sequence[int]) -> Iterator[int]:
    """Every number after those that it waits for; of those that may come next, the one with the smallest key."""
    wanted: dict[int, list[int]] = {number: [] for number in range(len(waits))}
    for number, others in enumerate(waits):
        for other in others:
            wanted[other].append(number)
    left = [len(others) for others in waits]
    ready = [(keys[number], number) for number, count in enumerate(left) if not count]
    heapq.heapify(ready)
    while ready:
        _, number = heapq.heappop(ready)
        yield number
        for waiting in wanted[number]:
            left[waiting] -= 1
            if not left[waiting]:
                heapq.heappush(ready, (keys[waiting], waiting))
