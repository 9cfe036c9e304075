"""Nodes with a few facts, and requirements held against them as verdicts do it."""

from collections.abc import Mapping

from nodeworthy import rules
from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.requirements import Requirement
from nodeworthy.rules import Outcome

_CATALOGUE = frozenset(
    {"system.architecture", "cpu.execution", "cpu.cpuid", "cpu.hwcap", "memory.page", "kernel.version", "kernel.binfmt"}
)


def node(attributes: Mapping[str, Mapping[str, str]], **more: FeatureSet) -> Snapshot:
    """A node by the attributes of its sets; sets of other kinds by their names with ``_`` for the point.

    Of the sets that a detector tells and that are not given, nobody knows.
    """
    contents = {name: FeatureSet(attributes=values) for name, values in attributes.items()}
    contents |= {name.replace("_", ".", 1): content for name, content in more.items()}
    return Snapshot(contents, catalogue=_CATALOGUE | contents.keys())


def machine(architecture: str, name: str = "", **more: FeatureSet) -> Snapshot:
    """A node of an architecture, by Go's name and uname's."""
    return node({"system.architecture": {"architecture": architecture, "machine": name or architecture}}, **more)


def outcome(requirement: Requirement, facts: Snapshot) -> Outcome:
    """Whether a node meets a requirement."""
    rule = rules.Rule(requirement.code, requirement.match_features, requirement.match_any)
    (report,) = rules.report_sets((rules.CompatibilitySet((rule,)),), facts)
    return report.rules[0].outcome
