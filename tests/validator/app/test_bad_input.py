"""What cannot be read or cannot be, in requests and on the bus, harms only itself."""

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from nodeworthy.bus import payloads
from nodeworthy.bus.keys import DETECTOR, labels_key, snapshot_key
from nodeworthy.bus.names import Bucket, Endpoint
from nodeworthy.bus.records import VERSION
from nodeworthy.bus.requests import ErrorReply
from nodeworthy.verdicts import Answer

if TYPE_CHECKING:
    from tests.validator.app.conftest import MakeNode
    from tests.validator.conftest import Bus, Eventually, Person, Registry, Start

TAGGED = "{version: v1alpha1, compatibilities: [{tag: fast, rules: [{name: any}]}]}"


@pytest.mark.parametrize("endpoint", [Endpoint.VALIDATE, Endpoint.EXPLAIN, Endpoint.NODES])
async def test_what_cannot_be_read_is_answered_with_an_error_and_the_next_request_is_served(
    endpoint: Endpoint, bus: "Bus", reader: "Person", start: "Start"
) -> None:
    await start()
    subject = bus.store.names.endpoint(endpoint)
    newer = {"version": VERSION + 1, "image": "a", "node": "b"}
    for body, code in (
        (b"\xc1", "bad-request"),
        (b"{", "bad-request"),
        (b'{"limit": "x", "image": 5}', "bad-request"),
        (b"[" * 5000, "bad-request"),
        (json.dumps(newer).encode(), "newer-version"),
        (msgspec.msgpack.encode(newer), "newer-version"),
    ):
        said = await reader.connection.request(subject, body)
        decoded = payloads.decode(said.data, ErrorReply)
        assert (decoded.code, (said.headers or {})["Nats-Service-Error-Code"]) == (code, code)
        is_json = body[:1] in (b"{", b"[")
        assert (payloads.format_of(said.data) is payloads.Format.JSON) is is_json
    assert (await reader.nodes()).total == 0


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"image": "a" * 2000},
        {"image": "a", "selector": "a b"},
        {"image": "a", "cursor": "x"},
        {"image": "a", "platform": "linux"},
        {"image": "a", "spec": "{"},
        {"image": "a", "spec": TAGGED, "tags": ["nothing"]},
        {"images": ["a"] * 101},
        {"image": "a", "limit": 5000},
        {"image": "a", "only": ["perhaps"]},
    ],
    ids=str,
)
async def test_a_request_for_what_cannot_be_is_refused_with_a_reason(
    asked: dict[str, Any], reader: "Person", start: "Start"
) -> None:
    await start()
    said = await reader.connection.request("nodeworthy.local.validate", json.dumps(asked).encode())
    reply = payloads.decode(said.data, ErrorReply)
    assert reply.code == "bad-request"
    assert reply.what


@pytest.mark.usefixtures("resolver")
async def test_what_cannot_be_read_in_the_buckets_harms_only_itself(
    bus: "Bus",
    reader: "Person",
    registry: "Registry",
    start: "Start",
    eventually: "Eventually",
    make_node: "MakeNode",
    card: str,
) -> None:
    await bus.publish("n1", make_node())
    await start()
    image = await registry.push("app", spec=card)
    newer = msgspec.msgpack.encode({"version": VERSION + 1})
    for body in (b"", b"\xc1", newer, b"\x00" * 250_000, b"{"):
        await bus.store.put(Bucket.NODES, snapshot_key("n1", DETECTOR), body)
        await bus.store.put(Bucket.NODES, "strange.key", body)
        await bus.store.put(Bucket.LABELS, labels_key("n1"), body)
        assert (await reader.validate(image, node="n1")).verdicts[0].verdict is Answer.COMPATIBLE

    async def is_told() -> str:
        return (await reader.nodes()).nodes[0].producers[0].problem

    await eventually(is_told)
    bus.publishers.clear()
    await bus.publish("n1", make_node("8086"))

    async def is_read() -> bool:
        return await reader.answer(image, node="n1") is Answer.INCOMPATIBLE

    await eventually(is_read)
