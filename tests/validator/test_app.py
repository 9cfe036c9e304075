"""The validator as a whole, on a bus with the users of a cluster: what it answers, and when."""

import asyncio
import contextlib
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import aiohttp
import msgspec
import pytest

from nodeworthy import platforms, verdicts
from nodeworthy.bus import payloads
from nodeworthy.bus.client import Msg
from nodeworthy.bus.keys import DETECTOR, labels_key, program, snapshot_key
from nodeworthy.bus.labels import make_record
from nodeworthy.bus.names import TIMEOUT_HEADER, VALIDATOR_SERVICE, Bucket, Endpoint
from nodeworthy.bus.records import VERSION
from nodeworthy.bus.requests import ErrorReply, NodesReply, Require, Undeclared, ValidateReply
from nodeworthy.errors import (
    BusBusyError,
    BusDeniedError,
    BusNobodyError,
    BusRequestError,
    BusUnreachableError,
)
from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.labels import LabelEntry, LabelMemory, LabelState
from nodeworthy.verdicts import Answer, NodeFacts, Wishes
from nodeworthy_validator.app import Validator, run
from nodeworthy_validator.following import Following
from nodeworthy_validator.settings import Lifetimes

if TYPE_CHECKING:
    from tests.conftest import NatsCli
    from tests.validator.conftest import Bus, Eventually, Person, Registry, Start

SPEC = """
version: v1alpha1
compatibilities:
- tag: fast
  weight: 5
  description: wide vectors and a recent kernel
  rules:
  - name: vectors
    matchAny:
    - matchFeatures: [{feature: cpu.cpuid, matchExpressions: {AVX512F: {op: Exists}}}]
    - matchFeatures: [{feature: cpu.cpuid, matchExpressions: {SVE: {op: Exists}}}]
  - name: kernel
    matchFeatures: [{feature: kernel.version, matchExpressions: {major: {op: Gt, value: ["4"]}}}]
- tag: plain
  weight: 1
  rules:
  - name: no-card
    matchFeatures: [{feature: pci.device, matchName: {op: DoesNotExist}}]
- tag: modules
  rules:
  - name: modules
    matchFeatures: [{feature: kernel.enabledmodule, matchExpressions: {overlay: {op: Exists}}}]
"""

CARD = """
version: v1alpha1
compatibilities:
- weight: 7
  rules:
  - name: card
    matchFeatures: [{feature: pci.device, matchExpressions: {vendor: {op: In, value: ["10de"]}}}]
"""


def node(vendor: str = "10de", *, options: int = 0) -> Snapshot:
    """A node with a card; with ``options`` it has a set that is too large to travel inside the snapshot."""
    contents = {
        "system.architecture": FeatureSet(attributes={"architecture": "amd64"}),
        "pci.device": FeatureSet(instances=({"vendor": vendor},)),
    }
    if options:
        contents["kernel.config"] = FeatureSet(attributes={f"OPTION_{number}": "y" for number in range(options)})
    return Snapshot(contents, catalogue=frozenset(contents))


async def answer(reader: "Person", image: str, **asked: Any) -> Answer:
    """The answer about the first node."""
    return (await reader.validate(image, **asked)).verdicts[0].verdict


def asking_for(feature: str, condition: str) -> str:
    """A specification with one condition."""
    return CARD.replace("pci.device", feature).replace('vendor: {op: In, value: ["10de"]}', condition)


@pytest.mark.usefixtures("resolver")
async def test_the_answer_of_the_bus_is_the_verdict_that_each_machine_gives_alone(
    bus: "Bus", reader: "Person", registry: "Registry", start: "Start", machines: Mapping[str, Snapshot]
) -> None:
    for name, snapshot in machines.items():
        await bus.publish(name, snapshot)
    await start()
    images = [
        await registry.push("app", "linux/amd64", "linux/arm64", "linux/s390x", spec=SPEC),
        await registry.push("level", "linux/amd64/v3", "linux/amd64", "linux/riscv64"),
        await registry.push("single", "linux/arm64", spec=SPEC),
        await registry.push("small", "linux/386", "linux/arm/v7", "windows/amd64"),
    ]
    asked: list[dict[str, Any]] = [
        {},
        {"tags": ("plain", "modules")},
        {"undeclared": Undeclared.COMPATIBLE},
        {"platform": "linux/arm64"},
    ]
    seen: Counter[Answer] = Counter()
    for wishes in asked:
        reply = await reader.validate(images=tuple(images), limit=1000, **wishes)
        expected = []
        for image in images:
            knowledge = await registry.look(image)
            expected += [
                verdicts.judge(
                    knowledge,
                    NodeFacts.of(snapshot)._replace(name=name),
                    wanted=platforms.parse(wishes["platform"]) if "platform" in wishes else None,
                    wishes=Wishes(wishes.get("tags", ()), undeclared_is_compatible="undeclared" in wishes),
                )
                for name, snapshot in machines.items()
            ]
        assert list(reply.verdicts) == expected
        seen += Counter(verdict.verdict for verdict in expected)
    assert min(seen[answer] for answer in (Answer.COMPATIBLE, Answer.INCOMPATIBLE, Answer.UNKNOWN)) > 5


