"""Resolvers without their subjects: lookups and searches over a real bus and a registry that counts what it is asked."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pytest

from nodeworthy.bus.requests import ResolveReply, ResolveRequest
from nodeworthy.bus.store import Store
from nodeworthy.images import ArtifactSearch, SearchState
from nodeworthy_resolver.asking import Admission
from nodeworthy_resolver.cache import ImageCache
from nodeworthy_resolver.flights import Flights
from nodeworthy_resolver.lookups import Lookups, Resources, parse_question
from nodeworthy_resolver.metrics import Metrics
from nodeworthy_resolver.oci.store import Content
from nodeworthy_resolver.settings import Lifetimes, Settings

if TYPE_CHECKING:
    from tests.resolver.conftest import Builder, Clock, FaultyRegistry, OpenClient

SETTINGS = Settings(lifetimes=Lifetimes(failure=0))


@dataclass
class Replica:
    """One resolver without its subjects, and questions to it."""

    lookups: Lookups
    metrics: Metrics

    async def __call__(self, reference: str, *platforms: str, fresh: bool = False) -> ResolveReply:
        request = ResolveRequest(reference=reference, platforms=platforms, fresh=fresh)
        return await self.lookups.answer(parse_question(request))

    async def search(self, reference: str, *, fresh: bool = False) -> ArtifactSearch:
        """The search for what is attached to the only image."""
        search = (await self(reference, fresh=fresh)).knowledge.images[0].search
        assert search is not None
        return search

    async def artifact(self, reference: str, *, fresh: bool = False) -> str | None:
        """The digest of what is attached to the only image; the search must not have failed."""
        search = await self.search(reference, fresh=fresh)
        assert search.state is not SearchState.FAILED, search.reason
        return search.artifact.digest if search.artifact else None

    def count(self, kind: str, result: str) -> float:
        """How often the cache served so."""
        labels = {"kind": kind, "result": result}
        return self.metrics.registry.get_sample_value("nodeworthy_resolver_cache_total", labels) or 0.0


class OpenReplica(Protocol):
    """Opens another resolver on the same bus."""

    def __call__(self, settings: Settings = SETTINGS) -> Replica: ...


@pytest.fixture
async def open_replica(bus: Store, open_client: "OpenClient", clock: "Clock") -> AsyncIterator[OpenReplica]:
    """Resolvers that share the bus and a client that does not try again."""
    async with open_client(attempts=1) as client:

        def make(settings: Settings = SETTINGS) -> Replica:
            metrics, bounds = Metrics(), settings.bounds
            cache = ImageCache(bus, metrics, value_bytes=bounds.value_bytes, clock=clock)
            resources = Resources(client, cache, bus, Admission(bounds.lookups_per_registry), metrics, clock)
            flights: Flights[ResolveReply] = Flights(
                most=bounds.lookups, failure_seconds=settings.lifetimes.failure, clock=clock
            )
            return Replica(Lookups(resources, flights, settings), metrics)

        yield make


@pytest.fixture
def replica(open_replica: OpenReplica) -> Replica:
    """A resolver that does not remember failures."""
    return open_replica()


@pytest.fixture
def declared(build: "Builder", faulty: "FaultyRegistry") -> Content:
    """The image ``v1`` with an artifact."""
    faulty.tags["v1"] = image = build.image()
    faulty.attach(image)
    return image
