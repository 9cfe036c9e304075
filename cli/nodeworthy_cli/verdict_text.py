"""A verdict as a person reads it: the answer first, then each requirement with what the node has."""

import sys
from collections.abc import Sequence

from nodeworthy.verdicts import Answer, Finding, Origin, SetSummary, State, Verdict
from nodeworthy_cli.output import emphasize, print_table, printable

COLORS = {
    Answer.COMPATIBLE: "green",
    Answer.INCOMPATIBLE: "red",
    Answer.IMAGE_DEFECT: "red",
    Answer.UNKNOWN: "yellow",
}
"""Of each answer on a terminal."""


def print_verdict(verdict: Verdict) -> None:
    """Print one verdict."""
    score = f" (score {verdict.score})" if verdict.score is not None else ""
    answer = emphasize(verdict.verdict.value, COLORS[verdict.verdict])
    node = f" on {printable(verdict.node)}" if verdict.node else ""
    _line(f"{printable(verdict.image)}{node}: {answer}{score}")
    _line(f"  {printable(verdict.reason)}")
    _print_facts(verdict)
    loose = [finding for finding in verdict.findings if finding.set is None]
    _print_findings("Image and node", loose)
    for index, summary in enumerate(verdict.sets):
        _print_set(index, summary, [finding for finding in verdict.findings if finding.set == index])
    for notice in verdict.notices:
        _line(f"note: {printable(notice)}")


def _print_facts(verdict: Verdict) -> None:
    facts = [("digest", verdict.digest), ("platform", verdict.platform), ("node platform", verdict.node_platform)]
    if verdict.artifact:
        artifact = verdict.artifact
        facts.append(("declared by", f"{artifact.source} {artifact.digest}".strip()))
    for name, value in facts:
        if value:
            _line(f"  {name}: {printable(value)}")


def _print_set(index: int, summary: SetSummary, findings: Sequence[Finding]) -> None:
    told = [f"Set {index + 1}: {summary.state.value}", f"weight {summary.weight}"]
    if summary.tag:
        told.append(f"tag {printable(summary.tag)}")
    if summary.description:
        told.append(printable(summary.description))
    _line("")
    _line(", ".join(told))
    for rule in summary.rules:
        _print_findings(
            f"Rule {printable(rule.name)}: {rule.state.value}", [f for f in findings if f.rule == rule.name]
        )
        if rule.reason:
            _line(f"    {printable(rule.reason)}")


def _print_findings(title: str, findings: Sequence[Finding]) -> None:
    _line(f"  {title}")
    if not findings:
        return
    rows = [
        (_mark(finding.state), _requirement(finding), finding.expected or "-", finding.observed or "-")
        for finding in findings
    ]
    print_table(("STATE", "REQUIREMENT", "WANTED", "FOUND"), rows, indent="    ")
    for settle in dict.fromkeys(finding.settle for finding in findings if finding.settle):
        _line(f"    to settle it: {printable(settle)}")


def _requirement(finding: Finding) -> str:
    if finding.origin is Origin.DECLARED and finding.alternative is not None:
        return f"{finding.requirement} (any of: {finding.alternative + 1})"
    return finding.requirement


def _mark(state: State) -> str:
    return {State.MET: "met", State.UNMET: "NOT MET", State.UNKNOWN: "unknown"}[state]


def _line(text: str) -> None:
    sys.stdout.write(text + "\n")
