import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from nodeworthy.bus import payloads
from nodeworthy.bus.composing import Identity
from nodeworthy.bus.keys import KUBERNETES, labels_key, snapshot_key
from nodeworthy.bus.labels import make_record
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.records import Session
from nodeworthy.bus.requests import NodesReply
from nodeworthy.bus.snapshots import SnapshotPublisher
from nodeworthy.bus.store import Stored
from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot, SourceHealth
from nodeworthy.labels import LabelEntry, LabelMemory, LabelState
from nodeworthy_cli.embedded.contexts import FILE, Context, write_context
from nodeworthy_cli.node_summaries import read_nodes
from nodeworthy_cli.nodes import age_text

if TYPE_CHECKING:
    from tests.cli.conftest import FactsBus, Verb

FACTS = Snapshot(
    contents={
        "cpu.cpuid": FeatureSet(flags=frozenset({"AVX2", "X86_64_V1", "X86_64_V2", "X86_64_V3"})),
        "system.architecture": FeatureSet(attributes={"architecture": "amd64"}),
        # Large enough to travel on its own.
        "kernel.config": FeatureSet(attributes={f"OPTION_{number}": "y" for number in range(200)}),
    },
    statuses={"cpu.rdt": SetStatus(SetState.UNKNOWN, "no such file"), "pci.device": SetStatus(SetState.ABSENT, "none")},
    catalogue=frozenset({"cpu.cpuid", "cpu.rdt", "kernel.config", "pci.device", "system.architecture", "usb.device"}),
    sources={"cpu": SourceHealth(), "pci": SourceHealth(faults=("0000:00:1f.3: vendor: is no number",))},
)


def table(text: str) -> list[list[str]]:
    """Rows and cells; cells stand three spaces apart or more."""
    return [[cell.strip() for cell in line.split("   ") if cell.strip()] for line in text.splitlines()]


async def test_a_node_is_listed_with_what_is_known_of_it(facts_bus: "FactsBus", verb: "Verb") -> None:
    await facts_bus.publisher("node-1").publish(FACTS)
    done = verb("nodes", *facts_bus.options)
    head, row, gap, trouble_head, trouble = table(done.stdout)
    assert head == ["NODE", "PLATFORM", "FACTS", "AGE", "HEALTH", "PRESENT", "ABSENT", "UNKNOWN", "PRODUCERS"]
    assert row[:3] == ["node-1", "linux/amd64/v3", "fresh"]
    assert row[3].endswith("s")
    # usb.device is in the catalogue and was not delivered.
    assert row[4:] == ["1 fault", "3", "1", "2", "detector"]
    assert gap == []
    assert trouble_head == ["NODE", "PRODUCER", "SOURCE", "TROUBLE"]
    assert trouble == ["node-1", "detector", "pci", "0000:00:1f.3: vendor: is no number"]
    assert done.stderr == ""


@pytest.mark.parametrize("output", ["json", "yaml"])
async def test_the_documents_have_the_content_of_the_bus_message(
    facts_bus: "FactsBus", verb: "Verb", output: str
) -> None:
    await facts_bus.publisher("node-1").publish(FACTS)
    memory = LabelMemory({"vendor.com/a": LabelEntry(LabelState.APPLIED, "1")})
    body = payloads.encode(make_record("node-1", memory))
    await facts_bus.store.put(Bucket.LABELS, labels_key("node-1"), body)
    text = verb("nodes", "-o", output, *facts_bus.options).stdout
    if output == "yaml":
        import yaml

        text = json.dumps(yaml.safe_load(text))
    reply = msgspec.json.decode(text, type=NodesReply)
    assert reply.total == 1
    (node,) = reply.nodes
    assert (node.node, node.platform, node.labels) == ("node-1", "linux/amd64/v3", {"vendor.com/a": "1"})
    (producer,) = node.producers
    assert (producer.producer, producer.present, producer.absent, producer.unknown) == ("detector", 3, 1, 2)
    assert set(producer.sources) == {"pci"}


async def test_only_nodes_that_are_named_are_listed_and_strangers_are_told(facts_bus: "FactsBus", verb: "Verb") -> None:
    for node in ("a", "b.example.com", "c"):
        await facts_bus.publisher(node).publish(FACTS)
    done = verb("nodes", "b.example.com", "nobody", *facts_bus.options)
    assert [row[0] for row in table(done.stdout)[1:2]] == ["b.example.com"]
    assert "a " not in done.stdout.split("TROUBLE")[0]
    assert done.stderr == "nobody has published facts of nobody\n"


