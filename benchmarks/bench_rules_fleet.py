"""100 rules on a fleet of 10,000 nodes, held against NFD's engine, which evaluates every node anew.

The nodes are of 50 kinds of hardware; each has a name and network devices of its own. One more is the oracle's node: what
the fleet says of it is compared with NFD's answers, and what it says of others with what rules say of them alone, before
anything is timed. "Nothing remembered" means that no term was asked and no template expanded; the table is loaded, its
sets are packed, and unpacking those that are only on one node is counted. NFD's engine (Go, one core, on the machine where
the oracle was made) does 463 nodes a second.
"""

import itertools
import json
import statistics
import sys
import time

from bench_fleet import load, make_nodes, make_profile, read_chain, share
from bench_rules import DATA, NFD_NODES_A_SECOND, check_chain, read_facts
from timing import measure

from nodeworthy import fleet, rules
from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.fleet.answers import AnswerMemo
from nodeworthy.fleet.rule_results import ResultMemo

NODES = 10_000
PROFILES = 50
RUNS = 9


def run() -> None:
    """Check the answers, then measure the fleet with nothing remembered, warm, and after one node's change."""
    base = read_facts()
    profiles = share([make_profile(base, number) for number in range(PROFILES)])
    table = load(profiles, NODES)
    table.update("oracle", fleet.DETECTOR, base)
    chain = read_chain()
    check_fleet(table, chain)
    measure_cold(table, chain)
    measure("  the same, warm", lambda: fleet.evaluate_rules(table, chain).groups(), runs=RUNS)
    measure_change(table, chain, profiles)


def check_fleet(table: fleet.Fleet, chain: fleet.Chain) -> None:
    """Stop where the oracle's node fares otherwise than with NFD, or some node of a kind otherwise than alone."""
    found = fleet.evaluate_rules(table, chain)
    groups = found.groups()
    numbers = dict(zip(found.nodes(), found.group_numbers().tolist(), strict=True))
    expected = json.loads((DATA / "bench-expected.json").read_bytes())
    check_chain(groups[numbers["oracle"]].results, expected)
    some = [f"node-{number}" for number in range(2 * PROFILES)]
    for node in some:
        if groups[numbers[node]].results != rules.evaluate_chain(chain.rules, table.facts(node)).results:
            sys.exit(f"error: {node} fares otherwise alone")
    print(f"answers as NFD's: 1 node; as on single nodes: {len(some)}; kinds of results: {len(groups)}")


def measure_cold(table: fleet.Fleet, chain: fleet.Chain) -> None:
    """The first evaluation, again and again."""
    taken = []
    for _ in range(RUNS):
        table.memo = AnswerMemo(max_bytes=table.limits.memo_bytes, max_asks=table.limits.asks)
        table.results = ResultMemo(max_bytes=table.limits.result_bytes)
        start = time.process_time()
        fleet.evaluate_rules(table, chain).groups()
        taken.append(time.process_time() - start)
    median = statistics.median(taken)
    rate = len(table) / median
    print(
        f"{f'100 rules, {len(table):,} nodes, nothing remembered':60} {median * 1e3:9.3f} ms, least {min(taken) * 1e3:9.3f}"
        f"   (cpu, median of {RUNS})"
    )
    print(f"{'':60} {rate:9,.0f} nodes/s, {rate / NFD_NODES_A_SECOND:,.0f} times NFD's")


def measure_change(table: fleet.Fleet, chain: fleet.Chain, profiles: list[Snapshot]) -> None:
    """One node gets another CPU flag; which rules run again, and what it costs."""
    [(node, snapshot)] = make_nodes(profiles, 1)
    flags = snapshot.contents["cpu.cpuid"].flags or frozenset()
    news = itertools.count()

    def change() -> fleet.ChainResults:
        contents = {**snapshot.contents, "cpu.cpuid": FeatureSet(flags | {f"NEW{next(news)}"})}
        table.update(node, fleet.DETECTOR, Snapshot(contents, catalogue=snapshot.catalogue))
        return fleet.evaluate_rules(table, chain, [node])

    ran = change().ran
    readers = {
        place
        for place, rule in enumerate(chain.rules)
        if isinstance(rule, rules.CompiledRule) and "cpu.cpuid" in rule.sets
    }
    if ran != readers:
        sys.exit(f"error: {sorted(ran ^ readers)} ran, or did not run, and should not, or should")
    print(
        f"{'after a change of cpu.cpuid on one node':60} {len(ran):9} of {len(chain.rules)} rules run, those that read it"
    )
    measure("  update, and the rules on this node", lambda: change().groups(), runs=31)
