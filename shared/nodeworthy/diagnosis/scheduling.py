"""A pod that no node takes: which key, resource or taint keeps it, and who would give the key under what name.

What kube-scheduler asks: ``nodeSelector`` and required node affinity, amounts of resources, taints. Amounts that other pods
use up are not counted here; the scheduler's event tells of them.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nodeworthy.diagnosis.pods import Expression, Pod, SelectorTerm
from nodeworthy.diagnosis.records import Cause, Confidence
from nodeworthy.diagnosis.selecting import BLOCKING, NodeView, describe, holds, term_holds, tolerates
from nodeworthy.requirements import Layer

_SHOWN = 3


class Offer(NamedTuple):
    """A label that a rule gives, or would give, a node."""

    key: str
    """As it reaches the node."""
    value: str
    node: str
    """Empty: of a rule that no node matches."""
    giver: str
    """In words, as ``rule gpu-rule``."""


def explain_pending(pod: Pod, nodes: Sequence[NodeView], offers: Sequence[Offer]) -> tuple[Cause, ...]:
    """Why no node takes a pod, as far as its spec and the nodes tell; none where they do not."""
    if not nodes:
        return (_likely("no-nodes", "the cluster has no nodes", ("the list of Nodes is empty",), "add a node"),)
    causes = [*_wrong_keys(pod, nodes, offers), *_missing_resources(pod, nodes)]
    fitting = [node for node in nodes if _selects(pod, node)]
    if not causes and not fitting:
        asked = ", ".join(describe(one) for one in _expressions(pod))
        causes.append(
            _likely(
                "no-node-fits-all",
                f"no node fulfils all of what the pod asks for together: {asked}",
                tuple(_why_not(pod, node) for node in nodes[:_SHOWN]),
                "ask for less, or label a node that has it all",
            )
        )
    return tuple(causes or _taints(pod, fitting))


def _selector(pod: Pod) -> list[Expression]:
    return [Expression(key, "In", (value,)) for key, value in (pod.spec.node_selector or {}).items()]


def _terms(pod: Pod) -> tuple[SelectorTerm, ...]:
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    return (affinity.required.node_selector_terms if affinity and affinity.required else None) or ()


def _expressions(pod: Pod) -> list[Expression]:
    """Everything that must hold; of alternatives only where there is one of them."""
    terms = _terms(pod)
    return [*_selector(pod), *((terms[0].match_expressions or ()) if len(terms) == 1 else ())]


def _selects(pod: Pod, node: NodeView) -> bool:
    terms = _terms(pod)
    fits = not terms or any(term_holds(term, node) for term in terms)
    return fits and all(holds(one, node.labels) for one in _selector(pod))


def _why_not(pod: Pod, node: NodeView) -> str:
    failed = [describe(one) for one in _expressions(pod) if not holds(one, node.labels)]
    return f"node {node.name}: not {', '.join(failed)}" if failed else f"node {node.name}: none of the alternatives"


def _wrong_keys(pod: Pod, nodes: Sequence[NodeView], offers: Sequence[Offer]) -> Iterator[Cause]:
    for one in _expressions(pod):
        if any(holds(one, node.labels) for node in nodes):
            continue
        values = {node.labels[one.key]: node.name for node in nodes if one.key in node.labels}
        what = f"no node carries {one.key}"
        if values:
            there = ", ".join(f"{one.key}={value} on {name}" for value, name in sorted(values.items())[:_SHOWN])
            what = f"no node has {describe(one)}; there is {there}"
        yield _explain_key(one, what, nodes, offers)


def _explain_key(one: Expression, what: str, nodes: Sequence[NodeView], offers: Sequence[Offer]) -> Cause:
    """The cause for one key, with who would give it and what to write in its place."""
    given = [offer for offer in offers if offer.node and _is_meant(one, offer.key, offer.value)]
    wanted = given or [offer for offer in offers if not offer.node and _is_meant(one, offer.key, offer.value)]
    there = [
        Offer(key, value, node.name, "")
        for node in nodes
        for key, value in node.labels.items()
        if _is_meant(one, key, value)
    ]
    told = [_tell(offer) for offer in wanted[:_SHOWN]]
    told += [
        f"node {offer.node} carries {offer.key}={offer.value}"
        for offer in there[:_SHOWN]
        if (offer.key, offer.node) not in {(known.key, known.node) for known in wanted}
    ]
    best = next((offer for offer in (*wanted, *there) if offer.node), None)
    text = f"{what}; {told[0]}" if told else f"{what}, and no rule gives it"
    if best is None and wanted:
        cure = "no node is what the rule asks for: nodeworthy rules explain says of a node what is missing"
        return _likely("rule-matches-no-node", text, (f"the pod asks for {describe(one)}", *told), cure)
    if best is None:
        cure = f"a rule that gives {one.key}, or a label by hand: kubectl label node NODE {one.key}={_value(one)}"
        return _likely("no-node-has-label", text, (f"the pod asks for {describe(one)}",), cure)
    if best.key == one.key:
        cure = "the labeler has not set it yet, or somebody else owns it: nodeworthy conflicts, nodeworthy labels diff"
        return _likely("label-not-set", text, (f"the pod asks for {describe(one)}", *told), cure)
    line = f'nodeSelector: {{{best.key}: "{best.value}"}}'
    return Cause(
        code="label-has-prefix",
        text=text,
        confidence=Confidence.LIKELY,
        evidence=(f"the pod asks for {describe(one)}", *told),
        layer=None,
        now=f"in the pod's template write {best.key} in place of {one.key}",
        selector={best.key: best.value},
        cure=f"{line} in place of {one.key}; or switch the prefix off in the labeler (setting auto_prefix)",
    )


def _tell(offer: Offer) -> str:
    if offer.node:
        return f"{offer.giver} gives {offer.key}={offer.value} on node {offer.node}"
    return f"{offer.giver} would give {offer.key}={offer.value}, and no node is what it asks for"


def _is_meant(one: Expression, key: str, value: str) -> bool:
    """Whether a label is the wanted one, perhaps behind a namespace."""
    return (key == one.key or key.endswith(f"/{one.key}")) and holds(one, {one.key: value})


def _value(one: Expression) -> str:
    return (one.values or ("true",))[0]


def _missing_resources(pod: Pod, nodes: Sequence[NodeView]) -> Iterator[Cause]:
    """Resources that no node offers at all: a device without its plugin."""
    asked = dict.fromkeys(name for container in pod.spec.containers for name in container.devices)
    for name in asked:
        if any(node.allocatable.get(name, "0") != "0" for node in nodes):
            continue
        yield _likely(
            "resource-not-offered",
            f"no node offers {name}: its device plugin runs on none, or finds no device",
            (f"{name} is in status.allocatable of none of {len(nodes)} nodes",),
            f"install the device plugin that offers {name} on the nodes with the device",
            Layer.ACCELERATOR,
        )


def _taints(pod: Pod, nodes: Sequence[NodeView]) -> Iterator[Cause]:
    found = {
        node.name: taint
        for node in nodes
        for taint in node.taints
        if taint.effect in BLOCKING and not any(tolerates(one, taint) for one in pod.spec.tolerations or ())
    }
    if not nodes or len(found) < len(nodes):
        return
    told = tuple(f"node {name}: {taint.key}={taint.value}:{taint.effect}" for name, taint in sorted(found.items()))
    yield _likely(
        "taint-not-tolerated",
        f"every node that the pod asks for has a taint that it does not tolerate: {next(iter(found.values())).key}",
        told[:_SHOWN],
        "a toleration in the pod's template, or nodes without the taint",
    )


def _likely(code: str, text: str, evidence: tuple[str, ...], cure: str, layer: Layer | None = None) -> Cause:
    return Cause(code, text, Confidence.LIKELY, evidence, layer=layer, cure=cure)