@pytest.mark.usefixtures("resolver")
async def test_the_totals_count_the_verdicts_and_the_groups_give_their_reasons(
    bus: "Bus", reader: "Person", registry: "Registry", start: "Start"
) -> None:
    for number in range(7):
        await bus.publish(f"card-{number}", node())
    await bus.publish("other", node("8086"))
    await start()
    image = await registry.push("app", spec=CARD)
    [total] = (await reader.validate(image, limit=0)).totals
    assert (total.counts, total.answer) == ({Answer.COMPATIBLE: 7, Answer.INCOMPATIBLE: 1}, Answer.COMPATIBLE)
    large, small = total.groups
    assert (large.count, large.score) == (7, 7)
    assert large.nodes == ("card-0", "card-1", "card-2", "card-3", "card-4")
    assert small.nodes == ("other",)
    assert "card" in small.reason
    [total] = (await reader.validate(image, limit=0, groups=1, require=Require.ALL)).totals
    assert (total.answer, len(total.groups), total.more_groups) == (Answer.INCOMPATIBLE, 1, 1)


@pytest.mark.usefixtures("resolver")
async def test_the_stock_command_gets_the_same_verdict_in_json(
    bus: "Bus", reader: "Person", registry: "Registry", start: "Start", nats_cli: "NatsCli"
) -> None:
    await bus.publish("node.one", node())
    await start()
    image = await registry.push("app", spec=CARD)
    login = ("--user", "reader", "--password", "correct horse", "--inbox-prefix", "_INBOX.reader")
    as_person = ("--server", bus.server.url, *login, "--timeout", "10s")
    ask = (*as_person, "req", "nodeworthy.local.validate", "-r", json.dumps({"image": image, "node": "node.one"}))
    done = await asyncio.to_thread(nats_cli, *ask)
    said = msgspec.json.decode(done.stdout, type=ValidateReply)
    assert said == await reader.validate(image, node="node.one")
    assert [verdict.verdict for verdict in said.verdicts] == [Answer.COMPATIBLE]
    done = await asyncio.to_thread(nats_cli, *as_person, "req", "nodeworthy.local.nodes", "-r", "")
    assert [one.node for one in msgspec.json.decode(done.stdout, type=NodesReply).nodes] == ["node.one"]
    listed = await asyncio.to_thread(nats_cli, *as_person, "micro", "ls")
    assert VALIDATOR_SERVICE in listed.stdout


@pytest.mark.usefixtures("start", "bus")
async def test_the_service_tells_the_schemas_of_what_it_takes_and_gives(start: "Start", reader: "Person") -> None:
    await start()
    info = json.loads((await reader.connection.request(f"$SRV.INFO.{VALIDATOR_SERVICE}")).data)
    assert info["metadata"]["cluster"] == "local"
    endpoints = {one["name"]: one for one in info["endpoints"]}
    assert set(endpoints) == {"validate", "explain", "nodes"}
    request = json.loads(endpoints["validate"]["metadata"]["request-schema"])
    assert "selector" in request["$defs"]["ValidateRequest"]["properties"]


