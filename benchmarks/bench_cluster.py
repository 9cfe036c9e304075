"""The labeler on a real API server: 84 labels on each of 1,000 Nodes, new rules, single changes, a restart.

`python benchmarks/bench_cluster.py 5000` takes another number of Nodes. Held against what NFD took for the same (its figures
stand below), scaled by what one label costs the API server here and there, since that is where most of the work is done; and
against a bare client that sends so many patches.
"""

import asyncio
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench_bus import _service
from bench_detector import _bus, _memory, _running
from bench_detector import _service as _detector
from departures import Answers, Records
from labelled_cluster import (
    EVERYWHERE,
    LABELS,
    OTHER_LABELS,
    PREFIX,
    RARELY,
    Bare,
    Floor,
    LabelledCluster,
    Usage,
    following,
    read_peak,
)
from timing import ROOT

from nodeworthy.bus.connection import Connection, connect
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.names import Names
from nodeworthy.bus.store import Store
from nodeworthy.bus.streams import define_streams, ensure_streams
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.config import find_access
from nodeworthy.kubernetes.requests import RequestLimits

sys.path.insert(0, str(ROOT))
from tests.kubernetes.cluster import Cluster  # found by the line above
from tests.kubernetes.counting import RequestKind
from tests.labeler.cluster.objects import Objects

NODE_COUNT = 1_000
ROUNDS = 3
CHANGES = 30
GONE = 1_000
"""Nodes that are deleted at once."""
QUIET_SECONDS = 10
"""In which statuses, records and events are written; statuses once in as many."""
NAMES = Names("local")


class Figures(NamedTuple):
    """What was taken, in seconds; nan: not known."""

    start: float
    """From the start of the process until all are labelled."""
    rule: float
    """A new rule on every Node."""
    rare: float
    """A new rule that matches one in a hundred."""
    busy: float
    """The longest change while every Node is redone."""
    cpu: float
    """Of the labeler or master, for the start."""


UNKNOWN = float("nan")
REFERENCE = {
    (1_000, "defaults"): Figures(47.6, 38.6, 18.6, 35, 6.2),
    (1_000, "parallelism 100"): Figures(9.6, 4.65, 1.6, UNKNOWN, 5.8),
    (5_000, "defaults"): Figures(258, 199, UNKNOWN, 196, 46.5),
    (5_000, "parallelism 100"): Figures(48, 27, UNKNOWN, 24, 39),
}
"""NFD at 76e6cc8 on kube-apiserver 1.35, two shared cores; of ranges the middle. By default it waits for a limit of 50
requests a second, which no machine makes faster."""
REFERENCE_FLOOR = 0.00455
"""Seconds of the API server's processor time for one label of a labelled Node, where NFD was measured."""


def run(count: int = NODE_COUNT) -> None:
    """Start a control plane and a bus, then measure."""
    build = [sys.executable, str(ROOT / "tests/servers/build.py"), "kubernetes"]
    programs = Path(subprocess.run(build, capture_output=True, text=True, check=True).stdout.strip())
    with tempfile.TemporaryDirectory(dir=Path.home()) as name, tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(programs, Path(folder), audit=False)
        try:
            cluster.start()
            Objects(cluster.admin).install()
            with _bus(Path(name)) as bus:
                asyncio.run(_measure(cluster, bus.url, count))
        finally:
            cluster.close()


async def _measure(cluster: Cluster, url: str, count: int) -> None:
    access = find_access({}, cluster.folder, kubeconfig=cluster.kubeconfig)
    limits = RequestLimits(rate=1e6, burst=1000, timeout=30)
    async with (
        connect(ConnectionSettings(servers=(url,))) as connection,
        Client(access, limits, user_agent="bench", is_compressed=False) as client,
    ):
        await ensure_streams(connection, define_streams(NAMES))
        bench = LabelledCluster(cluster, client, Store(connection, NAMES), url, count)
        start = time.perf_counter()
        await bench.make_nodes()
        print(f"{count:,} Nodes made in {time.perf_counter() - start:.1f} s; {_describe_load()}")
        before = bench.read_usage()
        await bench.publish_all()
        _tell("facts of all on the bus", before, bench.read_usage())
        async with following(bench.labels.follow()):
            await bench.labels.is_complete.wait()
            await _measure_all(bench)
            await _measure_ends(bench, connection, url)


