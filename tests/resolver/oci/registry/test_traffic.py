"""What registries say of their limits, and what becomes of it."""

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict
from yarl import URL

from nodeworthy.errors import RegistryBusyError
from nodeworthy_resolver.oci import parse_reference
from nodeworthy_resolver.oci.reference import Reference
from nodeworthy_resolver.oci.registry.answers import Answer
from nodeworthy_resolver.oci.registry.traffic import LONGEST_PAUSE, RateLimit, Traffic, parse_rate_limit

if TYPE_CHECKING:
    from tests.resolver.conftest import Clock, FaultyRegistry, OpenClient, Reply

    from nodeworthy_resolver.oci.store import Content

HUB = URL("https://registry-1.docker.io/v2/")


def answer(status: int = 200, **headers: str) -> Answer:
    return Answer(status, CIMultiDict({name.replace("_", "-"): value for name, value in headers.items()}), b"", HUB)


@pytest.mark.parametrize(
    ("limit", "remaining", "expected"),
    [
        ("100;w=21600", "76;w=21600", RateLimit(100, 76, 21600)),
        ("100", "0", RateLimit(100, 0)),
        ("100, 100;w=60", "7", RateLimit(100, 7, 60)),
        ("100;w=21600", "", None),
        ("many", "few", None),
        ("-1", "5", None),
    ],
)
def test_a_limit_is_read_as_docker_hub_writes_it(limit: str, remaining: str, expected: RateLimit | None) -> None:
    assert parse_rate_limit({"RateLimit-Limit": limit, "RateLimit-Remaining": remaining}) == expected


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_text_is_a_limit_or_none(limit: str, remaining: str) -> None:
    found = parse_rate_limit({"RateLimit-Limit": limit, "RateLimit-Remaining": remaining})
    assert found is None or 0 <= found.left <= 1


def test_the_lowest_part_that_is_left_is_shown_and_a_low_one_is_told_once(
    clock: "Clock", caplog: pytest.LogCaptureFixture
) -> None:
    traffic = Traffic(clock)
    assert traffic.lowest_left == 1
    for remaining in (50, 9, 8):
        traffic.note("GET", answer(RateLimit_Limit="100;w=21600", RateLimit_Remaining=f"{remaining};w=21600"))
    assert traffic.lowest_left == 0.08
    assert [record.message for record in caplog.records].count("resolver.rate_limit_low") == 1
    assert traffic.requests == {("GET", "2xx"): 3}


def test_a_host_is_left_alone_as_long_as_it_asks_for_and_no_other(clock: "Clock") -> None:
    traffic = Traffic(clock)
    traffic.pause(HUB, 100)
    traffic.check(URL("https://quay.io/v2/"))
    clock.now += 99
    assert traffic.paused == 1
    with pytest.raises(RegistryBusyError, match="to be left alone for 1 s more"):
        traffic.check(HUB)
    clock.now += 1
    traffic.check(HUB)
    assert (traffic.paused, traffic.held_back) == (0, 1)


def test_no_host_is_left_alone_for_ever(clock: "Clock") -> None:
    traffic = Traffic(clock)
    traffic.pause(HUB, 1e12)
    clock.now += LONGEST_PAUSE
    traffic.check(HUB)


async def test_a_registry_that_asks_for_a_long_wait_is_not_asked_by_the_next_question(
    faulty: "FaultyRegistry", image: "Content", open_client: "OpenClient", reply: "Reply"
) -> None:
    faulty.script("HEAD", "manifests/v1", reply(429, Retry_After="600"), always=True)
    reference = parse_reference(faulty.name)
    assert isinstance(reference, Reference)
    async with open_client() as client:
        for says in ("answered 429", "asked to be left alone for 600 s"):
            with pytest.raises(RegistryBusyError, match=says):
                await client.store(reference).read_digest("v1")
        with pytest.raises(RegistryBusyError, match="left alone"):
            await client.store(reference).read_manifest(image.digest)
        assert client.traffic.requests == {("HEAD", "429"): 1}
    assert len(faulty.seen) == 1


@pytest.mark.usefixtures("image")
async def test_waits_are_counted_by_who_asked_for_them(
    faulty: "FaultyRegistry", open_client: "OpenClient", reply: "Reply"
) -> None:
    faulty.script("HEAD", "manifests/v1", reply(429, Retry_After="3"), reply(503))
    reference = parse_reference(faulty.name)
    assert isinstance(reference, Reference)
    async with open_client() as client:
        await client.store(reference).read_digest("v1")
        assert client.traffic.waits == {"asked": 3.0, "backoff": 0.5}
        assert client.traffic.requests == {("HEAD", "429"): 1, ("HEAD", "5xx"): 1, ("HEAD", "2xx"): 1}
