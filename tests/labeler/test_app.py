"""The labeler as a whole: real servers, recorded machines as nodes, and what happens to both."""

import asyncio
import dataclasses
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nodeworthy.bus import payloads
from nodeworthy.bus.keys import DETECTOR, labels_key, program, set_key, snapshot_key
from nodeworthy.bus.labels import decode_labels, make_record
from nodeworthy.bus.names import Bucket
from nodeworthy.errors import UsageError
from nodeworthy.features import FeatureSet, Snapshot, digest, encode
from nodeworthy.labels import (
    LabelEntry,
    LabelMemory,
    LabelState,
    NodeLabels,
    RuleChain,
    compile_policy,
    reconcile,
    want_labels,
)

if TYPE_CHECKING:
    from tests.labeler.conftest import Bus, Eventually, MakeFacts, Start, WriteRule

PREFIX = "feature.node.kubernetes.io/"
LAB = {"lab.a": FeatureSet(attributes={"x": "1"})}


async def test_recorded_machines_get_the_labels_that_the_library_says_of_each_alone(
    bus: "Bus", start: "Start", machines: Mapping[str, Snapshot]
) -> None:
    for name, snapshot in machines.items():
        await bus.publish(name, snapshot)
    await start()
    for name, snapshot in machines.items():
        wanted = want_labels(snapshot, compile_policy(), RuleChain())
        expected = reconcile(wanted, NodeLabels({}), None).memory
        await bus.labels_that(name, bool)
        assert await bus.memory(name) == expected
    assert await bus.settled_writes() == len(machines)


async def test_a_changed_fact_is_a_label_within_a_second_and_goes_as_fast(
    bus: "Bus", start: "Start", facts: "MakeFacts"
) -> None:
    await start()
    await bus.publish("n1", facts({"a": "1"}))
    assert await bus.labels_that("n1", lambda labels: labels == {f"{PREFIX}a": "1"}) < 1
    await bus.publish("n1", facts({"a": "2", "b": "1"}))
    assert await bus.labels_that("n1", lambda labels: labels == {f"{PREFIX}a": "2", f"{PREFIX}b": "1"}) < 1
    await bus.publish("n1", facts({}))
    assert await bus.labels_that("n1", lambda labels: labels == {}) < 1


async def test_a_record_tells_the_node_object_and_the_rules_that_it_was_made_for(
    bus: "Bus", start: "Start", facts: "MakeFacts"
) -> None:
    await bus.publish("n1", facts({"a": "1"}))
    await start()
    await bus.labels_that("n1", bool)
    stored = await bus.store.get(Bucket.LABELS, labels_key("n1"))
    assert stored
    record = decode_labels(stored.data)
    assert (record.node, record.node_uid, record.rules_digest[:7]) == ("n1", "uid-n1", "sha256:")


async def test_an_unknown_set_removes_no_label_and_tells_why_it_is_kept(
    bus: "Bus", start: "Start", facts: "MakeFacts", eventually: "Eventually"
) -> None:
    await bus.publish("n1", facts({"a": "1"}))
    await start()
    await bus.labels_that("n1", bool)
    await bus.publish("n1", facts({}, {}, "local.label"))

    async def unresolved() -> LabelMemory | None:
        memory = await bus.memory("n1")
        return memory if memory and memory.unresolved else None

    memory = await eventually(unresolved)
    entry = memory.labels[f"{PREFIX}a"]
    assert (entry.state, entry.value) == (LabelState.KEPT, "1")
    assert "local.label is not known: no answer" in entry.reason


async def test_rules_come_change_and_go_with_their_files(
    bus: "Bus", start: "Start", facts: "MakeFacts", rules: Path, write_rule: "WriteRule"
) -> None:
    await bus.publish("n1", facts({}, LAB))
    write_rule("first", "f", "1")
    await start(rules=rules)
    await bus.labels_that("n1", lambda labels: labels == {f"{PREFIX}f": "1"})
    second = write_rule("second", "s", "1")
    await bus.labels_that("n1", lambda labels: labels == {f"{PREFIX}f": "1", f"{PREFIX}s": "1"})
    write_rule("first", "f", "2")
    await bus.labels_that("n1", lambda labels: labels == {f"{PREFIX}f": "2", f"{PREFIX}s": "1"})
    second.unlink()
    await bus.labels_that("n1", lambda labels: labels == {f"{PREFIX}f": "2"})