async def _measure_all(bench: LabelledCluster) -> None:
    bare = await bench.measure_bare()
    floors = [await bench.measure_floor()]
    stopped = bench.read_usage()
    async with bench.labeler():
        labelled = bench.read_usage(await bench.labels.wait(lambda found: len(found) >= OTHER_LABELS + LABELS))
        _tell(f"process start to all labelled ({LABELS} each)", stopped, labelled)
        await asyncio.sleep(QUIET_SECONDS)
        rule = await _measure_rules(bench, EVERYWHERE, bench.names, floors)
        rare = await _measure_rules(bench, RARELY, bench.rare, floors)
        await _measure_idle(bench)
        busy = await _measure_busy(bench)
        await asyncio.sleep(QUIET_SECONDS)
        _tell_memory(bench)
        print("each Node with a label that no other has, as drivers of storage give them:")
        await bench.set_label(bench.names, str)
        await asyncio.sleep(QUIET_SECONDS)
        await _measure_rule(bench, f"{RARELY}-own", RARELY, bench.rare)
        _tell_memory(bench)
        await asyncio.sleep(2 * QUIET_SECONDS)
    figures = Figures(labelled.wall - stopped.wall, rule, rare, busy, labelled.labeler)
    _compare(len(bench.names), figures, floors, bare)


async def _measure_rules(bench: LabelledCluster, feature: str, nodes: Sequence[str], floors: list[Floor]) -> float:
    """The median time of some new rules, each with a look at what a bare client needs then."""
    taken = []
    for number in range(ROUNDS):
        taken.append(await _measure_rule(bench, f"{feature}-{number}", feature, nodes))
        await asyncio.sleep(QUIET_SECONDS)
        floors.append(await bench.measure_floor())
        await asyncio.sleep(QUIET_SECONDS / 2)  # the labeler looks at what has changed
    return statistics.median(taken)


async def _measure_rule(bench: LabelledCluster, name: str, feature: str, nodes: Sequence[str]) -> float:
    before = bench.read_usage()
    await bench.put_rule(name, "1", feature)
    after = bench.read_usage(await bench.labels.wait(lambda labels: PREFIX + name in labels, nodes))
    _tell(f"a new rule that matches {len(nodes):,}", before, after)
    return after.wall - before.wall


