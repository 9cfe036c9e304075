"""All rules of a cluster or a folder, in the order in which they run, ready for many nodes."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from nodeworthy.errors import Problem
from nodeworthy.labels.ordering import order_objects
from nodeworthy.labels.origins import Claims, Giver, GiverKind
from nodeworthy.rules import CompiledRule, Rule, UnreadableRule, compile_rule
from nodeworthy.rules.prefixes import add_default_prefix

MAX_NAME = 253
"""How much of the name of an object or rule tells givers apart; it is Kubernetes' limit for names of objects."""

_MAX_SHOWN = 5
"""How many objects of a circle a notice names."""


class RuleObject(msgspec.Struct, frozen=True):
    """One document of rules: an object of the cluster, or a file."""

    name: str
    """The object's name, which orders it among the others; empty where a document could not even tell that."""
    rules: tuple[Rule | UnreadableRule, ...] = ()
    source: str = ""
    """Where it was read from, for people."""
    unreadable: str = ""
    """Why nothing of it could be read: it may then hold any rule."""
    auto_prefix: bool = True
    """Whether its short names get the default prefix, where the installation adds it at all."""


class ChainedRule(msgspec.Struct, frozen=True):
    """One rule in its place."""

    giver: Giver
    rule: CompiledRule | UnreadableRule
    sets: tuple[str, ...]
    """Sorted: every set that its outputs hang on, also through what earlier rules gave to ``rule.matched``."""
    claims: Claims
    """What it may give."""
    place: int = 0
    """In NFD's order, by the names of objects, in which the later rule wins whatever the order in which they run."""
    auto_prefix: bool = True
    """Whether its short names get the default prefix."""

    def full_names(self, names: Mapping[str, str]) -> Mapping[str, str]:
        """What a rule gives under the names that reach the node."""
        return add_default_prefix(names) if self.auto_prefix else names


class RuleChain(msgspec.Struct, frozen=True):
    """Rules in the order in which they run; see :func:`compile_chain`."""

    rules: tuple[ChainedRule, ...] = ()
    notices: tuple[Problem, ...] = ()
    """Objects that wait for each other, and so run in the order of their names."""

    @property
    def givers(self) -> frozenset[Giver]:
        """Every rule that there is, also those that cannot be evaluated."""
        return frozenset(link.giver for link in self.rules)

    @property
    def compiled(self) -> tuple[CompiledRule | UnreadableRule, ...]:
        """The rules as they are evaluated."""
        return tuple(link.rule for link in self.rules)


def compile_chain(objects: Iterable[RuleObject], *, auto_prefix: bool = True) -> RuleChain:
    """The rules of all objects, each after those whose names it asks for in ``rule.matched``, and apart from that by name.

    Objects stand in the order of the bytes of their names, rules in that of their list, as in NFD; what differs is said in
    :mod:`nodeworthy.labels.ordering`. What of an object could not be read stands in its place and may give anything; where
    not even its name is known it stands before all others, so that no rule is sure of what ``rule.matched`` holds.
    """
    named = sorted(objects, key=lambda item: (item.name.encode(errors="surrogatepass"), item.source))
    order = order_objects([item.rules for item in named])
    rules = _link_all(named, order.places, auto_prefix=auto_prefix)
    return RuleChain(rules, tuple(_cycle_notices(named, order.cycles)))


def link_objects(objects: Sequence[RuleObject], *, auto_prefix: bool = True) -> RuleChain:
    """As :func:`compile_chain`, with the objects in the order in which they are given."""
    return RuleChain(_link_all(objects, range(len(objects)), auto_prefix=auto_prefix))


def _link_all(objects: Sequence[RuleObject], places: Iterable[int], *, auto_prefix: bool) -> tuple[ChainedRule, ...]:
    """The rules of objects that stand in NFD's order, in the order of ``places``."""
    before = list(itertools.accumulate((_count(item) for item in objects), initial=0))
    given = _GivenNames()
    return tuple(
        link for place in places for link in _link_object(objects[place], before[place], given, auto_prefix=auto_prefix)
    )


def _count(item: RuleObject) -> int:
    return len(item.rules) + bool(item.unreadable)


def _link_object(item: RuleObject, first: int, given: "_GivenNames", *, auto_prefix: bool) -> Iterator[ChainedRule]:
    name = item.name[:MAX_NAME]
    if item.unreadable:
        problem = Problem(item.source, 0, item.source, item.unreadable)
        giver = Giver(GiverKind.UNREAD, name, item.source)
        yield ChainedRule(giver, UnreadableRule(item.source, (problem,)), (), Claims(anything=True), first)
        first += 1
    for place, rule in enumerate(item.rules, first):
        yield _link(name, rule, given, place, auto_prefix=auto_prefix and item.auto_prefix)


def _link(
    name: str, source: Rule | UnreadableRule, given: "_GivenNames", place: int, *, auto_prefix: bool
) -> ChainedRule:
    giver = Giver(GiverKind.RULE, name, source.name[:MAX_NAME])
    if isinstance(source, UnreadableRule):
        return ChainedRule(giver, source, (), Claims(anything=True), place, auto_prefix)
    rule = compile_rule(source)
    sets = rule.sets | given.sets_of(rule.matched_names)
    given.add(source, sets)
    return ChainedRule(giver, rule, tuple(sorted(sets)), _claims(source, auto_prefix=auto_prefix), place, auto_prefix)


def _claims(rule: Rule, *, auto_prefix: bool) -> Claims:
    def full(names: Mapping[str, str]) -> Mapping[str, str]:
        return add_default_prefix(names) if auto_prefix else names

    values = {key: None if value.startswith("@") else value for key, value in full(rule.labels).items()}
    return Claims(
        values,
        anything=bool(rule.labels_template),
        annotations=frozenset(full(rule.annotations)),
        extended_resources=frozenset(full(rule.extended_resources)),
        taints=frozenset(taint.key for taint in rule.taints),
    )


def _cycle_notices(objects: Sequence[RuleObject], cycles: Iterable[tuple[int, ...]]) -> Iterator[Problem]:
    for cycle in cycles:
        names = ", ".join(objects[place].name[:80] for place in cycle[:_MAX_SHOWN])
        more = f" and {len(cycle) - _MAX_SHOWN} more" if len(cycle) > _MAX_SHOWN else ""
        message = f"the objects {names}{more} ask for each other's names, so they run in the order of their names"
        for place in cycle:
            yield Problem(objects[place].source, 0, objects[place].name, message, "put such rules into one object")


class _GivenNames:
    """Which sets the names of ``rule.matched`` hang on so far."""

    def __init__(self) -> None:
        self._sets: dict[str, frozenset[str]] = {}
        self._of_templates: frozenset[str] = frozenset()
        self._of_all: frozenset[str] = frozenset()

    def sets_of(self, names: frozenset[str] | None) -> frozenset[str]:
        if names is None:
            return self._of_all
        if not names:
            return frozenset()
        return self._of_templates.union(*(self._sets.get(name, frozenset()) for name in names))

    def add(self, rule: Rule, sets: frozenset[str]) -> None:
        self._of_all |= sets
        if rule.has_templates:
            self._of_templates |= sets
        for name in (*rule.labels, *rule.vars):
            self._sets[name] = self._sets.get(name, frozenset()) | sets
