"""A chain of rules and what can be said of it before any facts are there."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from nodeworthy.fleet.vectors import Panel, make_panel
from nodeworthy.rules import MATCHED_SET, CompiledRule, UnreadableRule

AnyRule: TypeAlias = CompiledRule | UnreadableRule


class Chain(NamedTuple):
    """A list of rules, with all that can be said of it without facts; make it once and evaluate it often."""

    rules: tuple[AnyRule, ...]
    panel: Panel
    dynamic: frozenset[str]
    """Sets in which ``@`` values are looked up after the rules."""
    givers: tuple[tuple[int, ...], ...]
    """By rule: the places of the rules before it that may give a name of ``rule.matched`` that it reads."""


def make_chain(compiled: Sequence[AnyRule]) -> Chain:
    """The chain of these rules, in this order."""
    readable = [rule for rule in compiled if isinstance(rule, CompiledRule)]
    dynamic = frozenset(name for rule in readable for name in _dynamic_sets(rule))
    whole = {name for rule in readable if rule.source.has_templates for name in rule.sets} | dynamic
    terms = [term for rule in readable for term in rule.terms()]
    if MATCHED_SET in dynamic or any(map(reads_matched, readable)):
        whole.add(MATCHED_SET)
    givers = tuple(_givers(place, compiled) for place in range(len(compiled)))
    return Chain(tuple(compiled), make_panel(terms, whole), dynamic, givers)


def reads_matched(rule: CompiledRule) -> bool:
    """Whether a rule reads what the rules before it gave."""
    return any(term.set_name == MATCHED_SET for term in rule.terms())


def needs_more(rule: CompiledRule) -> bool:
    """Whether the answers of a rule's terms do not tell what it gives: it has templates, or reads what rules gave."""
    return rule.source.has_templates or reads_matched(rule)


def _dynamic_sets(rule: CompiledRule) -> Iterator[str]:
    for value in (*rule.source.labels.values(), *rule.source.extended_resources.values()):
        if value.startswith("@") and value.count(".") >= 2:  # noqa: PLR2004 # domain, feature and element
            yield ".".join(value[1:].split(".")[:2])


def _givers(place: int, compiled: Sequence[AnyRule]) -> tuple[int, ...]:
    rule = compiled[place]
    if isinstance(rule, UnreadableRule) or not reads_matched(rule):
        return ()
    names = rule.matched_names
    return tuple(earlier for earlier in range(place) if _may_give(compiled[earlier], names))


def _may_give(rule: AnyRule, names: frozenset[str] | None) -> bool:
    """Whether a rule may give, or leave in doubt, one of these names; ``None``: any name."""
    if isinstance(rule, UnreadableRule) or rule.source.has_templates or names is None:
        return True
    return not names.isdisjoint((*rule.source.labels, *rule.source.vars))
