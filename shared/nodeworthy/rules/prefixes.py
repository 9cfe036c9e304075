"""The default prefix of labels, annotations and extended resources, and the merged output of several rules."""

from collections.abc import Iterable, Mapping

import msgspec

from nodeworthy.rules.records import Taint

DEFAULT_PREFIX = "feature.node.kubernetes.io/"
"""NFD's namespace for names that are written without one."""

AUTO_PREFIX = "nodeworthy.io/auto-prefix"
"""The annotation by which an object of rules does without the default prefix: ``"false"``."""


def add_default_prefix(names: Mapping[str, str]) -> dict[str, str]:
    """The map with the default prefix on every name that has none; where both spellings are there, the full one wins."""
    prefixed = {DEFAULT_PREFIX + name: value for name, value in names.items() if "/" not in name}
    return prefixed | {name: value for name, value in names.items() if "/" in name}


class Outputs(msgspec.Struct, frozen=True):
    """What one rule, or a chain of rules, gives a node."""

    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    extended_resources: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()


def merge_outputs(results: Iterable[Outputs]) -> Outputs:
    """The outputs of a chain of rules as the node gets them, before filtering: prefixed rule by rule, the last one wins."""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    resources: dict[str, str] = {}
    taints: list[Taint] = []
    for result in results:
        labels |= add_default_prefix(result.labels)
        annotations |= add_default_prefix(result.annotations)
        resources |= add_default_prefix(result.extended_resources)
        taints += result.taints
    return Outputs(labels, annotations, resources, tuple(taints))
