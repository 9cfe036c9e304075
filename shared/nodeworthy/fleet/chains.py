"""A chain of rules and what can be said of it before any facts are there."""

import hashlib
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
    givers: tuple[Sequence[int], ...]
    """By rule: the places of the rules before it that may give a name of ``rule.matched`` that it reads; a ``range`` where
    it may read all names, and so hangs on all of them."""
    keys: tuple[bytes, ...]
    """By rule: the digest of its source; rules that are written alike give alike."""


def make_chain(compiled: Sequence[AnyRule]) -> Chain:
    """The chain of these rules, in this order."""
    readable = [rule for rule in compiled if isinstance(rule, CompiledRule)]
    dynamic = frozenset(name for rule in readable for name in _dynamic_sets(rule))
    whole = {name for rule in readable if rule.source.has_templates for name in rule.sets} | dynamic
    terms = [term for rule in readable for term in rule.terms()]
    if MATCHED_SET in dynamic or any(map(reads_matched, readable)):
        whole.add(MATCHED_SET)
    keys = tuple(map(_key, compiled))
    return Chain(tuple(compiled), make_panel(terms, whole), dynamic, tuple(_givers(compiled)), keys)


def reads_matched(rule: CompiledRule) -> bool:
    """Whether a rule reads what the rules before it gave."""
    return any(term.set_name == MATCHED_SET for term in rule.terms())


def needs_more(rule: CompiledRule) -> bool:
    """Whether the answers of a rule's terms do not tell what it gives: it has templates, or reads what rules gave."""
    return rule.source.has_templates or reads_matched(rule)


def _key(rule: AnyRule) -> bytes:
    return hashlib.sha256(repr(rule if isinstance(rule, UnreadableRule) else rule.source).encode()).digest()


def _dynamic_sets(rule: CompiledRule) -> Iterator[str]:
    for value in (*rule.source.labels.values(), *rule.source.extended_resources.values()):
        if value.startswith("@") and value.count(".") >= 2:  # noqa: PLR2004 # domain, feature and element
            yield ".".join(value[1:].split(".")[:2])


def _givers(compiled: Sequence[AnyRule]) -> Iterator[Sequence[int]]:
    of_anything: tuple[int, ...] = ()
    of_name: dict[str, list[int]] = {}
    for place, rule in enumerate(compiled):
        if isinstance(rule, UnreadableRule):
            yield ()
            of_anything += (place,)
            continue
        names = rule.matched_names if reads_matched(rule) else frozenset()
        if names is None:
            yield range(place)
        else:
            named = {earlier for name in names for earlier in of_name.get(name, ())}
            yield tuple(sorted(named.union(of_anything))) if names else ()
        if rule.source.has_templates:
            of_anything += (place,)
        for name in (*rule.source.labels, *rule.source.vars):
            of_name.setdefault(name, []).append(place)
