"""Looking images up: side by side, for so long, and kept within a bound."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from nodeworthy.bus.requests import ResolveReply, ResolveRequest
from nodeworthy.errors import BusUnreachableError, NodeworthyError, RegistryDeniedError
from nodeworthy.images import ImageKnowledge
from nodeworthy_validator.image_lookups import ImageLookups
from nodeworthy_validator.metrics import Metrics
from nodeworthy_validator.settings import Bounds


@dataclass
class Resolver:
    """Answers what is asked, unless it is held."""

    asked: list[ResolveRequest] = field(default_factory=list)
    error: NodeworthyError | None = None
    is_held: bool = False
    at_once: int = 0
    most_at_once: int = 0

    async def ask(self, request: ResolveRequest, _: float) -> ResolveReply:
        self.asked.append(request)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(3600 if self.is_held else 0)
        finally:
            self.at_once -= 1
        if self.error:
            raise self.error
        return ResolveReply(knowledge=ImageKnowledge(request.reference, "sha256:x", "index", ()))


@dataclass
class Clock:
    now: float = 0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def resolver() -> Resolver:
    return Resolver()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def lookups(resolver: Resolver, clock: Clock, **bounds: int) -> ImageLookups:
    return ImageLookups(resolver.ask, replace(Bounds(), **bounds), Metrics(), seconds=10, clock=clock)


async def test_an_answer_is_kept_for_a_short_time_for_the_platforms_that_were_asked(
    resolver: Resolver, clock: Clock
) -> None:
    images = lookups(resolver, clock)
    for _ in range(3):
        await images.get(["a", "a"], ["linux/amd64"], 5)
    assert len(resolver.asked) == 1
    await images.get(["a"], ["linux/arm64"], 5)
    assert [request.platforms for request in resolver.asked] == [("linux/amd64",), ("linux/arm64",)]
    clock.now = 11
    await images.get(["a"], ["linux/amd64"], 5)
    assert len(resolver.asked) == 3


async def test_of_too_many_platforms_all_are_asked_for(resolver: Resolver, clock: Clock) -> None:
    images = lookups(resolver, clock)
    await images.get(["a"], [f"linux/{number}" for number in range(101)], 5)
    await images.get(["b"], None, 5)
    assert [request.platforms for request in resolver.asked] == [(), ()]


async def test_a_failure_is_given_and_not_kept(resolver: Resolver, clock: Clock) -> None:
    images = lookups(resolver, clock)
    resolver.error = RegistryDeniedError("no")
    assert (await images.get(["a"], None, 5))["a"] is resolver.error
    resolver.error = None
    assert isinstance((await images.get(["a"], None, 5))["a"], ImageKnowledge)


async def test_what_does_not_come_in_time_is_given_up(resolver: Resolver, clock: Clock) -> None:
    resolver.is_held = True
    found = await lookups(resolver, clock).get(["a", "b"], None, 0.02)
    assert [type(one) for one in found.values()] == [BusUnreachableError] * 2
    assert resolver.at_once == 0
    assert isinstance((await lookups(resolver, clock).get(["a"], None, -1))["a"], BusUnreachableError)


async def test_only_so_many_are_asked_at_once_and_kept(resolver: Resolver, clock: Clock) -> None:
    images = lookups(resolver, clock, lookups=3, images=4)
    found = await images.get([f"i{number}" for number in range(20)], None, 5)
    assert all(isinstance(one, ImageKnowledge) for one in found.values())
    assert resolver.most_at_once == 3
    assert len(images._kept) == 4
    small = lookups(resolver, clock, image_bytes=200)
    await small.get([f"i{number}" for number in range(20)], None, 5)
    assert 0 < small._bytes <= 200
