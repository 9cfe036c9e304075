"""The second layer: what the image's authors declare, in a compatibility specification."""

from collections.abc import Sequence
from typing import NamedTuple

from nodeworthy import rules
from nodeworthy.errors import UsageError
from nodeworthy.images import Artifact
from nodeworthy.requirements import Effect, Layer
from nodeworthy.verdicts.records import ArtifactSummary, Finding, Origin, RuleSummary, SetSummary, State

_STATES = {
    rules.Outcome.TRUE: State.MET,
    rules.Outcome.FALSE: State.UNMET,
    rules.Outcome.UNKNOWN: State.UNKNOWN,
    # A rule in error says neither yes nor no (design: "a rule in error counts as unknown").
    rules.Outcome.ERROR: State.UNKNOWN,
}


class Declaration(NamedTuple):
    """A specification that was read, and where it is from."""

    spec: rules.CompatibilitySpec
    artifact: ArtifactSummary
    notices: tuple[str, ...] = ()


class Wishes(NamedTuple):
    """What the caller wants of a verdict."""

    tags: tuple[str, ...] = ()
    """Only compatibility sets with one of these tags count; empty: all."""
    undeclared_is_compatible: bool = False
    """An image whose platform fits and that declares nothing counts as compatible."""


class DeclaredResult(NamedTuple):
    """How the declared requirements fared: ``state`` of the artifact, ``score`` of the best met set."""

    state: State
    score: int | None
    reason: str
    sets: tuple[SetSummary, ...]
    findings: tuple[Finding, ...]


def declaration_of_artifact(artifact: Artifact) -> Declaration:
    """The declaration that an attached artifact holds.

    Raises:
        DocumentError: the document cannot be read.
    """
    name = f"artifact {artifact.digest}"
    spec = rules.read_compatibility_spec(artifact.data, name)
    summary = ArtifactSummary("attached", artifact.digest, artifact.subject, artifact.created)
    return Declaration(spec, summary, tuple(map(str, (*spec.problems, *spec.notices))))


def select_sets(spec: rules.CompatibilitySpec, tags: Sequence[str]) -> tuple[rules.CompatibilitySet, ...]:
    """The sets that count under a tag filter, in the order of the document.

    Raises:
        UsageError: none is left; an answer about no requirement at all would be taken for "compatible".
    """
    selected = tuple(s for s in spec.compatibilities if not tags or s.tag in tags)
    if not spec.compatibilities:
        raise UsageError(
            "the specification has no compatibility set",
            why="it asks for nothing, which is no evidence that the image runs",
            todo="give it one set at least, with a rule",
        )
    if not selected:
        what = f"no compatibility set carries the tag {' or '.join(tags)}"
        offered = ", ".join(sorted({s.tag for s in spec.compatibilities if s.tag}))
        if not offered:
            raise UsageError(what, why="none of the specification's sets has a tag", todo="leave --tag out")
        raise UsageError(
            what,
            why=f"the specification has these tags: {offered}",
            todo="ask for one of them with --tag, or leave --tag out",
        )
    return selected


def judge_declared(declaration: Declaration, facts: rules.Facts, tags: Sequence[str]) -> DeclaredResult:
    """Hold the declared sets against a node: any one met set is enough, all rules of a set must hold."""
    reports = rules.report_sets(select_sets(declaration.spec, tags), facts)
    sets = tuple(map(_summary, reports))
    findings = tuple(
        _finding(index, number, rule.name, expression)
        for index, report in enumerate(reports)
        for number, rule in enumerate(report.rules)
        for expression in rule.expressions
    )
    state, score, reason = _combine(sets)
    return DeclaredResult(state, score, reason, sets, findings)


def overall(states: Sequence[State]) -> State:
    """How the declared requirements fare as a whole, from how each set does."""
    if State.MET in states:
        return State.MET
    return State.UNKNOWN if State.UNKNOWN in states else State.UNMET


def state_of(outcome: rules.Outcome) -> State:
    """How a requirement fares whose rule or set ended so."""
    return _STATES[outcome]


def _combine(sets: Sequence[SetSummary]) -> tuple[State, int | None, str]:
    state = overall([s.state for s in sets])
    best = max((s for s in sets if s.state is state), key=lambda s: s.weight)
    if state is State.MET:
        return state, best.weight, f"{_name(best)} is met"
    if state is State.UNKNOWN:
        return state, None, f"whether {_name(best)} is met is unknown: {best.reason}"
    if len(sets) == 1:
        return State.UNMET, None, f"{_name(sets[0])} is not met: {sets[0].reason}"
    return State.UNMET, None, f"none of {len(sets)} compatibility sets is met"


def _name(summary: SetSummary) -> str:
    told = summary.tag or summary.description
    return f"compatibility set {told!r}" if told else "the compatibility set"


def _summary(report: rules.SetReport) -> SetSummary:
    return SetSummary(
        state=_STATES[report.outcome],
        weight=report.weight,
        tag=report.tag,
        description=report.description,
        reason=report.reason,
        rules=tuple(RuleSummary(rule.name, _STATES[rule.outcome], rule.reason) for rule in report.rules),
    )


def _finding(index: int, number: int, rule: str, expression: rules.ExpressionReport) -> Finding:
    state = _STATES[expression.outcome]
    layer = _layer(expression.feature)
    place = f"{expression.feature} {expression.name}".strip()
    return Finding(
        code=f"declared-{state}",
        state=state,
        requirement=place,
        observed=expression.observed or "",
        expected=expression.expected,
        origin=Origin.DECLARED,
        layer=layer,
        effect=Effect.CRASHES if layer is Layer.INSTRUCTION_SET and state is State.UNMET else None,
        settle=expression.reason if state is State.UNKNOWN else "",
        set=index,
        rule=rule,
        rule_number=number,
        alternative=expression.alternative,
    )


def _layer(feature: str) -> Layer:
    domain = feature.partition(".")[0].lower()
    if domain == "cpu":
        return Layer.INSTRUCTION_SET
    return Layer.ACCELERATOR if domain in {"pci", "usb", "accel"} else Layer.KERNEL_AND_LIBRARIES
