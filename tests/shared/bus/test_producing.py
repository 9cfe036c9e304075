"""A program of the operator on a real bus, with the rights of its own user and nothing else."""

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest
from tests.shared.bus.conftest import PASSWORD

from nodeworthy.bus import payloads, permissions
from nodeworthy.bus.client import Msg
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.keys import program, snapshot_key
from nodeworthy.bus.names import Bucket, Names
from nodeworthy.bus.producing import producing
from nodeworthy.bus.records import SnapshotMessage
from nodeworthy.bus.store import Store
from nodeworthy.bus.streams import define_streams, ensure_streams
from nodeworthy.errors import BusDeniedError, UsageError
from nodeworthy.features import FeatureSet, SetState

if TYPE_CHECKING:
    from tests.shared.bus.conftest import Eventually, SecuredBus, StartSecured

NODE, NAME, KEY = "n1", "rack-agent", snapshot_key("n1", program("rack-agent"))
POWER = {"rack.power": FeatureSet(attributes={"feed": "b"})}


class Rack:
    """A bus with a program of its own user, as its admin sees it."""

    def __init__(self, bus: "SecuredBus", store: Store, settings: ConnectionSettings) -> None:
        self.store = store
        self.settings = settings
        self.cluster = bus.names.cluster
        self.heard = asyncio.Event()

    async def read(self) -> SnapshotMessage | None:
        stored = await self.store.get(Bucket.NODES, KEY)
        return payloads.decode(stored.data, SnapshotMessage) if stored and not stored.is_removal else None

    async def hear(self, _message: Msg) -> None:
        self.heard.set()

    async def message_with(self, name: str) -> SnapshotMessage:
        """The stored snapshot as soon as a set is in it."""
        async with asyncio.timeout(20):
            while (found := await self.read()) is None or name not in found.sets:
                await self.heard.wait()
                self.heard.clear()
            return found


@pytest.fixture
async def rack(secured: "StartSecured", names: Names) -> AsyncIterator[Rack]:
    user, admin = permissions.operator_program(names, NODE, NAME), permissions.admin()
    bus = await secured(user, admin)
    store = await bus.store_as(admin)
    await ensure_streams(store.connection, define_streams(names))
    settings = ConnectionSettings(
        servers=(bus.server.url,), user=user.name, password=PASSWORD, inbox_prefix=user.inbox_prefix
    )
    made = Rack(bus, store, settings)
    async with store.connection.subscribed(names.stored_subject(Bucket.NODES, ">"), made.hear):
        yield made


async def test_facts_are_stored_under_the_programs_own_key_with_its_own_expiry(rack: Rack) -> None:
    async with producing(
        rack.settings, NAME, node=NODE, cluster=rack.cluster, lifetime=300, clock=lambda: 1_000.5
    ) as facts:
        facts.say(POWER)
        found = await rack.message_with("rack.power")
        assert (found.producer, found.expires) == ("p.rack-agent", 1_301)
        assert found.catalogue == ("rack.power",)
        assert facts.problem == ""


async def test_what_is_left_out_is_absent_and_what_could_not_be_found_out_is_unknown(rack: Rack) -> None:
    async with producing(rack.settings, NAME, node=NODE, cluster=rack.cluster) as facts:
        facts.say(POWER)
        await rack.message_with("rack.power")
        facts.say({"rack.door": None})
        found = await rack.message_with("rack.door")
    assert {name: entry.state for name, entry in found.sets.items()} == {
        "rack.power": SetState.ABSENT,
        "rack.door": SetState.UNKNOWN,
    }


@pytest.mark.parametrize("withdraws", [False, True])
async def test_facts_stay_after_the_end_unless_they_are_withdrawn(rack: Rack, *, withdraws: bool) -> None:
    async with producing(rack.settings, NAME, node=NODE, cluster=rack.cluster, withdraws=withdraws) as facts:
        facts.say(POWER)
        await rack.message_with("rack.power")
    assert (await rack.read() is None) is withdraws


async def test_a_program_may_not_speak_under_another_name(rack: Rack, eventually: "Eventually") -> None:
    async with producing(rack.settings, "other", node=NODE, cluster=rack.cluster) as facts:
        facts.say(POWER)
        await eventually(lambda: facts.problem)
    assert await rack.store.get(Bucket.NODES, snapshot_key(NODE, program("other"))) is None


async def test_an_error_of_the_programs_own_comes_out_as_it_is(rack: Rack) -> None:
    with pytest.raises(ValueError, match="mine"):
        async with producing(rack.settings, NAME, node=NODE, cluster=rack.cluster):
            raise ValueError("mine")


async def test_a_wrong_password_and_a_lifetime_of_nothing_are_told(rack: Rack) -> None:
    wrong = ConnectionSettings(servers=rack.settings.servers, user="nobody", password="wrong")
    with pytest.raises(BusDeniedError):
        async with producing(wrong, NAME, node=NODE, cluster=rack.cluster):
            pass
    with pytest.raises(UsageError):
        async with producing(rack.settings, NAME, node=NODE, lifetime=0):
            pass
