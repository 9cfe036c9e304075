"""Writing conditions on a node's facts: what inspection asks, in the rule language."""

from collections.abc import Iterable, Mapping

from nodeworthy.rules import Expression, Operator, Term

Wanted = tuple[Operator, *tuple[str, ...]]
"""An operator and its values."""


def has_flags(feature: str, names: Iterable[str]) -> Term:
    """All of these flags, as ``has_flags("cpu.cpuid", ["AVX2"])``."""
    return Term(feature, {name: Expression(Operator.EXISTS) for name in sorted(set(names))})


def has_value(feature: str, name: str, operator: Operator, *values: str, kind: str = "") -> Term:
    """One attribute that compares so; ``kind`` is the expression's ``type``, as ``version``."""
    return Term(feature, {name: Expression(operator, values, kind)})


def has_version(feature: str, name: str, at_least: str) -> Term:
    """One attribute that is this version or a later one."""
    return has_value(feature, name, Operator.GE, at_least, kind="version")


def has_instance(feature: str, wanted: Mapping[str, Wanted], kinds: Mapping[str, str] | None = None) -> Term:
    """One instance, such as a device, whose attributes all compare so; ``kinds`` gives the ``type`` of some."""
    given = kinds or {}
    return Term(
        feature,
        {name: Expression(one[0], one[1:], given.get(name, "")) for name, one in wanted.items()},
    )
