import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from nodeworthy.features import FeatureSet, SetState
from nodeworthy_detector.discovery import discover
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.scanning import Scanner
from nodeworthy_detector.sources import SOURCES, Reading, Source

HOST = Host(Path("/"))


class Counter(msgspec.Struct):
    """A source that says how often it was asked."""

    name: str
    asked: int = 0

    @property
    def sets(self) -> tuple[str, ...]:
        return (f"{self.name}.count",)

    def read(self, _host: Host) -> Reading:
        self.asked += 1
        return Reading({f"{self.name}.count": FeatureSet(attributes={"asked": str(self.asked)})})


class Hanging(msgspec.Struct):
    """A source that does not answer before it is let go."""

    gate: threading.Event
    name: str = "hanging"
    sets: tuple[str, ...] = ("hanging.one",)

    def read(self, _host: Host) -> Reading:
        assert self.gate.wait(30)
        return Reading({"hanging.one": FeatureSet(attributes={})})


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    made = threading.Event()
    yield made
    made.set()


def scanner(*sources: Source, returned: "asyncio.Queue[str] | None" = None) -> Scanner:
    return Scanner(HOST, sources, seconds=0.2, on_return=returned.put_nowait if returned else lambda _name: None)


async def test_a_pass_says_what_a_plain_discovery_says() -> None:
    scanned = Scanner(HOST, SOURCES, seconds=30, on_return=lambda _name: None)
    snapshot, plain = await scanned.scan(), discover(HOST)
    assert snapshot.catalogue == plain.catalogue
    assert snapshot.contents["cpu.cpuid"] == plain.contents["cpu.cpuid"]
    assert snapshot.sources.keys() == plain.sources.keys()
    assert scanned.last_looks.keys() == scanned.looks.keys() == scanned.names
    assert all(0 < look.cpu_seconds <= 5 and look.seconds > 0 for look in scanned.looks.values())
    assert scanned.looks["cpu"].facts > 20


async def test_a_pass_over_some_sources_keeps_what_the_others_said() -> None:
    one, two = Counter("one"), Counter("two")
    scanned = scanner(one, two)
    await scanned.scan()
    snapshot = await scanned.scan({"two"})
    assert snapshot.contents["one.count"].attributes == {"asked": "1"}
    assert snapshot.contents["two.count"].attributes == {"asked": "2"}


async def test_a_source_that_was_never_asked_is_unknown() -> None:
    snapshot = await scanner(Counter("one"), Counter("two")).scan({"two"})
    assert snapshot.lookup("one.count").state is SetState.UNKNOWN
    assert set(snapshot.sources) == {"two"}


async def test_a_source_that_hangs_is_unknown_and_its_neighbours_are_read(gate: threading.Event) -> None:
    one, two = Counter("one"), Counter("two")
    scanned = scanner(one, Hanging(gate), two)
    snapshot = await scanned.scan()
    assert snapshot.lookup("hanging.one").state is SetState.UNKNOWN
    assert snapshot.lookup("hanging.one").reason == "source hanging: no answer within 0.2 s"
    assert snapshot.sources["hanging"].error == "no answer within 0.2 s"
    assert snapshot.contents.keys() == {"one.count", "two.count"}
    assert scanned.away == {"hanging"}


async def test_the_loop_goes_on_while_a_source_hangs(gate: threading.Event) -> None:
    scanning = asyncio.create_task(scanner(Hanging(gate)).scan())
    turns = 0
    while not scanning.done():
        turns += 1
        await asyncio.wait({scanning}, timeout=0.02)
    assert turns > 3


async def test_a_source_that_hangs_is_not_asked_again_and_costs_no_more_time(gate: threading.Event) -> None:
    scanned = scanner(Hanging(gate), Counter("one"))
    await scanned.scan()
    async with asyncio.timeout(0.15):
        for _ in range(5):
            snapshot = await scanned.scan()
    assert snapshot.contents["one.count"].attributes == {"asked": "6"}
    assert snapshot.lookup("hanging.one").state is SetState.UNKNOWN
    # The one that hangs, and at most the last pass's, which may be about to end.
    assert sum(thread.name == "scan" for thread in threading.enumerate()) <= 2


async def test_a_source_that_comes_back_is_told_and_asked_again(gate: threading.Event) -> None:
    returned: asyncio.Queue[str] = asyncio.Queue()
    scanned = scanner(Hanging(gate), returned=returned)
    await scanned.scan()
    gate.set()
    async with asyncio.timeout(5):
        assert await returned.get() == "hanging"
    assert not scanned.away
    snapshot = await scanned.scan()
    assert snapshot.lookup("hanging.one").state is SetState.PRESENT
    assert snapshot.sources["hanging"].error == ""


async def test_slow_sources_have_each_their_own_time() -> None:
    class Slow(Counter):
        def read(self, host: Host) -> Reading:
            threading.Event().wait(0.12)
            return super().read(host)

    snapshot = await scanner(Slow("one"), Slow("two"), Slow("three")).scan()
    assert len(snapshot.contents) == 3


async def test_a_source_that_is_switched_off_is_unknown_and_not_asked() -> None:
    one, two = Counter("one"), Counter("two")
    scanned = scanner(one, two)
    await scanned.scan()
    assert scanned.set_sources((one, two), {"two"}) == frozenset()
    snapshot = await scanned.scan()
    assert snapshot.lookup("two.count").state is SetState.UNKNOWN
    assert "switched off" in snapshot.lookup("two.count").reason
    assert snapshot.sources["two"].disabled
    assert (one.asked, two.asked) == (2, 1)
    assert scanned.looks.keys() == {"one"}


async def test_a_source_with_other_settings_or_switched_on_again_has_to_be_asked() -> None:
    scanned = scanner(Counter("one"), Counter("two"), Counter("three"))
    scanned.set_sources((Counter("one"), Counter("two"), Counter("three")), {"three"})
    await scanned.scan()
    assert scanned.set_sources((Counter("one", 1), Counter("two", 7), Counter("three"))) == {"two", "three"}
    snapshot = scanned.snapshot()
    assert snapshot.lookup("two.count").reason == "source two was not asked for"


async def test_a_source_that_stays_as_it_is_keeps_what_it_said() -> None:
    one = Counter("one")
    scanned = scanner(one)
    await scanned.scan()
    assert scanned.set_sources((one, Counter("two"))) == {"two"}
    assert scanned.snapshot().contents["one.count"].attributes == {"asked": "1"}


async def test_a_scan_of_nothing_says_what_is_known() -> None:
    scanned = scanner(Counter("one"))
    await scanned.scan()
    snapshot = await scanned.scan(frozenset())
    assert snapshot.contents["one.count"].attributes == {"asked": "1"}
    assert scanned.last_looks == {}
