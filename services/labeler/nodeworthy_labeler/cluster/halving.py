"""Finding by halves what of many things is refused, where the answer to the whole request names none."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from nodeworthy.kubernetes.refusals import KubernetesError
from nodeworthy_labeler.cluster.refusals import Output


class Refused(NamedTuple):
    """One output that is not taken, and the answer to it."""

    output: Output
    error: KubernetesError


Try = Callable[[Sequence[Output]], Awaitable[KubernetesError | None]]
"""Asks whether all of these would be taken together; the refusal where they would not."""


async def find_refused(kept: Sequence[Output], new: Sequence[Output], ask: Try) -> list[Refused]:
    """Those of ``new`` that are not taken beside ``kept`` and the rest of ``new``; about ``2 log2`` questions for each.

    What is only too much together is refused from where it is too much on.
    """
    accepted = list(kept)

    async def divide(part: Sequence[Output]) -> list[Refused]:
        error = await ask([*accepted, *part])
        if error is None:
            accepted.extend(part)
            return []
        if len(part) == 1:
            return [Refused(part[0], error)]
        half = len(part) // 2
        return [*await divide(part[:half]), *await divide(part[half:])]

    return await divide(new) if new else []
