"""What the services say to the bus at rest: the server's own counts of messages and bytes, connection by connection.

Three windows of a minute: labeler, resolver and validator alone; detectors beside them; detectors that put their snapshots
again every few seconds, which gives what one renewal costs. Held against nothing but zero. Bytes are those of payloads and
headers, as the server counts them; subjects, acknowledgements of TCP, and pings are not among them.
"""

import asyncio
import contextlib
import functools
import json
import tempfile
import urllib.request
from pathlib import Path
from typing import NamedTuple

from bench_bus import HOSTS, NAMES, _service
from bench_detector import Bus, _bus, _heard

from nodeworthy.bus.connection import Connection, connect
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.snapshots import PublishingSettings
from nodeworthy.bus.streams import define_streams, ensure_streams

SERVICES = ("labeler", "resolver", "validator")
DETECTORS = 5
WINDOW_SECONDS = 60
SETTLE_SECONDS = 15
"""What starting left to do: the first check of a watch, the first look of a labeler at its streams."""
SELDOM, OFTEN = 100_000, 3
"""Seconds between two renewals, to tell what a renewal costs from what waiting costs."""
FLEETS = (1000, 100_000)
ROOT = HOSTS / "linux-rocky8-zen4_gpu" / "root"
"""A recorded machine, whose facts do not change while it is measured."""


class Traffic(NamedTuple):
    """What went over a connection: ``sent`` is from the client to the server."""

    sent: float = 0
    sent_bytes: float = 0
    received: float = 0
    received_bytes: float = 0

    def plus(self, other: "Traffic", times: float = 1) -> "Traffic":
        """The sum, the other one taken so many times."""
        return Traffic(*(mine + times * its for mine, its in zip(self, other, strict=True)))

    def scaled(self, times: float) -> "Traffic":
        """So many times this."""
        return Traffic().plus(self, times)


Counts = dict[str, Traffic]
"""By the name of the connections."""


def run() -> None:
    """Start a bus, then measure."""
    with tempfile.TemporaryDirectory(dir=Path.home()) as name, _bus(Path(name)) as bus:
        asyncio.run(_measure(bus))


async def _measure(bus: Bus) -> None:
    async with connect(ConnectionSettings(servers=(bus.url,), name="admin")) as connection:
        await ensure_streams(connection, define_streams(NAMES))
        async with contextlib.AsyncExitStack() as stack:
            for name in SERVICES:
                await stack.enter_async_context(_service(name, bus.url))
            alone, _ = await _watch(bus, connection)
            resting, _ = await _watch_detectors(bus, connection, SELDOM)
            renewing, renewals = await _watch_detectors(bus, connection, OFTEN)
    renewal = {name: renewing[name].plus(resting[name], -1).scaled(1 / renewals) for name in renewing}
    print(f"{'':24} {'to the bus':>22} {'from the bus':>22}")
    _tell("at rest without nodes, a minute", alone)
    _tell(f"at rest with {DETECTORS} detectors, a minute", resting)
    _tell(f"what one renewal adds (of {renewals})", renewal)
    period = PublishingSettings().renew_seconds
    print(f"scaled: detectors by their number, one replica of each other service, a renewal every {period:g} s")
    for nodes in FLEETS:
        _tell(f"{nodes:,} nodes, a second", _scale(resting, renewal, nodes, 60 / period))


def _scale(resting: Counts, renewal: Counts, nodes: int, renewals: float) -> Counts:
    """A fleet's traffic in a second, from five detectors' in a minute. At rest readers hear nothing of single nodes."""
    waiting = resting | {"detector": resting["detector"].scaled(nodes / DETECTORS)}
    counts = {name: waiting[name].plus(renewal[name], nodes * renewals).scaled(1 / 60) for name in waiting}
    return counts | {"all": functools.reduce(Traffic.plus, counts.values())}


async def _watch_detectors(bus: Bus, connection: Connection, renewal: float) -> tuple[Counts, int]:
    async with contextlib.AsyncExitStack() as stack:
        for number in range(DETECTORS):
            arguments = (f"node-{number}", str(ROOT), str(renewal))
            await stack.enter_async_context(_service("detector", bus.url, *arguments))
        return await _watch(bus, connection)


async def _watch(bus: Bus, connection: Connection) -> tuple[Counts, int]:
    """What each service said and heard in a minute, and how many snapshots were stored in it."""
    await asyncio.sleep(SETTLE_SECONDS)
    async with _heard(connection, NAMES.stored_subject(Bucket.NODES, ">")) as stored:
        before, all_before = _read_connections(bus), _read_total(bus)
        await asyncio.sleep(WINDOW_SECONDS)
        after, all_after = _read_connections(bus), _read_total(bus)
        counts = {name: after[name].plus(before[name], -1).scaled(60 / WINDOW_SECONDS) for name in after}
        total = all_after.plus(all_before, -1)
        print(f"the server as a whole, this program included: {_text(total)}")
        return {name: counts[name] for name in sorted(counts) if name != "admin"}, stored.qsize()


def _read_connections(bus: Bus) -> Counts:
    counts: Counts = {}
    for one in _read(bus, "connz")["connections"]:
        counts[one["name"]] = counts.get(one["name"], Traffic()).plus(_traffic(one))
    return counts


def _read_total(bus: Bus) -> Traffic:
    return _traffic(_read(bus, "varz"))


def _read(bus: Bus, page: str) -> dict:  # type: ignore[type-arg] # as the server's page is
    with urllib.request.urlopen(f"{bus.monitoring}/{page}") as answer:
        return dict(json.load(answer))


def _traffic(counted: dict) -> Traffic:  # type: ignore[type-arg] # as above
    return Traffic(*(counted[name] for name in ("in_msgs", "in_bytes", "out_msgs", "out_bytes")))


def _tell(title: str, counts: Counts) -> None:
    print(title)
    for name, traffic in counts.items():
        print(f"  {name:22} {_text(traffic)}")


def _text(traffic: Traffic) -> str:
    sent, sent_bytes, received, received_bytes = traffic
    return f"{sent:8.2f} {sent_bytes / 1e3:10.3f} kB {received:8.2f} {received_bytes / 1e3:10.3f} kB"