async def test_nobody_is_answered_before_everything_was_read_once(bus: "Bus", reader: "Person", start: "Start") -> None:
    stream = bus.store.names.stream(Bucket.LABELS)
    await bus.admin.request(f"$JS.API.STREAM.DELETE.{stream}")
    running = await start(wait=False)
    async with asyncio.timeout(20):  # it is found, and has no endpoints
        while True:
            with contextlib.suppress(BusNobodyError):
                info = json.loads((await reader.connection.request(f"$SRV.INFO.{VALIDATOR_SERVICE}")).data)
                break
            await asyncio.sleep(0.01)
    assert not info["endpoints"]
    with pytest.raises(BusNobodyError, match="no validator answers"):
        await reader.validate("app", seconds=0.2)
    await bus.make_streams()
    async with asyncio.timeout(20):
        await running.ready.wait()
    assert (await reader.nodes()).total == 0


@pytest.mark.usefixtures("resolver")
async def test_an_image_that_cannot_be_judged_harms_no_other(
    bus: "Bus", reader: "Person", registry: "Registry", start: "Start"
) -> None:
    await bus.publish("n1", node())
    await start()
    good = await registry.push("app", spec=CARD)
    missing, down = f"{registry.host}/nothing:1", "127.0.0.1:1/app:1"
    reply = await reader.validate(images=(good, missing, down, "UPPER/x"))
    assert [verdict.verdict for verdict in reply.verdicts] == [Answer.COMPATIBLE, Answer.UNKNOWN]
    assert "127.0.0.1:1" in reply.verdicts[1].findings[0].observed
    codes = [total.problem.code if total.problem else "" for total in reply.totals]
    assert codes == ["", "not-found", "", "bad-request"]
    for image, code in ((missing, "not-found"), ("UPPER/x", "bad-request"), ("oci:folder", "bad-request")):
        with pytest.raises(BusRequestError) as caught:
            await reader.validate(image)
        assert caught.value.code == code


async def test_without_a_resolver_the_answer_is_unknown(bus: "Bus", reader: "Person", start: "Start") -> None:
    await bus.publish("n1", node())
    await start()
    reply = await reader.validate("example.com/app:1", seconds=1, undeclared=Undeclared.COMPATIBLE)
    assert reply.verdicts[0].verdict is Answer.UNKNOWN
    assert "no resolver answers" in reply.verdicts[0].findings[0].observed


@pytest.mark.usefixtures("resolver")
async def test_nodes_that_nobody_knows_are_unknown_and_are_counted(
    bus: "Bus", reader: "Person", registry: "Registry", start: "Start"
) -> None:
    await bus.store.put(Bucket.NODES, snapshot_key("broken", DETECTOR), b"\xc1")
    await bus.publish("n1", node())
    await start()
    image = await registry.push("app", spec=CARD)
    reply = await reader.validate(image)
    assert {verdict.node: verdict.verdict for verdict in reply.verdicts} == {
        "broken": Answer.UNKNOWN,
        "n1": Answer.COMPATIBLE,
    }
    assert reply.totals[0].counts == {Answer.COMPATIBLE: 1, Answer.UNKNOWN: 1}
    only = await reader.validate(image, only=(Answer.UNKNOWN,))
    assert [verdict.node for verdict in only.verdicts] == ["broken"]
    [verdict] = (await reader.validate(image, node="nobody")).verdicts
    assert (verdict.verdict, verdict.findings[0].code) == (Answer.UNKNOWN, "node-unknown")


@pytest.mark.usefixtures("resolver")
async def test_a_set_that_never_comes_is_unknown_and_never_compatible(
    bus: "Bus", reader: "Person", registry: "Registry", start: "Start"
) -> None:
    image = await registry.push("app", spec=asking_for("kernel.config", "GONE: {op: DoesNotExist}"))
    await bus.publish("n1", node(options=200))
    await start()
    assert await answer(reader, image) is Answer.COMPATIBLE
    await bus.admin.request(f"$JS.API.STREAM.PURGE.{bus.store.names.stream(Bucket.SETS)}")
    await start(lifetimes=Lifetimes(image=0, pending=0.1))
    answers = {await answer(reader, image, undeclared=Undeclared.COMPATIBLE) for _ in range(30)}
    assert answers == {Answer.COMPATIBLE, Answer.UNKNOWN}  # of the one who knew it, and of the one who never saw it


