"""What is known of images: asked of the resolvers, several at once, and kept for a short time within a bound."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, NamedTuple

import msgspec

from nodeworthy.bus.requests import Inspect, ResolveReply, ResolveRequest
from nodeworthy.errors import BusUnreachableError, NodeworthyError
from nodeworthy.images import ImageKnowledge
from nodeworthy_validator.metrics import CacheResult, Metrics
from nodeworthy_validator.settings import Bounds

AskResolver = Callable[[ResolveRequest, float], Coroutine[Any, Any, ResolveReply]]
"""Asks for an image and waits at most so many seconds; :func:`nodeworthy.bus.resolving.resolve`, bound to a connection."""

MAX_PLATFORMS = 100
"""What a request to the resolver may name; a fleet of more kinds asks for all that the image has."""


class _Key(NamedTuple):
    reference: str
    platforms: tuple[str, ...]
    inspect: Inspect


class _Kept(NamedTuple):
    knowledge: ImageKnowledge
    until: float
    size: int


class ImageLookups:
    """Looks images up."""

    def __init__(
        self, ask: AskResolver, bounds: Bounds, metrics: Metrics, *, seconds: float, clock: Callable[[], float]
    ) -> None:
        """``seconds`` is for how long an answer is kept, by a ``clock`` that only goes forward."""
        self._ask = ask
        self._bounds = bounds
        self._metrics = metrics
        self._seconds = seconds
        self._clock = clock
        self._kept: OrderedDict[_Key, _Kept] = OrderedDict()
        self._bytes = 0
        self._places = asyncio.Semaphore(bounds.lookups)

    async def get(
        self,
        references: Sequence[str],
        platforms: Sequence[str] | None,
        seconds: float,
        inspect: Inspect = Inspect.KNOWN,
    ) -> dict[str, ImageKnowledge | NodeworthyError]:
        """What is known of each image, as nodes of these platforms see it, or why that is not known.

        ``None``: of all platforms. What has not come after ``seconds`` is given up; the resolver goes on, and has it the
        next time.
        """
        wanted = () if platforms is None or len(platforms) > MAX_PLATFORMS else tuple(platforms)
        distinct = tuple(dict.fromkeys(references))
        end = asyncio.get_running_loop().time() + seconds
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._get(_Key(one, wanted, inspect), end), name=f"look up {one}") for one in distinct
            ]
        return {one: task.result() for one, task in zip(distinct, tasks, strict=True)}

    async def _get(self, key: _Key, end: float) -> ImageKnowledge | NodeworthyError:
        kept = self._kept.get(key)
        if kept is not None and kept.until > self._clock():
            self._metrics.images.labels(CacheResult.HIT).inc()
            return kept.knowledge
        try:
            async with asyncio.timeout_at(end):
                knowledge = await self._look_up(key, end)
        except TimeoutError:
            self._metrics.images.labels(CacheResult.FAILED).inc()
            return BusUnreachableError(
                f"{key.reference} could not be looked up in time", todo="ask again in a moment, or give it more time"
            )
        except NodeworthyError as error:
            self._metrics.images.labels(CacheResult.FAILED).inc()
            return error
        self._metrics.images.labels(CacheResult.MISS).inc()
        self._keep(key, knowledge)
        return knowledge

    async def _look_up(self, key: _Key, end: float) -> ImageKnowledge:
        async with self._places:
            left = end - asyncio.get_running_loop().time()
            reply = await self._ask(
                ResolveRequest(reference=key.reference, platforms=key.platforms, inspect=key.inspect), left
            )
        return reply.knowledge

    def _keep(self, key: _Key, knowledge: ImageKnowledge) -> None:
        self._drop(key)
        size = len(msgspec.msgpack.encode(knowledge))
        self._kept[key] = _Kept(knowledge, self._clock() + self._seconds, size)
        self._bytes += size
        while len(self._kept) > self._bounds.images or self._bytes > self._bounds.image_bytes:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: _Key) -> None:
        kept = self._kept.pop(key, None)
        self._bytes -= kept.size if kept else 0
