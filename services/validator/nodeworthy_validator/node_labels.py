"""The labels of all nodes, as far as they are known: from bucket ``labels``, which the labeler keeps."""

from collections.abc import Mapping

from nodeworthy.bus.keys import parse_labels_key
from nodeworthy.bus.labels import read_live_labels
from nodeworthy.bus.rule_reports import RULES_KEY
from nodeworthy.bus.watching import Change, Put, Removed
from nodeworthy.errors import PayloadError, UsageError
from nodeworthy.processes import EventLog

_LOG = EventLog("validator")

Labels = Mapping[str, str]


class NodeLabels:
    """The labels of each node; nodes with equal ones share one mapping, as a fleet has few kinds of nodes."""

    def __init__(self) -> None:
        self.refused = 0
        """Records that could not be read."""
        self._of: dict[str, Labels] = {}
        self._shared: dict[frozenset[tuple[str, str]], tuple[Labels, int]] = {}
        """The mapping of these labels, and how many nodes have it."""

    def __len__(self) -> int:
        return len(self._of)

    def get(self, node: str) -> Labels | None:
        """The labels of a node; ``None``: they are not known."""
        return self._of.get(node)

    def take(self, change: Change) -> None:
        """Learn what changed; a record that cannot be read changes nothing, and one that is lost is still believed."""
        if isinstance(change, Put):
            self._put(change)
        elif isinstance(change, Removed) and not change.is_lost:
            node = _node_of(change.key)
            if node is not None:
                self._release(node)

    def _put(self, put: Put) -> None:
        node = _node_of(put.key)
        if node is None:
            return
        try:
            labels = read_live_labels(put.data)
        except PayloadError as error:
            self.refused += 1
            _LOG.warning("validator.bad_labels", about=node, node=node, revision=put.revision, error=error)
            return
        self._release(node)
        key = frozenset(labels.items())
        shared, count = self._shared.get(key, (labels, 0))
        self._shared[key] = (shared, count + 1)
        self._of[node] = shared

    def _release(self, node: str) -> None:
        labels = self._of.pop(node, None)
        if labels is None:
            return
        key = frozenset(labels.items())
        shared, count = self._shared.pop(key)
        if count > 1:
            self._shared[key] = (shared, count - 1)


def _node_of(key: str) -> str | None:
    if key == RULES_KEY:
        return None  # of the rules, and no node's
    try:
        return parse_labels_key(key)
    except UsageError as error:
        _LOG.warning("validator.strange_labels_key", about=key, key=key, error=error)
        return None
