"""Values that begin with ``@``: they are looked up in the facts after all rules ran (NFD, nfd-master).

``@<domain>.<feature>.<element>`` is the value of one attribute, for example ``@system.osrelease.VERSION_ID.major``: the
element is what follows the second dot. Names are taken as they are written, in their case.
"""

from typing import NamedTuple

from nodeworthy.features import Lookup, SetState
from nodeworthy.labels.chain import ChainedRule, RuleChain
from nodeworthy.rules import MATCHED_SET, ChainResult, CompiledRule, Facts, Outcome

_PARTS = 3


class Resolved(NamedTuple):
    """What a value is: known, unknown (``is_known`` is false), or, where ``value`` is ``None``, nothing."""

    value: str | None
    is_known: bool = True
    reason: str = ""


class DynamicValues:
    """Looks values up for one node."""

    def __init__(self, facts: Facts, chain: RuleChain, result: ChainResult) -> None:
        self._facts = facts
        pairs = zip(chain.rules, result.results, strict=True)
        self._last_first = sorted(pairs, key=lambda pair: pair[0].place, reverse=True)

    def resolve(self, value: str) -> Resolved:
        """The value itself, or what it stands for."""
        if not value.startswith("@"):
            return Resolved(value)
        parts = value[1:].split(".", _PARTS - 1)
        if len(parts) < _PARTS:
            return Resolved(None, reason=f"{value[:80]!r} is not @<domain>.<feature>.<element>")
        set_name, element = f"{parts[0]}.{parts[1]}", parts[2]
        if set_name == MATCHED_SET:
            return self._from_rules(value, element)
        return _from_set(value, element, set_name, self._facts.lookup(set_name))

    def _from_rules(self, value: str, name: str) -> Resolved:
        """What the last rule in NFD's order gives under this name, in whatever order they ran."""
        for link, result in self._last_first:
            if result.outcome is Outcome.TRUE and (name in result.vars or name in result.labels):
                return Resolved(result.vars[name] if name in result.vars else result.labels[name])
            if result.outcome in (Outcome.UNKNOWN, Outcome.ERROR) and _may_give(link, name):
                return Resolved(None, is_known=False, reason=f"it is not known whether {link.giver} gives {name}")
        found = _from_set(value, name, MATCHED_SET, self._facts.lookup(MATCHED_SET))
        return found if found.value is not None or not found.is_known else Resolved(None, reason=_nobody(value, name))


def _nobody(value: str, name: str) -> str:
    return f"{value[:80]!r}: no rule gives {name[:80]}"


def _may_give(link: ChainedRule, name: str) -> bool:
    if not isinstance(link.rule, CompiledRule):
        return True
    source = link.rule.source
    return source.has_templates or name in source.labels or name in source.vars


def _from_set(value: str, element: str, set_name: str, found: Lookup) -> Resolved:
    if found.state is SetState.UNKNOWN:
        return Resolved(None, is_known=False, reason=f"{set_name} is not known: {found.reason}")
    content = found.content
    if content is None or content.attributes is None or element not in content.attributes:
        if content is not None and element in content.unobserved:
            return Resolved(None, is_known=False, reason=f"{set_name} does not tell {element}")
        return Resolved(None, reason=f"{value[:80]!r}: {set_name} has no attribute {element[:80]}")
    return Resolved(content.attributes[element])
