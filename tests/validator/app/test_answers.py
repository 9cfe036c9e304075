"""What a validator answers, on a bus with the users of a cluster: verdicts, totals, explanations."""

import asyncio
import importlib.metadata
import json
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from nodeworthy import platforms, verdicts
from nodeworthy.bus.keys import DETECTOR, snapshot_key
from nodeworthy.bus.names import VALIDATOR_SERVICE, Bucket
from nodeworthy.bus.requests import ExplainRequest, NodesReply, Require, Undeclared, ValidateReply
from nodeworthy.bus.serving import semantic_version
from nodeworthy.bus.validating import explain
from nodeworthy.errors import BusRequestError
from nodeworthy.features import Snapshot
from nodeworthy.verdicts import Answer, NodeFacts, Wishes

if TYPE_CHECKING:
    from tests.conftest import NatsCli
    from tests.validator.app.conftest import MakeNode
    from tests.validator.conftest import Bus, Person, Registry, Start

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
    bus: "Bus", reader: "Person", registry: "Registry", start: "Start", make_node: "MakeNode", card: str
) -> None:
    for number in range(7):
        await bus.publish(f"card-{number}", make_node())
    await bus.publish("other", make_node("8086"))
    await start()
    image = await registry.push("app", spec=card)
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
async def test_an_explanation_holds_the_verdict_and_all_that_the_node_knows(
    bus: "Bus", reader: "Person", registry: "Registry", start: "Start", make_node: "MakeNode", card: str
) -> None:
    await bus.publish("n1", make_node())
    await start()
    image = await registry.push("app", spec=card)
    reply = await explain(reader.connection, bus.store.names, ExplainRequest(image=image, node="n1"), seconds=20)
    assert reply.verdict == (await reader.validate(image, node="n1")).verdicts[0]
    assert {name: status.state for name, status in reply.sets.items()} == {
        "pci.device": "present",
        "system.architecture": "present",
    }
    assert [producer.producer for producer in reply.producers] == ["detector"]
    with pytest.raises(BusRequestError, match="no node was named"):
        await explain(reader.connection, bus.store.names, ExplainRequest(image=image, node=""), seconds=20)


@pytest.mark.usefixtures("resolver")
async def test_the_stock_command_gets_the_same_verdict_in_json(
    bus: "Bus",
    reader: "Person",
    registry: "Registry",
    start: "Start",
    nats_cli: "NatsCli",
    make_node: "MakeNode",
    card: str,
) -> None:
    await bus.publish("node.one", make_node())
    await start()
    image = await registry.push("app", spec=card)
    login = ("--user", "reader", "--password", "correct horse", "--inbox-prefix", "_INBOX.reader")
    as_person = ("--server", bus.server.url, *login, "--timeout", "10s")
    ask = (*as_person, "req", "nodeworthy.local.validate", "-r", json.dumps({"image": image, "node": "node.one"}))
    done = await asyncio.to_thread(nats_cli, *ask)
    said = msgspec.json.decode(done.stdout, type=ValidateReply)
    assert said == await reader.validate(image, node="node.one")
    assert [verdict.verdict for verdict in said.verdicts] == [Answer.COMPATIBLE]
    done = await asyncio.to_thread(nats_cli, *as_person, "req", "nodeworthy.local.nodes", "-r", "")
    assert [one.node for one in msgspec.json.decode(done.stdout, type=NodesReply).nodes] == ["node.one"]
    listed = await asyncio.to_thread(nats_cli, *as_person, "micro", "ls", "--json")
    versions = {one["name"]: one["version"] for one in json.loads(listed.stdout)}
    assert versions[VALIDATOR_SERVICE] == semantic_version(importlib.metadata.version("nodeworthy"))


@pytest.mark.usefixtures("start", "bus")
async def test_the_service_tells_the_schemas_of_what_it_takes_and_gives(start: "Start", reader: "Person") -> None:
    await start()
    info = json.loads((await reader.connection.request(f"$SRV.INFO.{VALIDATOR_SERVICE}")).data)
    assert info["metadata"]["cluster"] == "local"
    endpoints = {one["name"]: one for one in info["endpoints"]}
    assert set(endpoints) == {"validate", "explain", "nodes"}
    request = json.loads(endpoints["validate"]["metadata"]["request-schema"])
    assert "selector" in request["$defs"]["ValidateRequest"]["properties"]


@pytest.mark.usefixtures("resolver")
async def test_an_image_that_cannot_be_judged_harms_no_other(
    bus: "Bus", reader: "Person", registry: "Registry", start: "Start", make_node: "MakeNode", card: str
) -> None:
    await bus.publish("n1", make_node())
    await start()
    good = await registry.push("app", spec=card)
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


async def test_without_a_resolver_the_answer_is_unknown(
    bus: "Bus", reader: "Person", start: "Start", make_node: "MakeNode"
) -> None:
    await bus.publish("n1", make_node())
    await start()
    reply = await reader.validate("example.com/app:1", seconds=1, undeclared=Undeclared.COMPATIBLE)
    assert reply.verdicts[0].verdict is Answer.UNKNOWN
    assert "no resolver answers" in reply.verdicts[0].findings[0].observed


@pytest.mark.usefixtures("resolver")
async def test_where_every_node_is_required_one_certain_no_decides_whatever_is_unknown(
    bus: "Bus", reader: "Person", registry: "Registry", start: "Start", make_node: "MakeNode", card: str
) -> None:
    await bus.publish("card", make_node())
    await bus.publish("other", make_node("8086"))
    await bus.store.put(Bucket.NODES, snapshot_key("unknown", DETECTOR), b"\xc1")
    await start()
    image = await registry.push("app", spec=card)

    async def total(*nodes: str) -> Answer:
        return (await reader.validate(image, nodes=nodes, require=Require.ALL, limit=0)).totals[0].answer

    assert await total("card", "other", "unknown") is Answer.INCOMPATIBLE
    assert await total("other", "unknown") is Answer.INCOMPATIBLE
    assert await total("card", "unknown") is Answer.UNKNOWN


@pytest.mark.usefixtures("resolver")
async def test_nodes_that_nobody_knows_are_unknown_and_are_counted(
    bus: "Bus", reader: "Person", registry: "Registry", start: "Start", make_node: "MakeNode", card: str
) -> None:
    await bus.store.put(Bucket.NODES, snapshot_key("broken", DETECTOR), b"\xc1")
    await bus.publish("n1", make_node())
    await start()
    image = await registry.push("app", spec=card)
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
