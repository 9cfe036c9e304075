"""Which nodes are known, and how well, page by page."""

from bisect import bisect_right

import msgspec

from nodeworthy.bus.requests import NodesReply, NodesRequest, NodeSummary
from nodeworthy_validator.cursors import Cursor, parse_cursor, write_cursor
from nodeworthy_validator.inventory import CATCH_UP_SECONDS, Inventory
from nodeworthy_validator.node_labels import NodeLabels
from nodeworthy_validator.replies import MAX_TEXT, Budget, fitting, json_size
from nodeworthy_validator.selection import select_nodes
from nodeworthy_validator.selectors import parse_selector


class NodePages:
    """Answers ``nodes``."""

    def __init__(self, inventory: Inventory, labels: NodeLabels, *, reply_bytes: int) -> None:
        self._inventory = inventory
        self._labels = labels
        self._reply_bytes = reply_bytes

    async def answer(self, request: NodesRequest, seconds: float) -> NodesReply:
        """A page of nodes by name; a name that was asked for and is not known is not among them.

        Raises:
            UsageError: the selector or the cursor is none.
        """
        cursor = parse_cursor(request.cursor)
        selector = parse_selector(request.selector)
        await self._inventory.catch_up(cursor.revision, min(CATCH_UP_SECONDS, seconds / 4))
        self._inventory.lapse()
        selected = select_nodes(self._inventory, self._labels, request.nodes, selector).names
        names = [name for name in selected if name in self._inventory] if request.nodes else selected
        start = bisect_right(names, cursor.node) if cursor.node else 0
        summaries = (self._summarize(name) for name in names[start : start + request.limit])
        page = tuple(fitting(summaries, Budget(self._reply_bytes), request.limit))
        is_last = start + len(page) >= len(names)
        ended = "" if is_last else write_cursor(Cursor(self._inventory.revision, 0, page[-1].node))
        return NodesReply(nodes=page, total=len(names), cursor=ended)

    def _summarize(self, node: str) -> NodeSummary:
        facts = self._inventory.facts(node)
        summary = NodeSummary(
            node=node,
            platform=str(facts.platform) if facts and facts.platform else "",
            producers=self._inventory.producers(node),
            labels=self._labels.get(node) or {},
        )
        return summary if json_size(summary) <= self._reply_bytes // 2 else _shorten(summary)


def _shorten(summary: NodeSummary) -> NodeSummary:
    """Without what producers say of their sources, which has no bound: a page holds one node at least."""
    left_out = "what it says of its sources is left out: it is too much for one answer"
    producers = [
        msgspec.structs.replace(one, sources={}, pending=(), problem=one.problem[:MAX_TEXT] or left_out)
        for one in summary.producers
    ]
    return msgspec.structs.replace(summary, producers=tuple(producers))
