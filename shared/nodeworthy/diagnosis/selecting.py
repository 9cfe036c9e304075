"""What kube-scheduler asks of one node: selectors, required node affinity, taints (core/v1)."""

from collections.abc import Mapping
from typing import NamedTuple

from nodeworthy.diagnosis.pods import Expression, SelectorTerm, Toleration

BLOCKING = frozenset({"NoSchedule", "NoExecute"})
"""Effects of taints that keep pods away."""
_NAME_FIELD = "metadata.name"
"""The only field of a Node that a term may name (core/v1 NodeSelectorTerm)."""


class Taint(NamedTuple):
    """A taint of a node."""

    key: str
    value: str
    effect: str


class NodeView(NamedTuple):
    """A Node as the scheduler sees it."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    allocatable: Mapping[str, str] = {}


def describe(one: Expression) -> str:
    """An expression as a person writes it: ``accelerator=nvidia``, ``size in (a, b)``."""
    values = one.values or ()
    if one.operator == "In":
        return f"{one.key}={values[0]}" if len(values) == 1 else f"{one.key} in ({', '.join(values)})"
    return " ".join((one.key, one.operator, *values))


def holds(one: Expression, labels: Mapping[str, str]) -> bool:
    """Whether a node with these labels fulfils an expression (core/v1 NodeSelectorRequirement)."""
    values = one.values or ()
    here = labels.get(one.key)
    match one.operator:
        case "In":
            return here in values
        case "NotIn":
            return here not in values
        case "Exists":
            return here is not None
        case "DoesNotExist":
            return here is None
        case "Gt" | "Lt":
            if here is None or len(values) != 1 or not (_is_number(here) and _is_number(values[0])):
                return False
            return int(here) > int(values[0]) if one.operator == "Gt" else int(here) < int(values[0])
        case _:
            return False


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and len(text) < 20  # noqa: PLR2004 # an int64


def term_holds(term: SelectorTerm, node: NodeView) -> bool:
    """Whether all of a term holds; one that asks nothing takes no node (core/v1 NodeSelectorTerm)."""
    expressions, fields = term.match_expressions or (), term.match_fields or ()
    if not expressions and not fields:
        return False
    return all(holds(one, node.labels) for one in expressions) and all(
        one.key == _NAME_FIELD and holds(one, {_NAME_FIELD: node.name}) for one in fields
    )


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """As core/v1 Toleration says: an empty key with Exists tolerates everything, an empty effect all effects."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and (toleration.value or "") == taint.value
