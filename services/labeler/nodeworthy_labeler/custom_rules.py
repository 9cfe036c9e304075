"""Labels by the nodes' own rules, for many nodes at once: nodes with one content of ``custom.rules`` share one chain.

What is compiled is kept under the content itself, so that a change of facts compiles nothing anew.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from nodeworthy import fleet
from nodeworthy.features import Lookup, encode
from nodeworthy.fleet import Fleet, evaluate_rules
from nodeworthy.fleet.contents import DEFAULTS
from nodeworthy.fleet.grouping import Numbers, distinct
from nodeworthy.labels import DefaultLabels, LabelPolicy
from nodeworthy.labels.custom_rules import CustomRules, make_custom_labels, read_custom_rules
from nodeworthy.labels.defaults.custom import SET_NAME
from nodeworthy_labeler.default_labels import MakerClasses

MAX_KEPT = 64
"""Chains that are kept: one for each kind of node whose rules differ; each may have been made of 384 KiB of text."""


class _Compiled(NamedTuple):
    rules: CustomRules
    chain: fleet.Chain


class CustomChains:
    """The nodes' own rules under one policy."""

    def __init__(self, policy: LabelPolicy, *, max_kept: int = MAX_KEPT) -> None:
        self._policy = policy
        self._max_kept = max_kept
        self._kept: OrderedDict[bytes, _Compiled] = OrderedDict()
        self.compiled = 0
        """How many chains were compiled."""

    def classify(self, table: Fleet, nodes: Sequence[str], rows: Numbers) -> MakerClasses:
        """What the own rules of these nodes give to each; ``rows`` are the nodes' rows.

        Raises:
            UsageError: the rules ask too much of the table at once.
        """
        contents = table.numbers(SET_NAME, rows)
        numbers = np.zeros(len(nodes), np.intp)
        seen: dict[bytes, int] = {}
        made: list[DefaultLabels] = []
        for content in distinct(contents).tolist():
            places = np.flatnonzero(contents == content)
            own = self._compile(_look_up(table, content))
            results = evaluate_rules(table, own.chain, [nodes[place] for place in places.tolist()])
            groups = results.group_numbers()
            group_classes = np.zeros(int(groups.max()) + 1, np.intp)
            for group in range(len(group_classes)):
                result = results.chain_result(group)
                auto_prefix = self._policy.auto_prefix
                labels = make_custom_labels(own.rules, result, self._policy.defaults, auto_prefix=auto_prefix)
                key = msgspec.msgpack.encode(labels, order="deterministic")
                if key not in seen:
                    seen[key] = len(made)
                    made.append(labels)
                group_classes[group] = seen[key]
            numbers[places] = group_classes[groups]
        return MakerClasses(numbers, made)

    def _compile(self, found: Lookup) -> _Compiled:
        key = b"" if found.content is None else encode(found.content)
        key += f" {found.state} {found.reason}".encode()
        own = self._kept.get(key)
        if own is None:
            rules = read_custom_rules(found, auto_prefix=self._policy.auto_prefix)
            own = self._kept[key] = _Compiled(rules, fleet.make_chain(rules.chain.compiled))
            self.compiled += 1
            while len(self._kept) > self._max_kept:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return own


def _look_up(table: Fleet, content: int) -> Lookup:
    column = table.column(SET_NAME)
    return column.contents.lookup(content) if column else DEFAULTS[content]
