import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from nodeworthy.bus.connection import Connection, connect
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.names import Bucket, Names
from nodeworthy.bus.store import Store
from nodeworthy.bus.streams import compare_properties, define_streams, ensure_streams
from nodeworthy.errors import BusNobodyError, BusSetupError, BusUnreachableError

if TYPE_CHECKING:
    from tests.conftest import StartNats
    from tests.shared.bus.conftest import Connect


async def ask_api(connection: Connection, verb: str, body: object = "") -> dict[str, object]:
    message = await connection.request(f"$JS.API.{verb}", json.dumps(body).encode() if body else b"")
    answer = json.loads(message.data)
    assert isinstance(answer, dict)
    return answer


async def test_streams_are_made_once_and_are_right_the_second_time(connecting: "Connect", names: Names) -> None:
    connection = await connecting()
    made = await ensure_streams(connection, define_streams(names))
    assert made == (
        "KV_nodeworthy-test-nodes",
        "KV_nodeworthy-test-sets",
        "KV_nodeworthy-test-images",
        "KV_nodeworthy-test-labels",
        "nodeworthy-test-events",
    )
    assert await ensure_streams(connection, define_streams(names)) == ()


async def test_services_that_start_at_once_make_each_stream_once(connecting: "Connect", names: Names) -> None:
    connections = [await connecting() for _ in range(5)]
    await asyncio.gather(*(ensure_streams(connection, define_streams(names)) for connection in connections))
    listed = await ask_api(connections[0], "STREAM.NAMES")
    assert listed["total"] == 5


async def test_a_stream_that_differs_is_named_with_what_differs(connecting: "Connect", names: Names) -> None:
    connection = await connecting()
    stream = names.stream(Bucket.SETS)
    loose = {"name": stream, "subjects": [names.key_subject(Bucket.SETS, ">")], "allow_rollup_hdrs": True}
    await ask_api(connection, f"STREAM.CREATE.{stream}", loose)
    with pytest.raises(BusSetupError, match=stream) as error:
        await ensure_streams(connection, define_streams(names))
    assert "allow_rollup_hdrs is True, not False" in error.value.differences
    assert "discard_new_per_subject is False, not True" in error.value.differences


async def test_a_stream_whose_subjects_somebody_else_has_cannot_be_made(connecting: "Connect", names: Names) -> None:
    connection = await connecting()
    await ask_api(connection, "STREAM.CREATE.mine", {"name": "mine", "subjects": ["$KV.nodeworthy-test-nodes.>"]})
    with pytest.raises(BusSetupError, match="cannot be made: subjects overlap"):
        await ensure_streams(connection, define_streams(names))


async def test_more_replicas_than_servers_is_a_clear_error(connecting: "Connect", names: Names) -> None:
    with pytest.raises(BusSetupError, match="replicas"):
        await ensure_streams(await connecting(), define_streams(names), replicas=3)


async def test_a_bus_without_jetstream_is_a_clear_error(nats_server: "StartNats", names: Names) -> None:
    server = nats_server({"jetstream": False})
    async with connect(ConnectionSettings(servers=(server.url,))) as connection:
        with pytest.raises((BusNobodyError, BusUnreachableError, BusSetupError)):
            await ensure_streams(connection, define_streams(names))


@pytest.mark.parametrize("bucket", Bucket)
@pytest.mark.parametrize("scope", ["all", "sub"])
async def test_no_message_can_roll_up_a_bucket(store: Store, bucket: Bucket, scope: str) -> None:
    await store.put(bucket, "aa", b"facts of others")
    subject = store.names.key_subject(bucket, "bb")
    answer = json.loads((await store.connection.request(subject, b"x", headers={"Nats-Rollup": scope})).data)
    assert answer["error"]["description"] == "rollup not permitted"
    assert (await store.measure(bucket)).count == 1


async def test_no_message_is_deleted_one_by_one(store: Store) -> None:
    revision = await store.put(Bucket.SETS, "aa", b"1")
    answer = await ask_api(store.connection, f"STREAM.MSG.DELETE.{store.names.stream(Bucket.SETS)}", {"seq": revision})
    assert "error" in answer


def test_a_property_that_the_server_does_not_list_is_zero() -> None:
    assert compare_properties({"a": False, "b": 0, "c": []}, {}) == ()
    assert compare_properties({"a": True}, {}) == ("a is False, not True",)
