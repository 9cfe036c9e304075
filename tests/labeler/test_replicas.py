"""Several labelers on one bus: they share the nodes, and none that is killed takes a change with it."""

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING

import pytest

from nodeworthy.bus.keys import parse_labels_key
from nodeworthy.bus.labels import read_live_labels
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.watching import Put, Watch
from nodeworthy_labeler.members import owner_of
from nodeworthy_labeler.settings import Membership

if TYPE_CHECKING:
    from tests.labeler.conftest import Bus, Eventually, MakeFacts, Start, StartProcess

KEY = "feature.node.kubernetes.io/count"
NODES = [f"n{number}" for number in range(40)]
QUICK = Membership(beat=0.3, lease=1.0, join=0.1)


class History:
    """Every value that the label had on each node, as far as a watch sees them, in order."""

    def __init__(self) -> None:
        self.counts: dict[str, list[int]] = {node: [] for node in NODES}

    @contextlib.asynccontextmanager
    async def followed(self, bus: "Bus") -> AsyncIterator[None]:
        following = asyncio.create_task(self._follow(bus))
        yield
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following

    async def has_all(self, count: int) -> bool:
        """Whether the watch has seen this value on every node."""
        return all(counts and counts[-1] == count for counts in self.counts.values())

    def is_monotonic(self) -> bool:
        """Whether no value came twice or after a later one: nothing was undone, and nothing written for nothing."""
        return all(counts == sorted(set(counts)) for counts in self.counts.values())

    async def _follow(self, bus: "Bus") -> None:
        async for change in Watch(bus.store, Bucket.LABELS).changes():
            if isinstance(change, Put):
                node = parse_labels_key(change.key)
                self.counts[node].append(int(read_live_labels(change.data)[KEY]))


async def _publish_all(bus: "Bus", facts: "MakeFacts", count: int) -> None:
    for node in NODES:
        await bus.publish(node, facts({"count": str(count)}))


async def _has_all(bus: "Bus", count: int) -> None:
    for node in NODES:
        await bus.labels_that(node, lambda labels: labels == {KEY: str(count)})


def _owners(caplog: pytest.LogCaptureFixture) -> list[tuple[str, ...]]:
    """Among whom the nodes were shared, as the labelers of this process said it."""
    return [record.__dict__["fields"]["owners"] for record in caplog.records if record.message == "labeler.members"]


async def test_two_labelers_share_the_nodes_and_each_change_is_written_once(
    bus: "Bus",
    start: "Start",
    facts: "MakeFacts",
    eventually: "Eventually",
    caplog: pytest.LogCaptureFixture,
) -> None:
    await _publish_all(bus, facts, 0)
    with caplog.at_level("INFO"):
        await start()
        await start()

        async def pairs_of_both() -> list[tuple[str, ...]]:
            found = _owners(caplog)
            return [owners for owners in found if len(owners) > 1] if sum(map(len, found)) >= 4 else []

        pairs = await eventually(pairs_of_both)
    assert pairs[0] == pairs[1]
    shares = [sum(owner_of(node, pairs[0]) == owner for node in NODES) for owner in pairs[0]]
    assert min(shares) > 5
    await _has_all(bus, 0)
    before = await bus.settled_writes()
    assert before == len(NODES)
    await _publish_all(bus, facts, 1)
    await _has_all(bus, 1)
    # Long enough for three leases: nothing swings to and fro.
    assert await bus.settled_writes(3.0) == before + len(NODES)


async def test_a_labeler_that_leaves_hands_its_nodes_over_at_once(
    bus: "Bus", start: "Start", facts: "MakeFacts"
) -> None:
    patient = Membership(beat=1.0, lease=60.0, join=0.1)
    await _publish_all(bus, facts, 0)
    first = await start(membership=patient)
    await start(membership=patient)
    await _has_all(bus, 0)
    await first.end()
    await _publish_all(bus, facts, 1)
    async with asyncio.timeout(5):
        await _has_all(bus, 1)


async def test_a_labeler_that_is_killed_under_load_loses_no_change_and_none_is_undone(
    bus: "Bus", facts: "MakeFacts", start_process: "StartProcess", eventually: "Eventually"
) -> None:
    history = History()
    await _publish_all(bus, facts, 0)
    doomed = await start_process(QUICK)
    await start_process(QUICK)
    await _has_all(bus, 0)
    async with history.followed(bus):
        for count in range(1, 6):
            await _publish_all(bus, facts, count)
            if count == 3:
                doomed.kill()
                killed = time.monotonic()
        await _has_all(bus, 5)
        late = time.monotonic() - killed
        await eventually(partial(history.has_all, 5))
    # As 15 s are to a lease of 10 s.
    assert late < 1.5 * QUICK.lease + 1.0
    assert history.is_monotonic()


async def test_a_labeler_that_was_frozen_undoes_nothing_of_what_others_did_meanwhile(
    bus: "Bus", facts: "MakeFacts", start_process: "StartProcess", eventually: "Eventually"
) -> None:
    history = History()
    await _publish_all(bus, facts, 0)
    frozen = await start_process(QUICK)
    await start_process(QUICK)
    await _has_all(bus, 0)
    async with history.followed(bus):
        await _publish_all(bus, facts, 1)
        frozen.send_signal(signal.SIGSTOP)
        await _publish_all(bus, facts, 2)
        await _has_all(bus, 2)
        frozen.send_signal(signal.SIGCONT)
        await _publish_all(bus, facts, 3)
        await _has_all(bus, 3)
        await eventually(partial(history.has_all, 3))
        await bus.settled_writes(1.5)
    assert history.is_monotonic()
