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
from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot, SourceHealth
from nodeworthy.labels import LabelEntry, LabelMemory, LabelState
from nodeworthy_cli.embedded.contexts import FILE, Context, write_context
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
    assert head == ["NODE", "PLATFORM", "FACTS", "AGE", "PRESENT", "ABSENT", "UNKNOWN", "PRODUCERS"]
    assert row[:3] == ["node-1", "linux/amd64/v3", "fresh"]
    assert row[3].endswith("s")
    # usb.device is in the catalogue and was not delivered.
    assert row[4:] == ["3", "1", "2", "detector"]
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