@pytest.mark.usefixtures("resolver")
async def test_what_changes_on_the_bus_changes_the_answer_before_the_next_poll(
    bus: "Bus", reader: "Person", registry: "Registry", start: "Start", eventually: "Eventually"
) -> None:
    image = await registry.push("app", spec=CARD)
    await bus.publish("n1", node("8086"))
    await start()
    assert await answer(reader, image) is Answer.INCOMPATIBLE
    begun = time.monotonic()
    await bus.publish("n1", node())

    async def is_compatible() -> bool:
        return await answer(reader, image) is Answer.COMPATIBLE

    await eventually(is_compatible)
    assert time.monotonic() - begun < 3  # some 20 ms; the poll comes every 5 s
    await bus.store.remove(Bucket.NODES, snapshot_key("n1", DETECTOR))

    async def is_gone() -> bool:
        return not (await reader.nodes()).total

    await eventually(is_gone)


@pytest.mark.usefixtures("resolver")
async def test_facts_of_a_program_count_until_it_said_they_would(
    bus: "Bus", reader: "Person", registry: "Registry", start: "Start", eventually: "Eventually"
) -> None:
    image = await registry.push("app", spec=asking_for("lab.burnt", "GONE: {op: DoesNotExist}"))
    await bus.publish("n1", node())
    burnt = Snapshot({"lab.burnt": FeatureSet(attributes={"WAS": "1"})})
    await bus.publish("n1", burnt, program("lab"), expires=int(time.time()) + 2)
    await start()
    assert await answer(reader, image) is Answer.COMPATIBLE

    async def is_unknown() -> bool:
        return await answer(reader, image) is Answer.UNKNOWN

    await eventually(is_unknown)
    [known] = (await reader.nodes()).nodes
    assert [producer.problem for producer in known.producers][1].startswith("the time until which")


@pytest.mark.usefixtures("resolver")
async def test_pages_go_on_with_any_replica_and_list_each_verdict_once(
    bus: "Bus", reader: "Person", registry: "Registry", start: "Start"
) -> None:
    names = [f"n{number:02}" for number in range(23)]
    for name in names:
        await bus.publish(name, node("10de" if name < "n11" else "8086"))
    for _ in range(2):
        await start()
    images = (await registry.push("app", spec=CARD), await registry.push("other", "linux/arm64"))
    listed, cursor, pages = [], "", 0
    while pages == 0 or cursor:
        reply = await reader.validate(images=images, limit=5, cursor=cursor)
        listed += [(verdict.image, verdict.node) for verdict in reply.verdicts]
        cursor, pages = reply.cursor, pages + 1
        assert pages < 20
    assert listed == [(image, name) for image in images for name in names]
    only = await reader.validate(images=images, only=(Answer.COMPATIBLE,))
    assert [verdict.node for verdict in only.verdicts] == names[:11]
    listed, cursor = [], "0.0."
    while cursor:
        page = await reader.nodes(limit=4, cursor=cursor)
        assert page.total == 23
        listed += [(one.node, one.platform) for one in page.nodes]
        cursor = page.cursor
        assert len(listed) <= 23
    assert listed == [(name, "linux/amd64") for name in names]


@pytest.mark.usefixtures("resolver")
async def test_a_selector_asks_about_labels_and_names_and_says_what_it_cannot_know(
    bus: "Bus", reader: "Person", registry: "Registry", start: "Start"
) -> None:
    for name in ("a1", "a2", "b1"):
        await bus.publish(name, node())
    record = make_record("a1", LabelMemory(labels={"zone": LabelEntry(LabelState.APPLIED, "a")}))
    await bus.store.put(Bucket.LABELS, labels_key("a1"), payloads.encode(record))
    await start()
    image = await registry.push("app", spec=CARD)
    reply = await reader.validate(image, selector="zone=a", require=Require.ALL)
    assert [verdict.node for verdict in reply.verdicts] == ["a1"]
    assert (reply.undecided, reply.totals[0].answer) == (2, Answer.UNKNOWN)
    assert "labels of 2 nodes are not known" in reply.notices[0]
    reply = await reader.validate(image, selector="metadata.name in (a1,b1)", require=Require.ALL)
    assert [verdict.node for verdict in reply.verdicts] == ["a1", "b1"]
    assert (reply.undecided, reply.totals[0].answer) == (0, Answer.COMPATIBLE)
    assert [one.labels for one in (await reader.nodes(selector="zone")).nodes] == [{"zone": "a"}]
    assert not (await reader.validate(image, selector="metadata.name=zz")).totals[0].counts