async def test_a_broken_rule_file_keeps_its_labels_and_the_others_run(
    bus: "Bus",
    start: "Start",
    facts: "MakeFacts",
    rules: Path,
    write_rule: "WriteRule",
    caplog: pytest.LogCaptureFixture,
) -> None:
    await bus.publish("n1", facts({}, LAB))
    broken = write_rule("broken", "b")
    write_rule("other", "o", "1")
    await start(rules=rules)
    await bus.labels_that("n1", lambda labels: len(labels) == 2)
    broken.write_text("spec: [unclosed")
    write_rule("other", "o", "2")
    await bus.labels_that("n1", lambda labels: labels == {f"{PREFIX}b": "1", f"{PREFIX}o": "2"})
    memory = await bus.memory("n1")
    assert memory
    assert memory.labels[f"{PREFIX}b"].state is LabelState.KEPT
    assert [note.giver.part for note in memory.unresolved] == ["broken.yaml"]
    problems = [
        record.__dict__["fields"]["file"] for record in caplog.records if record.message == "labeler.rule_problem"
    ]
    assert problems == ["broken.yaml"]


def _move(source: Path, target: Path) -> None:
    source.rename(target)


async def test_a_folder_of_rules_that_goes_away_changes_nothing(
    bus: "Bus", start: "Start", facts: "MakeFacts", rules: Path, write_rule: "WriteRule", tmp_path: Path
) -> None:
    await bus.publish("n1", facts({}, LAB))
    write_rule("first", "f", "1")
    await start(rules=rules)
    await bus.labels_that("n1", bool)
    _move(rules, tmp_path / "elsewhere")
    before = await bus.settled_writes()
    assert await bus.labels("n1") == {f"{PREFIX}f": "1"}
    _move(tmp_path / "elsewhere", rules)
    write_rule("first", "f", "2")
    await bus.labels_that("n1", lambda labels: labels == {f"{PREFIX}f": "2"})
    assert await bus.settled_writes() == before + 1


async def test_a_folder_of_rules_that_is_not_there_is_told_at_the_start(start: "Start") -> None:
    labeler = await start(wait=False, rules=Path("/nowhere/rules"))
    with pytest.raises(UsageError, match="/nowhere/rules"):
        await labeler.task
    labeler.task = asyncio.create_task(asyncio.sleep(0))


async def test_requests_that_outlast_the_lease_are_refused_as_a_setting(bus: "Bus", start: "Start") -> None:
    slow = dataclasses.replace(bus.settings().bus, request_seconds=1.0)
    labeler = await start(wait=False, bus=slow)
    with pytest.raises(UsageError, match="a request to the bus may take 1 s, which is too long"):
        await labeler.task
    labeler.task = asyncio.create_task(asyncio.sleep(0))


async def test_a_restart_without_changes_writes_nothing(
    bus: "Bus", start: "Start", machines: Mapping[str, Snapshot], rules: Path, write_rule: "WriteRule"
) -> None:
    write_rule("first", "f", "1")
    for name, snapshot in machines.items():
        await bus.publish(name, snapshot)
    first = await start(rules=rules)
    before = await bus.settled_writes()
    assert before == len(machines)
    await first.end()
    second = await start(rules=rules)
    assert await bus.settled_writes() == before
    await second.end()


async def test_renewals_and_rules_that_touch_no_node_write_nothing(
    bus: "Bus", start: "Start", facts: "MakeFacts", rules: Path, write_rule: "WriteRule"
) -> None:
    snapshot = facts({"a": "1"}, LAB)
    await bus.publish("n1", snapshot)
    await start(rules=rules)
    await bus.labels_that("n1", bool)
    before = await bus.settled_writes()
    await bus.resync("n1", snapshot)
    write_rule("first", "f", key="not-there")
    await bus.publish("n2", facts({"a": "1"}))
    await bus.labels_that("n2", bool)
    assert await bus.settled_writes() == before + 1


async def test_a_node_that_its_detector_withdraws_has_no_record_any_more(
    bus: "Bus", start: "Start", facts: "MakeFacts"
) -> None:
    await bus.publish("n1", facts({"a": "1"}))
    await bus.publish("n2", facts({"a": "1"}))
    await start()
    await bus.labels_that("n1", bool)
    await bus.labels_that("n2", bool)
    await bus.store.remove(Bucket.NODES, snapshot_key("n1", DETECTOR))
    await bus.labels_that("n1", lambda labels: not labels)
    assert await bus.memory("n1") is None
    assert await bus.labels("n2")


async def test_facts_go_when_the_time_is_over_that_their_producer_stated(
    bus: "Bus", start: "Start", facts: "MakeFacts"
) -> None:
    detected = Snapshot({}, {}, frozenset())
    await bus.publish("n1", detected)
    await start()
    await bus.publish("n1", facts({"p": "1"}), program("prog"), expires=2**40)
    await bus.labels_that("n1", lambda labels: f"{PREFIX}p" in labels)
    await bus.publish("n1", facts({"p": "1"}), program("prog"), expires=1)
    await bus.labels_that("n1", lambda labels: f"{PREFIX}p" not in labels)


