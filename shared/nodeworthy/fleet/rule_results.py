"""What rules gave that have templates or read what rules before them gave: each is evaluated once for each input.

The key is complete (:meth:`nodeworthy.fleet.walking.Walk.key`): the digest of the rule's source, the contents of its sets
with their states or the answers of its terms, and the results of the rules that it may read from. So after one node changed
one set only rules run that read it, directly or through other rules.
"""

from collections import OrderedDict

from nodeworthy.rules import RuleResult

_OVERHEAD = 1_500
"""Bytes that a result costs in memory beside its written form, roughly: the record and its maps."""


class ResultMemo:
    """Results by their keys; beyond a number of bytes those that were not wanted for longest are forgotten."""

    def __init__(self, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._used = 0
        self._kept: OrderedDict[bytes, tuple[RuleResult, int]] = OrderedDict()

    def find(self, key: bytes) -> RuleResult | None:
        """The result under this key, if it is remembered."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    def keep(self, key: bytes, result: RuleResult) -> None:
        """Remember a result that was not."""
        size = len(repr(result)) + _OVERHEAD
        self._kept[key] = (result, size)
        self._used += size
        while self._used > self._max_bytes:
            self._used -= self._kept.popitem(last=False)[1][1]
