"""Nodes of cases by more than attributes: flags, devices and drivers put in, and machines that were recorded."""

from functools import cache
from pathlib import Path

from nodeworthy.features import FeatureSet, Snapshot, read_document
from nodeworthy.verdicts import NodeFacts

_RECORDED = Path(__file__).parents[2] / "data" / "hosts"


@cache
def recorded(name: str) -> NodeFacts:
    """A machine of ``tests/data/hosts``, as the detector told it."""
    return NodeFacts.of(read_document((_RECORDED / name / "expected.json").read_bytes(), name), name)


def with_facts(node: NodeFacts, **sets: FeatureSet) -> NodeFacts:
    """A node with these sets in place of its own, by their names with ``_`` for the point."""
    given = {name.replace("_", ".", 1): content for name, content in sets.items()}
    facts = _snapshot(node)
    catalogue = (facts.catalogue or frozenset()) | given.keys()
    return NodeFacts.of(Snapshot({**facts.contents, **given}, facts.statuses, catalogue, facts.sources), node.name)


def nobody_knows(node: NodeFacts, *names: str) -> NodeFacts:
    """A node of whose sets, written with a point, some could not be read."""
    facts = _snapshot(node)
    left = {name: content for name, content in facts.contents.items() if name not in names}
    return NodeFacts.of(Snapshot(left, catalogue=(facts.catalogue or frozenset()) | set(names)), node.name)


def with_flags(node: NodeFacts, *names: str, of: str = "cpu.cpuid") -> NodeFacts:
    """A node whose CPU has these flags too."""
    own = _snapshot(node).contents[of].flags or frozenset()
    return with_facts(node, **{of.replace(".", "_", 1): flags(*own, *names)})


def without_flags(node: NodeFacts, *names: str) -> NodeFacts:
    """A node whose CPU does not show these flags."""
    own = _snapshot(node).contents["cpu.cpuid"].flags or frozenset()
    return with_facts(node, cpu_cpuid=flags(*(own - set(names))))


def flags(*names: str) -> FeatureSet:
    """A set of flags."""
    return FeatureSet(flags=frozenset(names))


def attributes(**values: str) -> FeatureSet:
    """A set of attributes whose names have no point in them."""
    return FeatureSet(attributes=values)


def instances(*each: dict[str, str]) -> FeatureSet:
    """A set of things, such as devices."""
    return FeatureSet(instances=each)


def _snapshot(node: NodeFacts) -> Snapshot:
    assert isinstance(node.facts, Snapshot)
    return node.facts