async def test_what_was_said_twice_is_added_up_and_the_program_wins_over_the_detector(
    bus: "Bus", start: "Start", facts: "MakeFacts"
) -> None:
    await start()
    await bus.publish("n1", facts({"p": "2", "q": "1"}), program("prog"))
    await bus.publish("n1", facts({"d": "1", "p": "1"}))
    wanted = {f"{PREFIX}d": "1", f"{PREFIX}p": "2", f"{PREFIX}q": "1"}
    await bus.labels_that("n1", lambda labels: labels == wanted)


async def test_a_record_of_a_newer_program_is_left_alone_and_its_neighbours_are_served(
    bus: "Bus", start: "Start", facts: "MakeFacts"
) -> None:
    body = payloads.encode(make_record("n1", LabelMemory({"vendor.com/a": LabelEntry(LabelState.APPLIED, "1")})))
    newer = body.replace(b"\xa7version\x01", b"\xa7version\x02")
    revision = await bus.store.put(Bucket.LABELS, labels_key("n1"), newer)
    await bus.publish("n1", facts({"a": "1"}))
    await start()
    await bus.publish("n2", facts({"a": "1"}))
    await bus.labels_that("n2", bool)
    stored = await bus.store.get(Bucket.LABELS, labels_key("n1"))
    assert stored
    assert stored.revision == revision


@pytest.mark.parametrize("junk", [b"", b"junk", b"{}", b"\x82\xa4node\xa2n1\xa6memory\xa1x"])
async def test_a_record_that_cannot_be_read_is_written_over(
    bus: "Bus", start: "Start", facts: "MakeFacts", eventually: "Eventually", junk: bytes
) -> None:
    await bus.publish("n1", facts({"a": "1"}))
    await start()
    await bus.labels_that("n1", bool)
    written = junk or b" "
    await bus.store.put(Bucket.LABELS, labels_key("n1"), written)

    async def is_replaced() -> bool:
        stored = await bus.store.get(Bucket.LABELS, labels_key("n1"))
        return stored is not None and stored.data != written

    await eventually(is_replaced)
    assert await bus.labels("n1") == {f"{PREFIX}a": "1"}


async def test_a_bad_set_is_purged_and_asked_for_again(
    bus: "Bus",
    start: "Start",
    facts: "MakeFacts",
    eventually: "Eventually",
    caplog: pytest.LogCaptureFixture,
) -> None:
    content = FeatureSet(attributes={f"OPTION_{number}": "y" for number in range(300)})
    name = digest(encode(content))
    await bus.store.put(Bucket.SETS, set_key(name), b"somebody was here first")
    await start()
    await bus.publish("n1", facts({"a": "1"}, {"kernel.config": content}))

    async def is_gone() -> bool:
        return await bus.store.get(Bucket.SETS, set_key(name)) is None

    await eventually(is_gone)
    assert [
        record.__dict__["fields"]["digest"] for record in caplog.records if record.message == "labeler.bad_set_purged"
    ] == [name]


async def test_the_labeler_tells_whoever_asks_whether_it_is_ready_and_what_it_counts(
    bus: "Bus",
    start: "Start",
    facts: "MakeFacts",
    eventually: "Eventually",
    caplog: pytest.LogCaptureFixture,
) -> None:
    await bus.publish("n1", facts({"a": "1"}))
    with caplog.at_level("INFO"):
        await start(http_port=0)
    await bus.labels_that("n1", bool)
    port = next(
        record.__dict__["fields"]["port"] for record in caplog.records if record.message == "labeler.http_listening"
    )
    pages = {path: await _get(port, path) for path in ("/healthz", "/readyz", "/metrics")}
    assert [status for status, _ in pages.values()] == [200, 200, 200]
    metrics = pages["/metrics"][1]
    assert "nodeworthy_labeler_nodes 1.0\n" in metrics
    assert "nodeworthy_labeler_members 1.0\n" in metrics
    assert 'nodeworthy_labeler_labels{state="applied"} 1.0\n' in metrics
    bus.server.kill()

    async def unready() -> str:
        status, text = await _get(port, "/readyz")
        return text if status == 503 else ""

    assert await eventually(unready) == "there is no connection to the bus\n"


async def _get(port: int, path: str) -> tuple[int, str]:
    def get() -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    return await asyncio.to_thread(get)


async def test_the_labeler_ends_within_a_second_also_without_a_bus(bus: "Bus", start: "Start") -> None:
    labeler = await start()
    bus.server.kill()
    assert await labeler.end() < 3
