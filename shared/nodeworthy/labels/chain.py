"""All rules of a cluster or a folder, in the order in which NFD evaluates them, ready for many nodes."""

from collections.abc import Iterable, Mapping

import msgspec

from nodeworthy.errors import Problem
from nodeworthy.labels.origins import Claims, Giver, GiverKind
from nodeworthy.rules import CompiledRule, Rule, UnreadableRule, compile_rule
from nodeworthy.rules.prefixes import add_default_prefix

MAX_NAME = 253
"""How much of the name of an object or rule tells givers apart; it is Kubernetes' limit for names of objects."""


class RuleObject(msgspec.Struct, frozen=True):
    """One document of rules: an object of the cluster, or a file."""

    name: str
    """The object's name, which orders it among the others; empty where a document could not even tell that."""
    rules: tuple[Rule | UnreadableRule, ...] = ()
    source: str = ""
    """Where it was read from, for people."""
    unreadable: str = ""
    """Why nothing of it could be read: it may then hold any rule."""


class ChainedRule(msgspec.Struct, frozen=True):
    """One rule in its place."""

    giver: Giver
    rule: CompiledRule | UnreadableRule
    sets: tuple[str, ...]
    """Sorted: every set that its outputs hang on, also through what earlier rules gave to ``rule.matched``."""
    claims: Claims
    """The labels that it may give."""


class RuleChain(msgspec.Struct, frozen=True):
    """Rules in order; see :func:`compile_chain`."""

    rules: tuple[ChainedRule, ...] = ()

    @property
    def givers(self) -> frozenset[Giver]:
        """Every rule that there is, also those that cannot be evaluated."""
        return frozenset(link.giver for link in self.rules)

    @property
    def compiled(self) -> tuple[CompiledRule | UnreadableRule, ...]:
        """The rules as they are evaluated."""
        return tuple(link.rule for link in self.rules)


def compile_chain(objects: Iterable[RuleObject], *, auto_prefix: bool = True) -> RuleChain:
    """The rules of all objects: objects by name in the order of its bytes, within one in the order of its list, as in NFD.

    What of an object could not be read stands in its place and may give anything; where not even its name is known it
    stands before all others, so that no rule is sure of what ``rule.matched`` holds.
    """
    links: list[ChainedRule] = []
    given = _GivenNames()
    for item in sorted(objects, key=lambda item: (item.name.encode(errors="surrogatepass"), item.source)):
        if item.unreadable:
            problem = Problem(item.source, 0, item.source, item.unreadable)
            giver = Giver(GiverKind.UNREAD, item.name[:MAX_NAME], item.source)
            links.append(ChainedRule(giver, UnreadableRule(item.source, (problem,)), (), Claims(anything=True)))
        links += [_link(item.name[:MAX_NAME], rule, given, auto_prefix=auto_prefix) for rule in item.rules]
    return RuleChain(tuple(links))


def _link(name: str, source: Rule | UnreadableRule, given: "_GivenNames", *, auto_prefix: bool) -> ChainedRule:
    giver = Giver(GiverKind.RULE, name, source.name[:MAX_NAME])
    if isinstance(source, UnreadableRule):
        return ChainedRule(giver, source, (), Claims(anything=True))
    rule = compile_rule(source)
    sets = rule.sets | given.sets_of(rule.matched_names)
    given.add(source, sets)
    return ChainedRule(giver, rule, tuple(sorted(sets)), _claims(source, auto_prefix=auto_prefix))


def _claims(rule: Rule, *, auto_prefix: bool) -> Claims:
    labels: Mapping[str, str] = add_default_prefix(rule.labels) if auto_prefix else rule.labels
    values = {key: None if value.startswith("@") else value for key, value in labels.items()}
    return Claims(values, anything=bool(rule.labels_template))


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
