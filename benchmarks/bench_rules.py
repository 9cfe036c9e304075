"""The rule engine on the oracle's benchmark: 100 rules and a compatibility specification against one node.

The answers are checked against NFD's before anything is timed. NFD's own engine (Go, one core, on the machine where the
oracle was made): 100 rules 2.16 ms a node, the specification 0.157 ms.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any

from timing import ROOT, measure

from nodeworthy import rules
from nodeworthy.features import Snapshot, read_document

DATA = ROOT / "tests" / "data" / "oracle"
NFD_NODES_A_SECOND = 463
"""NFD's rate with 100 rules (oracle/README.md)."""
NFD_REPORTS_A_SECOND = 6_369
"""NFD's rate with the specification, which it answers with yes or no for each rule."""


def run() -> None:
    """Check the answers, then measure reading, compiling, evaluating and reporting."""
    facts = read_facts()
    text = (DATA / "bench-rules.yaml").read_bytes()
    document = rules.read_rule_document(text, "bench-rules.yaml")
    compiled = rules.compile_rules(document.rules)
    spec_text = (DATA / "bench-compat.yaml").read_bytes()
    spec = rules.read_compatibility_spec(spec_text, "bench-compat.yaml")
    expected = json.loads((DATA / "bench-expected.json").read_bytes())
    check_answers(rules.evaluate_chain(compiled, facts), spec, facts, expected)

    measure("read 100 rules", lambda: rules.read_rule_document(text, "bench"), runs=9)
    measure("compile 100 rules", lambda: rules.compile_rules(document.rules), runs=9)
    hundred = measure("evaluate 100 rules on one node", lambda: rules.evaluate_chain(compiled, facts), runs=31)
    print(f"{'':60} {1 / hundred:9.0f} nodes/s, {1 / hundred / NFD_NODES_A_SECOND:.1f} times NFD's")
    report = measure(
        "report a specification of 10 rules", lambda: rules.report_sets(spec.compatibilities, facts), runs=31
    )
    print(f"{'':60} {1 / report:9.0f} nodes/s, {1 / report / NFD_REPORTS_A_SECOND:.2f} times NFD's")


def read_facts() -> Snapshot:
    """The oracle's node; its features are all there is, so what is not there is absent."""
    found = read_document((DATA / "bench-features.json").read_bytes(), "bench-features.json")
    return Snapshot(found.contents, catalogue=frozenset(found.contents))


def check_answers(
    chain: rules.ChainResult, spec: rules.CompatibilitySpec, facts: Snapshot, expected: dict[str, Any]
) -> None:
    """Stop where an answer differs from NFD's."""
    check_chain(chain.results, expected)
    if rules.nfd_report(spec.compatibilities, facts) != expected["compat"]:
        sys.exit("error: the report differs from NFD's")
    print(f"answers as NFD's: {len(chain.results)} rules, {len(expected['labels'])} labels, 1 report")


def check_chain(results: Sequence[rules.RuleResult], expected: dict[str, Any]) -> None:
    """Stop where rules match, or give labels, otherwise than NFD's."""
    undecided = [result.name for result in results if result.outcome not in {rules.Outcome.TRUE, rules.Outcome.FALSE}]
    if undecided:
        sys.exit(f"error: these rules are not decided: {undecided}")
    matched = {result.name for result in results if result.outcome is rules.Outcome.TRUE}
    if matched != set(expected["matchedRules"]):
        sys.exit(f"error: these rules differ from NFD's: {sorted(matched ^ set(expected['matchedRules']))}")
    labels = {name: value for result in results for name, value in result.labels.items()}
    if labels != expected["labels"]:
        sys.exit(f"error: labels differ from NFD's: {sorted(labels.items() ^ expected['labels'].items())}")