async def _measure_idle(bench: LabelledCluster) -> None:
    names = bench.names[1 :: len(bench.names) // CHANGES][:CHANGES]
    taken = [await _measure_change(bench, name, f"idle-{name}") for name in names]
    print(f"{'one change, idle':44} {_describe_times(taken)}")


async def _measure_busy(bench: LabelledCluster) -> float:
    """The longest time that a change takes while every Node is redone because of a rule."""
    taken: list[float] = []
    name = f"{EVERYWHERE}-0"

    def is_new(labels: Mapping[str, str]) -> bool:
        return labels.get(PREFIX + name) == "2"

    before = bench.read_usage()
    await bench.put_rule(name, "2", EVERYWHERE)
    await bench.labels.wait(is_new, count=len(bench.names) // 20)
    while not all(map(is_new, bench.labels.known.values())):
        taken.append(await _measure_change(bench, bench.names[-1 - 3 * len(taken)], f"busy-{len(taken)}"))
    _tell("a rule with another value, with changes", before, bench.read_usage())
    print(f"{'one change meanwhile':44} {_describe_times(taken)}")
    return max(taken)


async def _measure_change(bench: LabelledCluster, name: str, value: str) -> float:
    start = time.perf_counter()
    await bench.publish(name, change=value)
    return await bench.labels.wait(lambda labels: labels.get(f"{PREFIX}change") == value, [name]) - start


async def _measure_ends(bench: LabelledCluster, connection: Connection, url: str) -> None:
    """A labeler that has nothing to do at first; then a whole way from a node to its label, and nodes that go."""
    stopped = bench.read_usage()
    async with bench.labeler():
        ready = bench.read_usage()
        _tell("restart, nothing to do, until ready", stopped, ready)
        await asyncio.sleep(QUIET_SECONDS)
        _tell(f"  the {QUIET_SECONDS} s after it", ready, bench.read_usage())
        with tempfile.TemporaryDirectory(dir=Path.home()) as folder:
            await _measure_fact(bench, url, Path(folder))
        async with _service("validator", url):
            await _measure_gone(bench, connection)


async def _measure_fact(bench: LabelledCluster, url: str, folder: Path) -> None:
    """One file of features.d after another, on a Node with a detector of its own, which looks at this machine."""
    node, taken = "bench-detector", []
    await bench.make_node(node)
    async with _running(_detector(url, node, folder, burst=2 * CHANGES)):
        for number in range(CHANGES + 1):
            (folder / ".new").write_text(f"fact={number}\n")
            start = time.perf_counter()
            (folder / ".new").rename(folder / "file")
            seen = await bench.labels.wait(lambda labels: labels.get(f"{PREFIX}fact") == str(number), [node])  # noqa: B023 # waited for here
            taken.append(seen - start)
    print(f"{'one fact on a node to its label':44} {_describe_times(taken[1:])}")


async def _measure_gone(bench: LabelledCluster, connection: Connection) -> None:
    """Nodes are deleted; what is said of them on the bus stays for an hour, and nobody is to answer with it."""
    names = bench.names[:GONE]
    records, answers = Records(bench.store, names), Answers(connection, NAMES)
    known = await answers.count()
    async with following(records.follow()), following(answers.follow(known, known - len(names))):
        await records.is_complete.wait()
        before = bench.read_usage()
        deleted = await bench.delete_nodes(names)
        ended = time.perf_counter()
        await records.is_over.wait()
        await answers.is_over.wait()
        _tell(f"{len(names):,} Nodes deleted, until nobody tells of them", before, bench.read_usage())
    for what, dropped in (("its record", records.removed.values()), ("no answer of a validator", answers.dropped)):
        # In which order they go nobody promises; as many are gone as were deleted.
        taken = [then - begun for begun, then in zip(sorted(deleted.values()), sorted(dropped), strict=True)]
        late = f"{(max(dropped) - ended) * 1e3:.0f} ms after the last deletion"
        print(f"{f'  from a deletion to {what}':44} {_describe_times(taken)}; {late}")


def _tell(what: str, before: Usage, after: Usage) -> None:
    labeler = after.labeler - (before.labeler if after.labeler >= before.labeler else 0)
    print(
        f"{what:44} {after.wall - before.wall:7.2f} s; CPU: API server {after.server - before.server:5.2f} s,"
        f" labeler {labeler:5.2f} s; etcd {(after.stored - before.stored) / 1e6:+.1f} MB"
    )
    asked = _describe_requests(after.requests - before.requests)
    if asked:
        print(f"{'':44} {asked}")


def _tell_memory(bench: LabelledCluster) -> None:
    print(f"{'memory of the labeler':44} {_memory(bench.pid):.0f} MB, at its peak {read_peak(bench.pid):.0f} MB")


def _compare(count: int, ours: Figures, floors: Sequence[Floor], bare: Bare) -> None:
    cpu, wall = (statistics.median(one[place] for one in floors) for place in range(2))
    scale = cpu / REFERENCE_FLOOR
    print(
        f"a bare client, one label a Node: API server {cpu * 1e3:.2f} ms ({scale:.2f} of the reference's), {1 / wall:.0f} a"
        f" second, so {count * wall:.2f} s for all"
    )
    for what, taken, floor in (("all labels", ours.start, bare.start), ("one label more", ours.rule, bare.rule)):
        print(
            f"a bare client, our requests for {what}: API server {floor.cpu * 1e3:.2f} ms, {count * floor.wall:.2f} s for"
            f" all; ours: {taken / (count * floor.wall):.2f} times that"
        )
    for (nodes, name), theirs in REFERENCE.items():
        if nodes == count:
            pairs = zip(Figures._fields, theirs, ours, strict=True)
            ratios = ", ".join(f"{field} {its * scale / mine:.1f}" for field, its, mine in pairs if not math.isnan(its))
            print(f"times faster than NFD with {name}, scaled: {ratios}")


def _describe_requests(counted: Mapping[RequestKind, int]) -> str:
    """The requests by verb and kind; looks at metrics are no requests for a kind."""
    kinds: Counter[str] = Counter()
    for (verb, resource, status), number in counted.items():
        if resource:
            kinds[f"{verb} {resource.partition('.')[0]}" + (f" {status}" if status >= 400 else "")] += number
    return ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()) if number)


def _describe_times(taken: Sequence[float]) -> str:
    return f"p50 {statistics.median(taken) * 1e3:.0f} ms, longest {max(taken) * 1e3:.0f} ms of {len(taken)}"


def _describe_load() -> str:
    """How busy the machine is (proc_loadavg(5))."""
    return f"load {Path('/proc/loadavg').read_text().split()[0]}"


if __name__ == "__main__":
    run(*map(int, sys.argv[1:2]))