async def test_a_node_of_which_only_others_speak_has_never_been_looked_at(facts_bus: "FactsBus", verb: "Verb") -> None:
    identity = Identity("node-1", KUBERNETES, Session("labeler", 1))
    await SnapshotPublisher(facts_bus.store, identity).publish(Snapshot({}))
    (row,) = table(verb("nodes", *facts_bus.options).stdout)[1:]
    assert row[:3] == ["node-1", "unknown", "never"]
    assert row[-1] == "kubernetes"


@pytest.mark.parametrize("body", [b"junk", b'{"version": 99}', b""])
async def test_what_cannot_be_read_is_said_and_hides_nobody_else(
    facts_bus: "FactsBus", verb: "Verb", body: bytes
) -> None:
    from nodeworthy.bus.keys import DETECTOR

    await facts_bus.publisher("good").publish(FACTS)
    await facts_bus.store.put(Bucket.NODES, snapshot_key("bad", DETECTOR), body)
    rows = table(verb("nodes", *facts_bus.options).stdout)
    assert [row[:3] for row in rows[1:3]] == [["bad", "unknown", "unreadable"], ["good", "linux/amd64/v3", "fresh"]]
    assert rows[5][:3] == ["bad", "detector", "-"]


async def test_a_set_that_is_not_on_the_bus_leaves_the_platform_unknown(facts_bus: "FactsBus", verb: "Verb") -> None:
    await facts_bus.publisher("node-1").publish(Snapshot({}, catalogue=frozenset({"cpu.cpuid"})))
    (row,) = table(verb("nodes", *facts_bus.options).stdout)[1:]
    assert row[:3] == ["node-1", "unknown", "fresh"]


WIDE = Snapshot(
    contents={
        **FACTS.contents,
        "cpu.model": FeatureSet(attributes={"name": "Xeon Gold 6430", "vendor": "Intel"}),
        "kernel.version": FeatureSet(attributes={"full": "5.14.0-427.el9.x86_64"}),
        "system.osrelease": FeatureSet(attributes={"PRETTY_NAME": "Rocky Linux 9.4", "ID": "rocky"}),
        "accel.device": FeatureSet(
            instances=tuple(
                {
                    "kind": "gpu",
                    "model": "=H100",
                    "driver": "nvidia",
                    "driver_version": "550.54",
                    "address": str(number),
                }
                for number in range(2)
            )
        ),
    },
    statuses=FACTS.statuses,
    catalogue=FACTS.catalogue,
    sources={
        "cpu": SourceHealth(),
        "pci": SourceHealth(polled="no events"),
        "usb": SourceHealth(disabled=True),
        "storage": SourceHealth(error="nothing could be found out: sys is not there"),
    },
)


async def test_wide_is_a_ledger_of_the_hardware_with_its_health(facts_bus: "FactsBus", verb: "Verb") -> None:
    await facts_bus.publisher("node-1").publish(WIDE)
    head, row, _, _, *troubles = table(verb("nodes", "-o", "wide", *facts_bus.options).stdout)
    assert head == ["NODE", "ARCHITECTURE", "LEVEL", "MODEL", "OS", "KERNEL", "ACCELERATORS", "HEALTH", "FACTS", "AGE"]
    assert row[:9] == [
        "node-1",
        "amd64",
        "x86-64-v3",
        "Xeon Gold 6430",
        "Rocky Linux 9.4",
        "5.14.0-427.el9.x86_64",
        "2x =H100 (nvidia 550.54)",
        "1 failing",
        "fresh",
    ]
    assert [trouble[2:] for trouble in troubles] == [
        ["pci", "looked at every few seconds: no events"],
        ["storage", "nothing could be found out: sys is not there"],
        ["usb", "switched off by the configuration"],
    ]


async def test_the_table_of_many_nodes_leaves_out_what_is_no_trouble(facts_bus: "FactsBus", verb: "Verb") -> None:
    await facts_bus.publisher("node-1").publish(WIDE)
    troubles = [row[2] for row in table(verb("nodes", *facts_bus.options).stdout)[4:]]
    assert troubles == ["storage"]
    named = [row[2] for row in table(verb("nodes", "node-1", *facts_bus.options).stdout)[4:]]
    assert named == ["pci", "storage", "usb"]


async def test_csv_has_the_ledger_for_a_spreadsheet_and_no_formulas(facts_bus: "FactsBus", verb: "Verb") -> None:
    await facts_bus.publisher("node-1").publish(WIDE)
    one = Snapshot(
        {"accel.device": FeatureSet(instances=({"model": "=H100"},)), "cpu.model": FeatureSet(attributes={})}
    )
    await facts_bus.publisher("node-2").publish(one)
    rows = list(csv.DictReader(verb("nodes", "-o", "csv", *facts_bus.options).stdout.splitlines()))
    assert [row["node"] for row in rows] == ["node-1", "node-2"]
    assert rows[0]["accelerators"] == "2x =H100 (nvidia 550.54)"
    assert rows[1]["accelerators"] == "'=H100 (no driver)"
    assert (rows[1]["model"], rows[1]["level"]) == ("-", "-")
    assert float(rows[0]["age"]) < 60


