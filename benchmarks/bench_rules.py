"""The rule engine on the oracle's benchmark: 100 rules and a compatibility specification against one node.

The answers are checked against NFD's before anything is timed. NFD's own engine (Go, one core, on the machine where the
oracle was made): 100 rules 2.16 ms a node, the specification 0.157 ms.
"""

import json
import sys
from typing import Any

from timing import ROOT, measure

from nodeworthy import rules
from nodeworthy.features import Snapshot, read_document

DATA = ROOT / "tests" / "data" / "oracle"
TEMPLATES = ("labelsTemplate", "varsTemplate")


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
    print(f"{'':60} {1 / hundred:9.0f} nodes/s")
    report = measure(
        "report a specification of 10 rules", lambda: rules.report_sets(spec.compatibilities, facts), runs=31
    )
    print(f"{'':60} {1 / report:9.0f} nodes/s")


def read_facts() -> Snapshot:
    """The oracle's node; its features are all there is, so what is not there is absent."""
    found = read_document((DATA / "bench-features.json").read_bytes(), "bench-features.json")
    return Snapshot(found.contents, catalogue=frozenset(found.contents))


def check_answers(
    chain: rules.ChainResult, spec: rules.CompatibilitySpec, facts: Snapshot, expected: dict[str, Any]
) -> None:
    """Stop where an answer differs from NFD's. Rules that need templates, or what those hand on, have none yet."""
    answers = {result.name: result.outcome for result in chain.results}
    known = {rules.Outcome.TRUE: True, rules.Outcome.FALSE: False}
    decided = {name: known[outcome] for name, outcome in answers.items() if outcome in known}
    wrong = sorted(name for name, matched in decided.items() if matched != (name in expected["matchedRules"]))
    if wrong:
        sys.exit(f"error: these rules differ from NFD's: {wrong}")
    labels = {name: value for result in chain.results for name, value in result.labels.items()}
    wrong = sorted(name for name, value in labels.items() if expected["labels"].get(name) != value)
    if wrong:
        sys.exit(f"error: these labels differ from NFD's: {wrong}")
    if rules.nfd_report(spec.compatibilities, facts) != expected["compat"]:
        sys.exit("error: the report differs from NFD's")
    undecided = len(answers) - len(decided)
    print(
        f"answers as NFD's: {len(decided)} rules, {len(labels)} labels, 1 report; {undecided} rules wait for templates"
    )
