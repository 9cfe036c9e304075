"""Streams are made when they are missing, and one labeler of all sweeps."""

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from nodeworthy.bus.connection import connect
from nodeworthy.bus.keys import set_key
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.sets import put_set
from nodeworthy.bus.store import Store
from nodeworthy.bus.streams import define_streams, ensure_streams
from nodeworthy.bus.sweeping import Sweeper, SweepSettings
from nodeworthy.errors import BusSetupError
from nodeworthy.features import FeatureSet, encode
from nodeworthy_labeler.members import Members
from nodeworthy_labeler.settings import Membership
from nodeworthy_labeler.upkeep import sweep_when_due

if TYPE_CHECKING:
    from tests.labeler.conftest import Bus, Eventually, MakeFacts, Start

PREFIX = "feature.node.kubernetes.io/"


async def test_a_labeler_makes_the_streams_of_an_empty_server(bus: "Bus", start: "Start", facts: "MakeFacts") -> None:
    for bucket in Bucket:
        await bus.delete(bucket)
    await start()
    await bus.publish("n1", facts({"a": "1"}))
    await bus.labels_that("n1", lambda labels: labels == {f"{PREFIX}a": "1"})


async def test_a_bucket_that_is_deleted_while_the_labeler_runs_is_made_again(
    bus: "Bus", start: "Start", eventually: "Eventually"
) -> None:
    await start()
    await bus.delete(Bucket.LABELS)
    info = f"$JS.API.STREAM.INFO.{bus.store.names.stream(Bucket.LABELS)}"

    async def is_made() -> bool:
        return b'"config"' in (await bus.store.connection.request(info)).data

    await eventually(is_made)
    assert await ensure_streams(bus.store.connection, define_streams(bus.store.names)) == ()


async def test_a_stream_that_is_not_as_it_must_be_ends_the_labeler_with_one_clear_error(
    bus: "Bus", start: "Start"
) -> None:
    await bus.delete(Bucket.LABELS)
    name = bus.store.names.stream(Bucket.LABELS)
    body = f'{{"name": "{name}", "subjects": ["$KV.nodeworthy-test-labels.>"], "allow_rollup_hdrs": true}}'
    await bus.store.connection.request(f"$JS.API.STREAM.CREATE.{name}", body.encode())
    labeler = await start(wait=False)
    with pytest.raises(BusSetupError, match="allow_rollup_hdrs is True, not False"):
        await labeler.task
    labeler.task = asyncio.create_task(asyncio.sleep(0))


class Sweeps:
    """One labeler's part in sweeping: its members, and a sweeper for which two days are no time."""

    def __init__(self, me: str, store: Store) -> None:
        self.members = Members(me, time.monotonic, Membership())
        self.members.is_ready = True
        self.sweeper = Sweeper(store, time.time, settings=SweepSettings(between=0, age=0))


async def test_the_owner_of_the_name_sweeps_and_nobody_else(bus: "Bus", eventually: "Eventually") -> None:
    name = await put_set(bus.store, encode(FeatureSet(flags=frozenset({"nobody-names-me"}))))
    sweeps = {me: Sweeps(me, bus.store) for me in ("a", "b")}
    for one in sweeps.values():
        beat = one.members.make_beat()
        for other in sweeps.values():
            other.members.hear(beat)
    owner = next(one for one in sweeps.values() if one.members.is_mine("sweep"))
    other = next(one for one in sweeps.values() if one is not owner)

    async def is_swept() -> bool:
        return await bus.store.get(Bucket.SETS, set_key(name)) is None

    for one, is_expected in ((other, False), (owner, True)):
        sweeping = asyncio.create_task(sweep_when_due(one.sweeper, one.members, look_seconds=0.01))
        if is_expected:
            await eventually(is_swept)
        else:
            await asyncio.sleep(0.3)  # thirty looks, of which two would do
            assert not await is_swept()
        sweeping.cancel()


async def test_a_labeler_may_do_what_upkeep_needs(bus: "Bus") -> None:
    async with connect(bus.settings().bus) as connection:
        store = Store(connection, bus.store.names)
        name = await put_set(store, encode(FeatureSet(flags=frozenset({"junk"}))))
        sweeper = Sweeper(store, time.time, settings=SweepSettings(between=0, age=0))
        await sweeper.sweep()
        assert (await sweeper.sweep()).purged == (set_key(name),)
        assert not connection.denials.recent
