"""Where templates plug in: what they see, and what stands in for them until there is an engine."""

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeAlias

from nodeworthy.errors import RuleError
from nodeworthy.features import FeatureSet, Instance
from nodeworthy.rules.matching import CompiledTerm, term_elements

Elements: TypeAlias = Mapping[str, Mapping[str, list[Instance]]]
"""What a list of terms has matched: domain to feature to elements, as ``.pci.device`` in a template."""


class TemplateEngine(Protocol):
    """Turns a template and what a rule has matched into names and values."""

    def expand(self, template: str, elements: Elements) -> Mapping[str, str]:
        """The lines ``name=value`` of the expanded template; raises RuleError if it cannot be expanded."""


class NoTemplates:
    """The engine that refuses every template, so that a rule with one is in error and never half evaluated."""

    def expand(self, template: str, elements: Elements) -> Mapping[str, str]:  # noqa: ARG002 # the protocol's signature
        """Refuse.

        Raises:
            RuleError: always.
        """
        raise RuleError("templates are not supported yet")


def collect_elements(matched: Iterable[tuple[CompiledTerm, FeatureSet]]) -> dict[str, dict[str, list[Instance]]]:
    """What terms that hold have matched in their sets; two terms of one set give one list."""
    elements: dict[str, dict[str, list[Instance]]] = {}
    for term, content in matched:
        domain, feature = template_address(term.source.feature)
        elements.setdefault(domain, {}).setdefault(feature, []).extend(term_elements(term, content))
    return elements


def template_address(feature: str) -> tuple[str, str]:
    """Where a template finds a feature: before and after the first dot, in the case of the rule.

    A name without a dot is a domain in lower case with the empty feature; that is NFD's behaviour, not a choice.
    """
    domain, dot, rest = feature.partition(".")
    return (domain, rest) if dot else (feature.lower(), "")