@pytest.mark.usefixtures("resolver")
async def test_a_store_that_was_lost_leaves_answers_as_they_were_or_unknown(
    bus: "Bus", reader: "Person", registry: "Registry", start: "Start"
) -> None:
    good, bad = await registry.push("app", spec=CARD), await registry.push("arm", "linux/arm64")
    await bus.publish("n1", node())
    running = await start(lifetimes=Lifetimes(image=0, lost=600))
    seen: list[tuple[Answer, Answer]] = []

    async def look() -> None:
        with contextlib.suppress(BusUnreachableError):
            reply = await reader.validate(images=(good, bad), node="n1", seconds=1, undeclared=Undeclared.COMPATIBLE)
            seen.append((reply.verdicts[0].verdict, reply.verdicts[1].verdict))

    await look()
    bus.server.kill()
    bus.server.wipe()
    await look()
    bus.server.start()
    for _ in range(10):
        await look()
    await bus.make_streams()
    for _ in range(10):
        await look()
    await bus.publish("n2", node())
    async with asyncio.timeout(20):
        while (await reader.nodes()).total < 2 or seen[-1] != (Answer.COMPATIBLE, Answer.INCOMPATIBLE):
            await look()
    assert seen[0] == (Answer.COMPATIBLE, Answer.INCOMPATIBLE)
    assert {first for first, _ in seen} <= {Answer.COMPATIBLE, Answer.UNKNOWN}
    assert {second for _, second in seen} <= {Answer.INCOMPATIBLE, Answer.UNKNOWN}
    [lost, _] = (await reader.nodes()).nodes
    assert "gone from the bus" in lost.producers[0].problem
    # Another replica never heard of it, and says so.
    await running.end()
    await start()
    assert (await reader.validate(good, node="n1")).verdicts[0].verdict is Answer.UNKNOWN


REPLICA = """
import asyncio, sys, msgspec
from nodeworthy_validator.app import Validator, run
from nodeworthy_validator.following import Following
from nodeworthy_validator.settings import Settings
from nodeworthy.bus.connection_settings import ConnectionSettings
settings = Settings(bus=msgspec.json.decode(sys.argv[1], type=ConnectionSettings))
async def main():
    ready = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(run(settings, asyncio.Event(), ready))
        await ready.wait()
        print("ready", flush=True)
asyncio.run(main())
"""


@contextlib.asynccontextmanager
async def replica(bus: "Bus") -> AsyncIterator[asyncio.subprocess.Process]:
    """A validator as a process of its own, which can be killed."""
    settings = msgspec.json.encode(bus.validator().bus).decode()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", REPLICA, settings, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(20):
            assert await process.stdout.readline() == b"ready\n"
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@pytest.mark.usefixtures("resolver")
async def test_of_two_replicas_one_is_killed_under_load_and_no_request_is_lost(
    bus: "Bus", reader: "Person", registry: "Registry"
) -> None:
    await bus.publish("n1", node())
    image = await registry.push("app", spec=CARD)
    async with replica(bus) as first, replica(bus):
        places = asyncio.Semaphore(20)

        async def ask(number: int) -> Answer:
            async with places:
                if number == 60:
                    first.send_signal(signal.SIGKILL)
                reply = await reader.validate(image, node="n1", seconds=20, patience=0.3)
            return reply.verdicts[0].verdict

        answers = await asyncio.gather(*(ask(number) for number in range(200)))
        assert answers == [Answer.COMPATIBLE] * 200
        assert await first.wait() == -signal.SIGKILL


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
        {"image": "a", "spec": SPEC, "tags": ["nothing"]},
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
    bus: "Bus", reader: "Person", registry: "Registry", start: "Start", eventually: "Eventually"
) -> None:
    await bus.publish("n1", node())
    await start()
    image = await registry.push("app", spec=CARD)
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
    await bus.publish("n1", node("8086"))

    async def is_read() -> bool:
        return await answer(reader, image, node="n1") is Answer.INCOMPATIBLE

    await eventually(is_read)


