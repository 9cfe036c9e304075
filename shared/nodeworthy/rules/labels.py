"""What Kubernetes and NFD take as label, annotation, extended resource and taint: names, values, namespaces.

Each check returns what is wrong, or ``None``. Syntax: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/;
namespaces: NFD's nfd-master, which refuses kubernetes.io names that are not features.
"""

import re
from enum import StrEnum
from typing import NamedTuple

MAX_NAME = 63
MAX_PREFIX = 253
MAX_VALUE = 63
"""Kubernetes' limits of a name, of its prefix and of a label's value."""

MAX_ANNOTATION_VALUE = 1024
"""NFD's limit of an annotation's value, in bytes."""

TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


class Fault(StrEnum):
    """What is wrong with a name or a value, for programs."""

    NAME = "name"
    """Not ``[prefix/]name`` in Kubernetes' syntax."""
    UNPREFIXED = "unprefixed"
    NAMESPACE = "namespace"
    """Kubernetes' own, or denied by a setting."""
    VALUE = "value"
    LENGTH = "length"
    EFFECT = "effect"
    NO_EFFECT = "no-effect"
    NOT_LISTED = "whitelist"
    """A setting lists the names that are wanted, and this one is not among them."""
    DYNAMIC = "dynamic"
    """A value with ``@`` that stands for nothing."""
    SPELLED_TWICE = "spelled-twice"
    """The short spelling of a name that the same rule gives in full."""


class Objection(NamedTuple):
    """Why something is refused: for programs, and in words."""

    fault: Fault
    text: str

    def __str__(self) -> str:
        return self.text


_FEATURE_NAMESPACES = ("feature.node.kubernetes.io",)
_LABEL_NAMESPACES = ("feature.node.kubernetes.io", "profile.node.kubernetes.io")
_WORD = re.compile(r"(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_QUANTITY = re.compile(r"[+-]?[0-9]*\.?[0-9]*(?:[numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?")


def qualified_name_problem(name: str) -> Objection | None:
    """What is wrong with ``[prefix/]name``."""
    prefix, slash, base = name.rpartition("/")
    if slash and (len(prefix) > MAX_PREFIX or not _SUBDOMAIN.fullmatch(prefix)):
        text = f"the part before / must be a lower-case DNS name of at most {MAX_PREFIX} characters"
        return Objection(Fault.NAME, text)
    if len(base) > MAX_NAME or not _WORD.fullmatch(base):
        text = f"the name must be 1 to {MAX_NAME} letters, digits, '-', '_' and '.', a letter or digit at both ends"
        return Objection(Fault.NAME, text)
    return None


def label_value_problem(value: str) -> Objection | None:
    """What is wrong with a label's value; the empty one is good."""
    if value and (len(value) > MAX_VALUE or not _WORD.fullmatch(value)):
        text = (
            f"the value must be at most {MAX_VALUE} letters, digits, '-', '_' and '.', a letter or digit at both ends"
        )
        return Objection(Fault.VALUE, text)
    return None


def label_name_problem(name: str) -> Objection | None:
    """What is wrong with a label's full name, its namespace included."""
    return qualified_name_problem(name) or _namespace_problem(name, _LABEL_NAMESPACES)


def annotation_name_problem(name: str) -> Objection | None:
    """What is wrong with an annotation's full name; the namespace for profiles is for labels only."""
    return qualified_name_problem(name) or _namespace_problem(name, _FEATURE_NAMESPACES)


def annotation_value_problem(value: str) -> Objection | None:
    """What is wrong with an annotation's value."""
    if len(value.encode(errors="surrogatepass")) > MAX_ANNOTATION_VALUE:
        return Objection(Fault.LENGTH, f"the value must be at most {MAX_ANNOTATION_VALUE} bytes")
    return None


def extended_resource_name_problem(name: str) -> Objection | None:
    """What is wrong with an extended resource's full name; its namespace is that of annotations."""
    return annotation_name_problem(name)


def quantity_problem(value: str) -> Objection | None:
    """What is wrong with an extended resource's value, as Kubernetes' quantities are parsed (``.`` and ``Ki`` are 0)."""
    if value and _QUANTITY.fullmatch(value):
        return None
    return Objection(Fault.VALUE, "the value must be a quantity, as 4, 1.5k, 2Gi or 1e3")


def taint_name_problem(name: str) -> Objection | None:
    """What is wrong with a taint's key: NFD looks at its namespace only."""
    return _namespace_problem(name, _FEATURE_NAMESPACES)


def taint_effect_problem(effect: str) -> Objection | None:
    """What is wrong with a taint's effect."""
    if effect in TAINT_EFFECTS:
        return None
    text = f"the effect must be one of {', '.join(TAINT_EFFECTS)}"
    return Objection(Fault.EFFECT if effect else Fault.NO_EFFECT, text)


def _namespace_problem(name: str, allowed: tuple[str, ...]) -> Objection | None:
    namespace = name.partition("/")[0] if "/" in name else ""
    if not namespace:
        return Objection(Fault.UNPREFIXED, "the name must have a namespace before /")
    if namespace == "kubernetes.io" or namespace.endswith(".kubernetes.io"):
        if any(namespace == one or namespace.endswith(f".{one}") for one in allowed):
            return None
        text = f"namespace {namespace} is Kubernetes' own; allowed are {', '.join(allowed)} and names below"
        return Objection(Fault.NAMESPACE, text)
    return None
