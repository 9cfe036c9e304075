"""The fleet table: 100,000 simulated nodes of 60 profiles, each with a name and network devices of its own.

The nodes are variations of the oracle's node. Large contents that nodes share are one object for all, as the bus gives them
(they travel under their digest); small ones are made anew for each node, as they come out of its snapshot. Answers are
compared with those of single nodes before anything is timed.
"""

import gc
import itertools
import resource
import sys
import time
from collections.abc import Iterator, Mapping

import msgspec
from bench_rules import DATA, read_facts
from timing import measure

from nodeworthy import fleet, platforms, rules, verdicts
from nodeworthy.features import FeatureSet, Snapshot, encode
from nodeworthy.images import ImageKnowledge, PlatformImage

NODES = 100_000
PROFILES = 60
LABELED = 1_000
"""Nodes in the part about rules, the number for which NFD's figures are known."""
LARGE = frozenset({"cpu.cpuid", "kernel.config", "kernel.enabledmodule", "kernel.loadedmodule", "pci.device"})
"""Sets of more than a kilobyte; smaller ones travel inside snapshots."""

PER_NODE_SPEC = b"""
version: v1alpha1
compatibilities:
- rules:
  - name: fast network
    matchFeatures:
    - feature: network.device
      matchExpressions:
        operstate: {op: In, value: [up]}
        speed: {op: Gt, value: ["10000"]}
"""


def run() -> None:
    """Load the table, then hold specifications, an image and rules against it."""
    base = read_facts()
    profiles = share([make_profile(base, number) for number in range(PROFILES)])
    measure_all(profiles)
    gc.collect()
    measure_rules(profiles)


def measure_all(profiles: list[Snapshot]) -> None:
    """Everything about the whole fleet."""
    table = load(profiles, NODES)
    spec = rules.read_compatibility_spec((DATA / "bench-compat.yaml").read_bytes(), "bench-compat.yaml")
    specification = fleet.make_specification(spec.compatibilities)
    check_specification(table, specification)
    measure(
        f"a specification of 10 rules, {NODES:,} nodes, warm",
        lambda: fleet.evaluate_specification(table, specification),
        runs=15,
    )
    measure_image(table, spec)
    measure_first(table)
    measure_chain(table, read_chain())
    measure_update(table, profiles)


def make_profile(base: Snapshot, number: int) -> Snapshot:
    """One kind of machine: other kernels, firmware, modules, cards and CPU flags than its neighbours have."""
    contents = dict(base.contents)
    contents["system.architecture"] = FeatureSet(attributes={"architecture": "arm64" if number % 10 == 0 else "amd64"})
    contents["kernel.version"] = _with(contents["kernel.version"], {"full": f"5.{10 + number % 12}.0-{number}"})
    contents["system.dmiid"] = _with(contents["system.dmiid"], {"product_name": f"Server {number % 20}"})
    contents["system.osrelease"] = _with(contents["system.osrelease"], {"ID": ("ubuntu", "debian", "rhel")[number % 3]})
    for name, share in (("cpu.cpuid", 7), ("kernel.loadedmodule", 30), ("kernel.enabledmodule", 30)):
        flags = sorted(contents[name].flags or ())
        contents[name] = FeatureSet(frozenset(flags[number % share :]), contents[name].attributes)
    contents["kernel.config"] = _with(contents["kernel.config"], {f"PROFILE_{number % 30}": "y"})
    cards = contents["pci.device"].instances or ()
    contents["pci.device"] = FeatureSet(instances=cards[number % 20 :])
    return Snapshot(contents, catalogue=frozenset({*contents, "no.such"}))


def share(profiles: list[Snapshot]) -> list[Snapshot]:
    """The same with one object for equal contents, as there is one for each digest."""
    known: dict[bytes, FeatureSet] = {}
    shared = []
    for profile in profiles:
        contents = {name: known.setdefault(encode(one), one) for name, one in profile.contents.items()}
        shared.append(Snapshot(contents, catalogue=profile.catalogue))
    return shared


def _with(content: FeatureSet, changed: Mapping[str, str]) -> FeatureSet:
    return FeatureSet(content.flags, {**(content.attributes or {}), **changed}, content.instances)


def make_nodes(profiles: list[Snapshot], count: int) -> Iterator[tuple[str, Snapshot]]:
    """Names and snapshots, one after the other."""
    for number in range(count):
        profile = profiles[number * 7919 % len(profiles)]
        contents = {name: one if name in LARGE else _copy(one) for name, one in profile.contents.items()}
        contents["system.name"] = FeatureSet(attributes={"nodename": f"node-{number}"})
        contents["network.device"] = FeatureSet(instances=tuple(_card(number, place) for place in range(4)))
        yield f"node-{number}", Snapshot(contents, catalogue=profile.catalogue)


def _copy(content: FeatureSet) -> FeatureSet:
    instances = None if content.instances is None else tuple(dict(instance) for instance in content.instances)
    return FeatureSet(content.flags, dict(content.attributes) if content.attributes else content.attributes, instances)


def _card(number: int, place: int) -> dict[str, str]:
    return {
        "name": f"eth{place}",
        "operstate": "up" if place < 2 else "down",
        "speed": "100000" if (number + place) % 10 > 1 else "1000",
        "mtu": "1500",
        "mac": f"02:00:{number >> 16 & 255:02x}:{number >> 8 & 255:02x}:{number & 255:02x}:{place:02x}",
    }