@pytest.mark.usefixtures("resolver")
async def test_http_gives_the_answers_of_the_bus_and_says_when_others_should_be_asked(
    bus: "Bus", reader: "Person", registry: "Registry", start: "Start", eventually: "Eventually", free_port: int
) -> None:
    await bus.publish("n1", node())
    await start(http_port=free_port)
    image = await registry.push("app", spec=CARD)
    async with aiohttp.ClientSession(f"http://127.0.0.1:{free_port}") as session:

        async def is_ready() -> bool:
            async with session.get("/readyz") as probe:
                return probe.status == 200

        assert await is_ready()
        async with session.post("/v1/validate", json={"image": image}) as said:
            assert msgspec.json.decode(await said.read(), type=ValidateReply) == await reader.validate(image)
        async with session.get("/v1/nodes") as said:
            assert [one["node"] for one in (await said.json())["nodes"]] == ["n1"]
        async with session.get("/metrics") as said:
            text = await said.text()
        assert "nodeworthy_validator_nodes 1.0" in text
        assert 'nodeworthy_validator_replies_total{outcome="answered"} 1.0' in text
        bus.server.kill()

        async def is_not_ready() -> bool:
            return not await is_ready()

        await eventually(is_not_ready)
        hurry = {TIMEOUT_HEADER: "500"}
        async with session.post("/v1/validate", json={"image": image}, headers=hurry) as said:
            # Of nodes it knows what it knew, of images nothing.
            assert [one["verdict"] for one in (await said.json())["verdicts"]] == ["unknown"]
        bus.server.start()
        await eventually(is_ready)


async def test_others_should_be_asked_while_what_is_known_may_be_old(bus: "Bus", reader: "Person") -> None:
    validator = Validator(bus.validator())
    assert validator.why_not_answering() == "there is no connection to the bus yet"
    assert validator.why_not_ready() == "there is no connection to the bus"
    validator.connection = reader.connection
    validator.following = following = Following(
        bus.store, validator.inventory, validator.labels, validator.metrics, pending_seconds=1
    )
    assert validator.why_not_ready() == "the facts of the nodes are being read"
    following._nodes_complete.set()
    assert validator.why_not_ready() == "the labels of the nodes are being read"
    following._labels_complete.set()
    assert (validator.why_not_answering(), validator.why_not_ready()) == ("", "")
    following._watch.problem = "nobody listens"
    assert (validator.why_not_answering(), validator.why_not_ready()) == ("", "nobody listens")


async def test_a_busy_validator_says_so(bus: "Bus", reader: "Person", start: "Start") -> None:
    settings = bus.validator()
    await start(bounds=replace(settings.bounds, requests=0))
    with pytest.raises(BusBusyError):
        await reader.validate("app", seconds=0.3)


async def test_it_ends_while_requests_are_in_work(bus: "Bus", reader: "Person", start: "Start") -> None:
    await bus.publish("n1", node())
    running = await start()
    asked = asyncio.Event()

    async def hear(_: Msg) -> None:
        asked.set()  # and never answers

    async with bus.admin.subscribed(bus.store.names.endpoint(Endpoint.RESOLVE), hear):
        asking = asyncio.create_task(reader.validate("example.com/app:1", seconds=15))
        await asked.wait()
        begun = time.monotonic()
        await running.end()
        assert time.monotonic() - begun < 9
    asking.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asking


async def test_it_ends_when_it_may_not_read_what_it_needs(bus: "Bus") -> None:
    async with asyncio.timeout(20):
        with pytest.raises(BusDeniedError):
            await run(bus.validator(bus=bus.resolver().bus), asyncio.Event(), asyncio.Event())


async def test_it_waits_for_a_bus_and_ends_without_one(bus: "Bus", start: "Start") -> None:
    bus.server.kill()
    await (await start(wait=False)).end()
    running = await start(wait=False)
    bus.server.start()
    async with asyncio.timeout(20):
        await running.ready.wait()


@pytest.mark.usefixtures("resolver")
async def test_an_explanation_holds_the_verdict_and_all_that_the_node_knows(
    bus: "Bus", reader: "Person", registry: "Registry", start: "Start"
) -> None:
    from nodeworthy.bus.requests import ExplainRequest
    from nodeworthy.bus.validating import explain

    await bus.publish("n1", node())
    await start()
    image = await registry.push("app", spec=CARD)
    reply = await explain(reader.connection, bus.store.names, ExplainRequest(image=image, node="n1"), seconds=20)
    assert reply.verdict == (await reader.validate(image, node="n1")).verdicts[0]
    assert {name: status.state for name, status in reply.sets.items()} == {
        "pci.device": "present",
        "system.architecture": "present",
    }
    assert [producer.producer for producer in reply.producers] == ["detector"]
    with pytest.raises(BusRequestError, match="no node was named"):
        await explain(reader.connection, bus.store.names, ExplainRequest(image=image, node=""), seconds=20)
