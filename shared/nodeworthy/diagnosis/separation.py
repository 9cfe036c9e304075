"""What separates the nodes where a workload runs from those where it fails: the facts that differ, best first."""

from collections.abc import Mapping, Sequence

import msgspec

from nodeworthy.features import Lookup, SetState
from nodeworthy.rules import Facts


class Separation(msgspec.Struct, frozen=True, omit_defaults=True):
    """A workload on the nodes where it runs and where it fails."""

    workload: str
    """As ``Deployment shop/cart``."""
    runs: tuple[str, ...]
    fails: tuple[str, ...]
    both: tuple[str, ...] = ()
    """Nodes where some of its pods run and some fail: what differs between nodes does not decide there."""
    differences: tuple["Difference", ...] = ()
    """The best separating first."""


_PRIVATE = frozenset({"system.name", "network.device", "network.virtual", "kernel.enabledmodule"})
"""Sets that differ from node to node whatever runs there, or say what another set says too."""
_MAX_VALUES = 400
"""Names of one set that are compared: a kernel configuration has ten thousand, and is compared where nodes differ in few."""


class Difference(msgspec.Struct, frozen=True, omit_defaults=True):
    """One fact by which the two groups differ."""

    feature: str
    name: str
    score: float
    """1: it separates them completely; 0: it is spread alike."""
    runs: Mapping[str, int]
    """Value to the number of nodes where the workload runs; a flag has ``present`` or ``absent``."""
    fails: Mapping[str, int]


def separate(runs: Mapping[str, Facts], fails: Mapping[str, Facts], sets: Sequence[str]) -> tuple[Difference, ...]:
    """The facts that differ between two groups of nodes, the best separating first; facts that nobody knows do not count.

    Args:
        runs: The nodes where it runs.
        fails: The nodes where it fails.
        sets: The names of the sets to compare.
    """
    if not runs or not fails:
        return ()
    found = [
        difference
        for name in sorted(set(sets) - _PRIVATE)
        for difference in _compare_set(name, runs, fails)
        if difference.score > 0
    ]
    return tuple(sorted(found, key=lambda one: (-one.score, one.feature, one.name)))


def _compare_set(feature: str, runs: Mapping[str, Facts], fails: Mapping[str, Facts]) -> list[Difference]:
    here = [facts.lookup(feature) for facts in runs.values()]
    there = [facts.lookup(feature) for facts in fails.values()]
    names: dict[str, None] = {}
    for found in (*here, *there):
        names.update(dict.fromkeys(sorted(found.content.names()) if found.content else ()))
    differing = [name for name in names if len({_value(found, name) for found in (*here, *there)}) > 1]
    return [
        Difference(feature, name, _score(good, bad), good, bad)
        for name in differing[:_MAX_VALUES]
        if (good := _count(here, name)) and (bad := _count(there, name))
    ]


def _count(found: Sequence[Lookup], name: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for one in found:
        value = _value(one, name)
        if value is not None:
            counts[value] = counts.get(value, 0) + 1
    return counts


def _value(found: Lookup, name: str) -> str | None:
    """The value under a name; ``None`` where nobody knows."""
    if found.content is None:
        return "absent" if found.state is SetState.ABSENT else None
    if name in found.content.unobserved:
        return None
    value = (found.content.attributes or {}).get(name)
    return value if value is not None else "present" if name in (found.content.flags or ()) else "absent"


def _score(good: Mapping[str, int], bad: Mapping[str, int]) -> float:
    """Half the distance between the two distributions of values (total variation): 1 where no value is in both."""
    good_sum, bad_sum = sum(good.values()), sum(bad.values())
    values = {*good, *bad}
    return round(sum(abs(good.get(one, 0) / good_sum - bad.get(one, 0) / bad_sum) for one in values) / 2, 3)
