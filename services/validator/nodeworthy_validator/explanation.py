"""One verdict in full: with every set that the node knows, and who says so."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from nodeworthy.bus.requests import ExplainReply, ExplainRequest, ValidateRequest
from nodeworthy.errors import UsageError
from nodeworthy.features import SetStatus
from nodeworthy_validator.inventory import Inventory
from nodeworthy_validator.replies import Budget, cut
from nodeworthy_validator.validation import Validation

MAX_UNOBSERVED = 100
"""Names of one set of which nothing is known that are listed; a kernel hides a handful at a time, or the whole set."""


class Explanation:
    """Answers ``explain``."""

    def __init__(self, validation: Validation, inventory: Inventory, *, reply_bytes: int) -> None:
        self._validation = validation
        self._inventory = inventory
        self._reply_bytes = reply_bytes

    async def answer(self, request: ExplainRequest, seconds: float) -> ExplainReply:
        """The verdict and what it rests on; raises what :meth:`Validation.answer` raises."""
        if not request.node:
            raise UsageError("no node was named")
        asked = ValidateRequest(
            image=request.image,
            node=request.node,
            tags=request.tags,
            spec=request.spec,
            platform=request.platform,
            undeclared=request.undeclared,
            inspect=request.inspect,
            limit=1,
            groups=0,
        )
        [verdict] = (await self._validation.answer(asked, seconds)).verdicts
        budget = Budget(self._reply_bytes)
        budget.take(verdict)
        producers = tuple(producer for producer in self._inventory.producers(request.node) if budget.take(producer))
        return ExplainReply(verdict=verdict, sets=_fit(self._inventory.sets(request.node), budget), producers=producers)


def _fit(sets: Iterable[tuple[str, SetStatus]], budget: Budget) -> Mapping[str, SetStatus]:
    return dict(item for item in _shorten(sets) if budget.take(item))


def _shorten(sets: Iterable[tuple[str, SetStatus]]) -> Iterator[tuple[str, SetStatus]]:
    for name, status in sets:
        unobserved = status.unobserved[:MAX_UNOBSERVED]
        yield name, msgspec.structs.replace(status, reason=cut(status.reason), unobserved=unobserved)
