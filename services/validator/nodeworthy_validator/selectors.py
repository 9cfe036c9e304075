"""Label selectors, as ``kubectl get --selector`` takes them, over labels that may not be known.

The grammar and its meaning are Kubernetes' (documentation, "Labels and Selectors"): ``a=b``, ``a==b``, ``a!=b``,
``a in (b,c)``, ``a notin (b,c)``, ``a``, ``!a``, joined by commas; a node without the label is matched by ``!=`` and
``notin``. Beside labels there is the field ``metadata.name``, the node's name.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from nodeworthy.errors import UsageError

NAME_FIELD = "metadata.name"
"""The node's name, as Kubernetes' field selectors call it; every node has one, whatever is known of its labels."""

MAX_LETTERS = 4_000
"""Of one selector; people write a hundred."""
MAX_REQUIREMENTS = 100


class Operator(StrEnum):
    """What is asked of one key."""

    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    ABSENT = "absent"


@dataclass(frozen=True)
class Requirement:
    """What is asked of one key."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def holds(self, value: str | None) -> bool:
        """Whether a node has it whose label has this value; ``None``: it has no such label."""
        if self.operator is Operator.IN:
            return value is not None and value in self.values
        if self.operator is Operator.NOT_IN:
            return value is None or value not in self.values
        return (value is not None) is (self.operator is Operator.EXISTS)


@dataclass(frozen=True)
class Selector:
    """All of its requirements have to hold; without any it selects everything."""

    requirements: tuple[Requirement, ...] = ()

    def selects_name(self, node: str) -> bool:
        """Whether what is asked of the node's name holds."""
        return all(one.holds(node) for one in self.requirements if one.key == NAME_FIELD)

    def selects_labels(self, labels: Mapping[str, str] | None) -> bool | None:
        """Whether what is asked of labels holds; ``None`` where the labels are not known, and something is asked of them."""
        asked = [one for one in self.requirements if one.key != NAME_FIELD]
        if labels is None and asked:
            return None
        return all(one.holds((labels or {}).get(one.key)) for one in asked)


_KEY = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?/)?[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9])?)?"
"""A label's value has at most 63 letters, a node's name 253."""

_Make = Callable[[re.Match[str]], Requirement]
_FORMS: tuple[tuple[re.Pattern[str], _Make], ...] = (
    (
        re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)"),
        lambda found: Requirement(found[1], Operator(found[2]), _read_values(found[3])),
    ),
    (
        re.compile(rf"({_KEY})\s*==?\s*({_VALUE})"),
        lambda found: Requirement(found[1], Operator.IN, frozenset({found[2]})),
    ),
    (
        re.compile(rf"({_KEY})\s*!=\s*({_VALUE})"),
        lambda found: Requirement(found[1], Operator.NOT_IN, frozenset({found[2]})),
    ),
    (re.compile(rf"({_KEY})"), lambda found: Requirement(found[1], Operator.EXISTS)),
    (re.compile(rf"!\s*({_KEY})"), lambda found: Requirement(found[1], Operator.ABSENT)),
)

_COMMA = re.compile(r",(?![^()]*\))")
"""A comma that is not inside of parentheses."""


def parse_selector(text: str) -> Selector:
    """The selector of ``zone in (a,b),!spot``; an empty text selects everything.

    Raises:
        UsageError: the text is no selector.
    """
    if len(text) > MAX_LETTERS:
        raise _bad(text, f"it has {len(text):,} letters, over {MAX_LETTERS:,}")
    if not text.strip():
        return Selector()
    parts = _COMMA.split(text)
    if len(parts) > MAX_REQUIREMENTS:
        raise _bad(text, f"it asks {len(parts)} things, over {MAX_REQUIREMENTS}")
    return Selector(tuple(_read_requirement(part.strip(), text) for part in parts))


def _read_requirement(part: str, text: str) -> Requirement:
    try:
        return next(make(found) for form, make in _FORMS if (found := form.fullmatch(part)))
    except StopIteration:
        raise _bad(text, f"{part[:100]!r} is not understood") from None


def _read_values(text: str) -> frozenset[str]:
    values = [value.strip() for value in text.split(",")]
    strange = next((value for value in values if not re.fullmatch(_VALUE, value)), None)
    if strange is not None:
        raise _bad(text, f"{strange[:100]!r} is no value of a label")
    return frozenset(values)


def _bad(text: str, why: str) -> UsageError:
    todo = "for example: kubernetes.io/arch=amd64,zone in (a,b),!spot; metadata.name is the node's name"
    return UsageError(f"{text[:100]!r} is no label selector", why=why, todo=todo)
