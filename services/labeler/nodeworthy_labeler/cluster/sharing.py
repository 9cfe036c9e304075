"""Keeps once what many Nodes have in common: most nodes of a cluster have the same labels by the same owners."""

from collections import OrderedDict

import msgspec

from nodeworthy.labels import NodeLabels

_KEPT = 512
"""Distinct labels that are remembered for sharing, 10 kB each; a cluster has some sixty kinds of nodes."""


class SharedLabels:
    """Gives one object for equal labels; then also what is computed from them is recognised as the same."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, NodeLabels] = OrderedDict()

    def share(self, labels: NodeLabels) -> NodeLabels:
        """The object of these labels; where only annotations differ, the rest is shared."""
        others = {kind: self._share(part) for kind, part in labels.others.items()}
        alone = self._share(msgspec.structs.replace(labels, others={}))
        return self._share(msgspec.structs.replace(alone, others=others)) if others else alone

    def _share(self, labels: NodeLabels) -> NodeLabels:
        key = msgspec.msgpack.encode(labels, order="deterministic")
        found = self._kept.setdefault(key, labels)
        self._kept.move_to_end(key)
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return found