def load(profiles: list[Snapshot], count: int) -> fleet.Fleet:
    """The table of so many nodes; making the snapshots is not counted."""
    table = fleet.Fleet()
    spent = 0.0
    for name, snapshot in make_nodes(profiles, count):
        start = time.process_time()
        table.update(name, fleet.DETECTOR, snapshot)
        spent += time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{f'load {count:,} nodes':60} {spent:9.3f} s, {spent / count * 1e6:.0f} us a node; peak {peak:,.0f} MB resident"
    )
    return table


def check_specification(table: fleet.Fleet, specification: fleet.Specification) -> None:
    """Stop where the table differs from a node alone, on some nodes of every profile."""
    nodes = [f"node-{number}" for number in range(2 * PROFILES)]
    results = fleet.evaluate_specification(table, specification, nodes)
    for place, node in enumerate(nodes):
        alone = rules.report_sets(specification.sets, table.facts(node))
        if [report.outcome for report in results.example(int(results.vector_numbers()[place]))] != [
            report.outcome for report in alone
        ]:
            sys.exit(f"error: {node} fares otherwise alone")
    print(f"answers as on single nodes: {len(nodes)}; vectors of answers: {results.vectors.size}")


def measure_image(table: fleet.Fleet, spec: rules.CompatibilitySpec) -> None:
    """An image for two platforms, with the specification."""
    images = tuple(
        PlatformImage("sha256:" + digit * 64, claimed=platforms.parse(f"linux/{name}"))
        for digit, name in (("a", "amd64"), ("b", "s390x"))
    )
    knowledge = ImageKnowledge("example.test/app:1", "sha256:" + "c" * 64, "index", images)
    [one] = spec.compatibilities
    # The last rule asks for a set that no node has.
    possible = msgspec.structs.replace(spec, compatibilities=(msgspec.structs.replace(one, rules=one.rules[:-1]),))
    declaration = verdicts.Declaration(possible, verdicts.ArtifactSummary("file bench-compat.yaml"))
    question = fleet.Question(knowledge, override=declaration)
    known = fleet.Declarations()
    measure(
        f"an image, {NODES:,} nodes, warm: counts and kinds",
        lambda: fleet.judge_image(table, question, declarations=known).kinds(),
        runs=15,
    )
    results = fleet.judge_image(table, question, declarations=known)
    print(f"{'':60} {len(results.kinds()):9} kinds; {_counts(results)}")
    page = [f"node-{number}" for number in range(1_000)]
    measure("  and the verdicts on 1,000 of them", lambda: list(results.verdicts(page)), runs=3)


def _counts(results: fleet.ImageResults) -> str:
    return ", ".join(f"{count:,} {answer}" for answer, count in results.counts().items() if count)


def measure_first(table: fleet.Fleet) -> None:
    """The first time that a specification is asked: of sets that every node has for itself, and of shared ones."""
    spec = rules.read_compatibility_spec(PER_NODE_SPEC, "spec")
    specification = fleet.make_specification(spec.compatibilities)
    start = time.process_time()
    results = fleet.evaluate_specification(table, specification)
    spent = time.process_time() - start
    fast = int((results.outcomes(0) == 1).sum())
    print(f"{f'a set of its own on each of {NODES:,} nodes, first':60} {spent:9.3f} s; {fast:,} nodes meet it")
    measure("  the same, warm", lambda: fleet.evaluate_specification(table, specification), runs=9)


def measure_update(table: fleet.Fleet, profiles: list[Snapshot]) -> None:
    """One node's snapshot put again, as every ten minutes."""
    snapshot = dict(make_nodes(profiles, 1))["node-0"]
    measure(
        "a snapshot that changes nothing",
        lambda: table.update("node-0", fleet.DETECTOR, snapshot),
        runs=99,
        unit=1e6,
        word="us",
    )


def measure_rules(profiles: list[Snapshot]) -> None:
    """100 rules on 1,000 nodes, and again after one of them changed."""
    table = load(profiles, LABELED)
    chain = read_chain()
    few = table.nodes()[:PROFILES]
    start = time.process_time()
    for node in few:
        rules.evaluate_chain(chain.rules, table.facts(node))
    spent = (time.process_time() - start) / len(few) * LABELED
    print(f"{f'100 rules, {LABELED:,} nodes one by one':60} {spent * 1e3:9.3f} ms ({len(few)} were measured)")
    measure_chain(table, chain)
    [(name, snapshot)] = make_nodes(profiles, 1)
    flags = snapshot.contents["cpu.cpuid"].flags or frozenset()
    news = itertools.count()

    def change() -> None:
        contents = {**snapshot.contents, "cpu.cpuid": FeatureSet(flags | {f"NEW{next(news)}"})}
        changed = table.update(name, fleet.DETECTOR, Snapshot(contents, catalogue=snapshot.catalogue))
        assert changed.sets == {"cpu.cpuid"}
        fleet.evaluate_rules(table, chain, [name]).groups()

    measure("  after one node's change, that node", change, runs=15)


def read_chain() -> fleet.Chain:
    """The oracle's 100 rules."""
    document = rules.read_rule_document((DATA / "bench-rules.yaml").read_bytes(), "bench-rules.yaml")
    return fleet.make_chain(rules.compile_rules(document.rules))


def measure_chain(table: fleet.Fleet, chain: fleet.Chain) -> None:
    """The rules on every node, the first time and again."""
    start = time.process_time()
    groups = fleet.evaluate_rules(table, chain).groups()
    spent = time.process_time() - start
    print(f"{f'100 rules, {len(table):,} nodes, first':60} {spent * 1e3:9.3f} ms; {len(groups)} kinds of results")
    measure("  the same, warm", lambda: fleet.evaluate_rules(table, chain).groups(), runs=5)
