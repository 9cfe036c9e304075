"""Asking how the nodes that matter fare with each image, no node and no image more often than needed."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from nodeworthy.bus.requests import Undeclared
from nodeworthy.images import SearchState
from nodeworthy.verdicts import Answer
from nodeworthy_cli.checkup.judging import Fare, Judge, Known
from nodeworthy_cli.checkup.pools import Pools
from nodeworthy_validator.image_answers import FIRST_NODES

NOBODY = Fare({})
"""Of no nodes."""


class Fares(NamedTuple):
    """How nodes fare with one image, by what brings it there."""

    everything: Fare
    """All nodes, also those that it never comes to."""
    running: Fare = NOBODY
    chosen: Fare = NOBODY
    free: Fare = NOBODY
    is_only_undeclared: bool = False
    """Whether all that is unknown of the nodes that matter is what the image needs beside its platform."""

    @property
    def mattering(self) -> tuple[Fare, ...]:
        """Those of the nodes that it comes to or could come to."""
        return (self.running, self.chosen, self.free)

    def has(self, answer: Answer) -> bool:
        """Whether a node that matters has an answer."""
        return any(fare.count(answer) for fare in self.mattering)


def is_declared(known: Known) -> bool | None:
    """Whether it is declared what an image needs; ``None``: that could not be found out."""
    searches = [one.search for one in known.knowledge.images if one.search is not None]
    states = {search.state for search in (*searches, *([known.knowledge.search] if known.knowledge.search else []))}
    if SearchState.FOUND in states:
        return True
    return False if states == {SearchState.NONE} else None


def is_inspected(known: Known) -> bool:
    """Whether somebody looked at the files of one of its images."""
    return any(one.inspection is not None for one in known.knowledge.images)


async def survey(
    images: Sequence[Known], pools: Mapping[str, Pools], nodes: Sequence[str], judge: Judge
) -> dict[str, Fares]:
    """How the nodes fare with each image; raises what the judge raises."""
    every = frozenset(nodes)
    parts = await _ask(images, [(one.image, every) for one in images], judge, Undeclared.UNKNOWN)
    wanted: list[_Pair] = []
    for one in images:
        whole = parts[one.image, every]
        for pool in set(pools[one.image]) - {every}:
            if len(whole.groups) > 1:
                wanted.append((one.image, pool))
            else:  # all nodes fare alike
                parts[one.image, pool] = _shrink(whole, pool)
    parts |= await _ask(images, wanted, judge, Undeclared.UNKNOWN)
    fares = {}
    for one in images:
        running, chosen, free = (parts[one.image, pool] for pool in pools[one.image])
        fares[one.image] = Fares(parts[one.image, every], running, chosen, free)
    doubtful = [
        (one.image, pools[one.image].every)
        for one in images
        if fares[one.image].has(Answer.UNKNOWN) and is_declared(one) is False and not is_inspected(one)
    ]
    lenient = await _ask(images, doubtful, judge, Undeclared.COMPATIBLE)
    settled = {image for (image, _), fare in lenient.items() if not fare.count(Answer.UNKNOWN)}
    return {image: fare._replace(is_only_undeclared=image in settled) for image, fare in fares.items()}


_Pair: TypeAlias = tuple[str, frozenset[str]]
"""An image and nodes."""


async def _ask(
    images: Sequence[Known], pairs: Iterable[_Pair], judge: Judge, undeclared: Undeclared
) -> dict[_Pair, Fare]:
    """The fare of each pair; images with the same nodes are asked about together."""
    known = {one.image: one for one in images}
    by_pool: defaultdict[frozenset[str], list[str]] = defaultdict(list)
    for image, pool in pairs:
        by_pool[pool].append(image)
    found = {(image, pool): NOBODY for pool, names in by_pool.items() if not pool for image in names}
    questions = [(pool, names) for pool, names in by_pool.items() if pool]
    fares = await asyncio.gather(
        *(judge.ask([known[image] for image in names], sorted(pool), undeclared) for pool, names in questions)
    )
    for (pool, names), told in zip(questions, fares, strict=True):
        found |= {(image, pool): fare for image, fare in zip(names, told, strict=True)}
    return found


def _shrink(whole: Fare, pool: frozenset[str]) -> Fare:
    """The fare of some of the nodes, where all of them fare alike."""
    if not pool or not whole.groups:
        return NOBODY
    group = msgspec.structs.replace(whole.groups[0], count=len(pool), nodes=tuple(sorted(pool)[:FIRST_NODES]))
    return Fare({group.answer: len(pool)}, (group,))
