"""Where the pods of a workload may be placed: what of the scheduler's questions hangs on the node alone.

Asked is what kube-scheduler's plugins NodeName, NodeAffinity and TaintToleration ask. How full a node is, what runs on it
and where volumes are is not asked: that changes by itself.
"""

from collections.abc import Mapping, Sequence

import msgspec

from nodeworthy.diagnosis.pods import Affinity, SelectorTerm, Toleration
from nodeworthy.diagnosis.selecting import BLOCKING, NodeView, Taint, describe, term_holds, tolerates

_PASSING_TAINTS = "node.kubernetes.io/"
"""Taints of these names tell of a state that passes: not ready, under pressure, cordoned (Kubernetes, "Taints and
Tolerations"). Where a pod may be placed tomorrow does not hang on them."""
_SYSTEM_LABELS = frozenset({"kubernetes.io/os", "beta.kubernetes.io/os"})


class Placement(msgspec.Struct, frozen=True):
    """What a pod's spec asks of a node."""

    selector: tuple[tuple[str, str], ...] = ()
    """Labels that the node must have, by ``nodeSelector``."""
    terms: tuple[SelectorTerm, ...] = ()
    """Of required node affinity, one of which must hold; none: nothing is asked."""
    tolerations: tuple[Toleration, ...] = ()
    node: str = ""
    """``nodeName``: the scheduler is not asked."""
    is_everywhere: bool = False
    """Whether there is a pod on every node that it takes: a DaemonSet's."""

    @property
    def is_chosen(self) -> bool:
        """Whether somebody chose these nodes, by more than their operating system, or the pods go to all of them."""
        return bool(self.is_everywhere or self.node or {key for key, _ in self.selector} - _SYSTEM_LABELS) or any(
            one.key not in _SYSTEM_LABELS
            for term in self.terms
            for one in (*(term.match_expressions or ()), *(term.match_fields or ()))
        )

    def admits(self, node: NodeView) -> bool:
        """Whether a pod may be placed on a node."""
        if self.node:
            return self.node == node.name
        if any(node.labels.get(key) != value for key, value in self.selector):
            return False
        if self.terms and not any(term_holds(term, node) for term in self.terms):
            return False
        return all(self._tolerates(taint) for taint in node.taints)

    def _tolerates(self, taint: Taint) -> bool:
        passes = taint.effect not in BLOCKING or taint.key.startswith(_PASSING_TAINTS)
        return passes or any(tolerates(one, taint) for one in self.tolerations)

    def __str__(self) -> str:
        """In words, as ``kubernetes.io/arch=amd64``; empty where no node is chosen."""
        told = [f"node {self.node}"] if self.node else [f"{key}={value}" for key, value in self.selector]
        terms = [", ".join(describe(one) for one in term.match_expressions or ()) for term in self.terms]
        return ", ".join([*told, *([" or ".join(filter(None, terms))] if any(terms) else [])])


def make_placement(
    selector: Mapping[str, str] | None,
    affinity: Affinity | None,
    tolerations: Sequence[Toleration] | None,
    *,
    node: str = "",
    is_everywhere: bool = False,
) -> Placement:
    """The placement of a pod's spec; equal ones are equal however they are written."""
    wanted = affinity.node_affinity.required if affinity and affinity.node_affinity else None
    # Admission adds tolerations of passing taints to every pod, which would make no two placements alike.
    kept = {repr(one): one for one in tolerations or () if not (one.key or "").startswith(_PASSING_TAINTS)}
    return Placement(
        tuple(sorted((selector or {}).items())),
        (wanted.node_selector_terms if wanted else None) or (),
        tuple(one for _, one in sorted(kept.items())),
        node,
        is_everywhere,
    )
