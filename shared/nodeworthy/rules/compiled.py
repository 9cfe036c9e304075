"""Rules, compiled: terms in order, and which facts they read."""

from collections.abc import Iterable

import msgspec

from nodeworthy.rules.matching import CompiledTerm, compile_term
from nodeworthy.rules.records import Rule
from nodeworthy.rules.templates import Template

MATCHED_SET = "rule.matched"
"""The set in which a rule sees the labels and variables of the rules before it."""


class CompiledRule(msgspec.Struct, frozen=True):
    """One rule, ready to be evaluated on many nodes."""

    source: Rule
    match_features: tuple[CompiledTerm, ...]
    match_any: tuple[tuple[CompiledTerm, ...], ...]
    labels_template: Template | None = None
    vars_template: Template | None = None

    def terms(self) -> Iterable[CompiledTerm]:
        """Every term, in the order in which they may be evaluated."""
        for element in self.match_any:
            yield from element
        yield from self.match_features

    @property
    def sets(self) -> frozenset[str]:
        """Every set whose content the rule's outcome and outputs depend on; ``rule.matched`` is not among them.

        Values that begin with ``@`` are looked up after the rule, in ``<domain>.<feature>.<element>``.
        """
        named = {set_name for set_name, _ in self._dynamic_values()}
        return frozenset({term.set_name for term in self.terms()} | named) - {MATCHED_SET}

    @property
    def matched_names(self) -> frozenset[str] | None:
        """The names of ``rule.matched`` that the rule reads; ``None`` where it may read all of them.

        A term that asks of names, or that only wants the set to be there, reads all, and so does a template.
        """
        names = {name for set_name, name in self._dynamic_values() if set_name == MATCHED_SET}
        for term in self.terms():
            if term.set_name == MATCHED_SET:
                if not term.source.expressions or term.name is not None or self.source.has_templates:
                    return None
                names.update(term.source.expressions)
        return frozenset(names)

    def _dynamic_values(self) -> Iterable[tuple[str, str]]:
        for value in (*self.source.labels.values(), *self.source.extended_resources.values()):
            if value.startswith("@") and value.count(".") >= 2:  # noqa: PLR2004 # domain, feature and element
                domain, feature, element = value[1:].split(".", 2)
                yield f"{domain}.{feature}", element


def compile_rule(rule: Rule) -> CompiledRule:
    """The compiled form of a rule; bad values do not raise here but where evaluation reaches them."""
    return CompiledRule(
        source=rule,
        match_features=tuple(map(compile_term, rule.match_features)),
        match_any=tuple(tuple(map(compile_term, element)) for element in rule.match_any),
        labels_template=Template(rule.labels_template) if rule.labels_template else None,
        vars_template=Template(rule.vars_template) if rule.vars_template else None,
    )