async def test_the_ledger_as_json_has_its_parts(facts_bus: "FactsBus", verb: "Verb") -> None:
    await facts_bus.publisher("node-1").publish(WIDE)
    (node,) = msgspec.json.decode(verb("nodes", "-o", "json", *facts_bus.options).stdout, type=NodesReply).nodes
    assert node.health == "1 failing"
    assert (node.hardware.level, node.hardware.model) == ("x86-64-v3", "Xeon Gold 6430")
    (kind,) = node.hardware.accelerators
    assert (kind.count, kind.kind, kind.driver_version) == (2, "gpu", "550.54")
    assert node.producers[0].sources["usb"].disabled


async def test_a_set_that_many_nodes_share_is_read_once(facts_bus: "FactsBus", monkeypatch: pytest.MonkeyPatch) -> None:
    flags = frozenset(
        {"X86_64_V2", *(f"FLAG_{number}" for number in range(300))}
    )  # too large to travel in the snapshot
    for number in range(30):
        await facts_bus.publisher(f"node-{number}").publish(Snapshot({"cpu.cpuid": FeatureSet(flags=flags)}))
    read: list[Bucket] = []
    get = facts_bus.store.get

    async def count(bucket: Bucket, key: str) -> Stored | None:
        read.append(bucket)
        return await get(bucket, key)

    monkeypatch.setattr(facts_bus.store, "get", count)
    nodes = await read_nodes(facts_bus.store)
    assert {node.hardware.level for node in nodes} == {"x86-64-v2"}
    assert len(nodes) == 30
    assert read == [Bucket.SETS]


async def test_a_node_that_sees_nothing_of_its_machine_is_blind(facts_bus: "FactsBus", verb: "Verb") -> None:
    failing = SourceHealth(error="nothing could be found out: sys is not there")
    sources = {"cpu": failing, "pci": failing, "usb": SourceHealth(disabled=True)}
    await facts_bus.publisher("node-1").publish(Snapshot({}, sources=sources))
    row = table(verb("nodes", *facts_bus.options).stdout)[1]
    assert row[4] == "blind"


async def test_an_empty_bus_is_no_error(facts_bus: "FactsBus", verb: "Verb") -> None:
    done = verb("nodes", *facts_bus.options)
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == "no node has published facts yet\n"


async def test_more_nodes_than_a_page_holds_are_all_listed(facts_bus: "FactsBus", verb: "Verb") -> None:
    for number in range(1100):
        await facts_bus.publisher(f"node-{number:04}").publish(Snapshot({}))
    names = [row[0] for row in table(verb("nodes", *facts_bus.options).stdout)[1:]]
    assert names == [f"node-{number:04}" for number in range(1100)]


async def test_the_bus_that_runs_here_is_found_without_options(
    facts_bus: "FactsBus", verb: "Verb", tmp_path: Path
) -> None:
    await facts_bus.publisher("node-1").publish(FACTS)
    folder = tmp_path / "data/nodeworthy/local"
    folder.mkdir(parents=True, mode=0o700)
    password = facts_bus.options[-1]
    write_context(folder / FILE, Context(facts_bus.server.url, "reader", password, "_INBOX.reader"))
    assert "node-1" in verb("nodes").stdout


def test_without_a_bus_the_error_says_how_to_get_one(verb: "Verb") -> None:
    done = verb("nodes", code=2)
    assert done.stderr.startswith("error: no bus is known for cluster local\n")
    assert "nodeworthy up" in done.stderr


async def test_a_bus_that_is_away_or_refuses_is_an_error_in_three_parts(facts_bus: "FactsBus", verb: "Verb") -> None:
    refused = verb("nodes", *facts_bus.options[:-1], "wrong", code=2)
    assert "refused this user" in refused.stderr
    facts_bus.server.kill()
    away = verb("nodes", *facts_bus.options, code=2)
    assert "cannot be reached" in away.stderr
    assert "  do:" in away.stderr
    facts_bus.server.start()


async def test_variables_stand_for_the_options(facts_bus: "FactsBus", verb: "Verb") -> None:
    await facts_bus.publisher("node-1").publish(FACTS)
    _, url, _, user, _, password = facts_bus.options
    done = verb("nodes", NODEWORTHY_SERVER=url, NODEWORTHY_USER=user, NODEWORTHY_PASSWORD=password)
    assert "node-1" in done.stdout


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (119, "119s"), (120, "2m"), (7199, "120m"), (7200, "2h"), (172_799, "48h"), (864_000, "10d")],
)
def test_ages_are_written_in_their_largest_unit(seconds: float, text: str) -> None:
    assert age_text(seconds) == text
