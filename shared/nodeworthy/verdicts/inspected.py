"""The third layer: what the image's own files ask of a node, and the faults that no node can make good."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nodeworthy import rules
from nodeworthy.requirements import OTHER_MACHINE, Defect, Inspection, Layer, Requirement, Sureness
from nodeworthy.verdicts.declared import state_of
from nodeworthy.verdicts.records import Answer, Finding, Origin, State


class InspectedResult(NamedTuple):
    """How an inspected image fares with a node: the states of its requirements, in order."""

    inspection: Inspection
    states: tuple[State, ...]
    reasons: tuple[str, ...] = ()
    """For each requirement why it is not met; empty where only the answer is wanted."""


def requirement_sets(inspection: Inspection) -> tuple[rules.CompatibilitySet, ...]:
    """One set of one rule for each requirement, in order: what evaluates specifications evaluates them too.

    Behind them stand the sets that say whether the facts tell anything of those requirements that count only then;
    :func:`settle_states` takes them in.
    """
    asked = [rules.Rule(one.code, one.match_features, one.match_any) for one in inspection.requirements]
    told = [rules.Rule("told", _presence(one)) for one in inspection.requirements if one.only_if_told]
    return tuple(rules.CompatibilitySet((rule,)) for rule in (*asked, *told))


def settle_states(inspection: Inspection, states: Sequence[State]) -> tuple[State, ...]:
    """The states of the requirements, from those of :func:`requirement_sets`."""
    told = iter(states[len(inspection.requirements) :])
    pairs = zip(inspection.requirements, states, strict=False)
    return tuple(State.UNKNOWN if one.only_if_told and next(told) is not State.MET else state for one, state in pairs)


def _presence(one: Requirement) -> tuple[rules.Term, ...]:
    terms = (*one.match_features, *(term for way in one.match_any for term in way))
    return tuple(rules.Term(feature, {}) for feature in dict.fromkeys(term.feature for term in terms))


def judge_inspected(inspection: Inspection, facts: rules.Facts) -> tuple[InspectedResult, tuple[Finding, ...]]:
    """Hold every requirement against a node; the findings are one for each requirement and for each defect."""
    reports = [report.rules[0] for report in rules.report_sets(requirement_sets(inspection), facts)]
    states = settle_states(inspection, [state_of(report.outcome) for report in reports])
    reports = reports[: len(states)]
    result = InspectedResult(inspection, states, tuple(report.reason for report in reports))
    required = (_finding(*one) for one in zip(inspection.requirements, reports, states, strict=True))
    return result, (*map(_defect_finding, inspection.defects), *required, *_unexplored_findings(inspection))


def refusal(result: InspectedResult, *, is_emulated: bool = False) -> tuple[Answer, str] | None:
    """The no that is certain: a defect of the image, or a requirement that the node does not meet.

    Under an emulator programs for another machine are no defect, and the features of the CPU are the emulator's.
    """
    for defect in result.inspection.defects:
        if defect.sureness is Sureness.CERTAIN and not (is_emulated and defect.code == OTHER_MACHINE):
            return Answer.IMAGE_DEFECT, defect.text
    for number, one in _in_state(result, State.UNMET):
        if one.sureness is Sureness.CERTAIN and not (is_emulated and one.layer is Layer.INSTRUCTION_SET):
            return Answer.INCOMPATIBLE, _told(one, result, number)
    return None


def doubt(result: InspectedResult) -> str:
    """What keeps the inspection from saying yes; empty where nothing does."""
    inspection = result.inspection
    unexplored = next((one for one in inspection.unexplored if one.decides), None)
    if not inspection.machine and not unexplored:
        return "inspection found nothing in the image that a node would start"
    for number, one in _in_state(result, State.UNKNOWN):
        if one.sureness is Sureness.CERTAIN:
            return f"whether the node has {_told(one, result, number)} is unknown"
    for number, one in _in_state(result, State.UNMET):
        if one.sureness is Sureness.PROBABLE:
            return f"probably not: {_told(one, result, number)}"
    for number, one in _in_state(result, State.UNKNOWN):
        if one.sureness is Sureness.PROBABLE and not one.only_if_told:
            return f"whether the node has {_told(one, result, number)} is unknown"
    return f"{unexplored.what}: not looked at, {unexplored.why}" if unexplored else ""


def _in_state(result: InspectedResult, state: State) -> list[tuple[int, Requirement]]:
    pairs = enumerate(zip(result.inspection.requirements, result.states, strict=True))
    return [(number, one) for number, (one, found) in pairs if found is state]


def _told(one: Requirement, result: InspectedResult, number: int) -> str:
    reason = result.reasons[number] if result.reasons else ""
    return f"{one.text} ({reason})" if reason else one.text


def _finding(one: Requirement, report: rules.RuleReport, state: State) -> Finding:
    telling = [e for e in report.expressions if state_of(e.outcome) is state] or list(report.expressions)
    return Finding(
        code=one.code,
        state=state,
        requirement=one.text,
        observed=_join(f"{e.feature} {e.name}: {e.observed}" for e in telling if e.observed),
        expected=_join(f"{e.feature} {e.name} {e.expected}" for e in telling),
        origin=Origin.INSPECTED,
        layer=one.layer,
        effect=one.effect if state is not State.MET else None,
        sureness=one.sureness,
        settle=report.reason if state is State.UNKNOWN else "",
        evidence=one.evidence,
        remedy=one.remedy if state is not State.MET else "",
    )


_TOLD = 4
"""Elements of one requirement that a finding names; a level of x86-64 has up to twenty."""


def _join(texts: Iterable[str]) -> str:
    told = list(dict.fromkeys(text.strip() for text in texts))
    more = f"; {len(told) - _TOLD} more" if len(told) > _TOLD else ""
    return "; ".join(told[:_TOLD]) + more


def _defect_finding(one: Defect) -> Finding:
    return Finding(
        code=one.code,
        state=State.UNMET,
        requirement="the image is sound",
        observed=one.text,
        origin=Origin.INSPECTED,
        effect=one.effect,
        sureness=one.sureness,
        evidence=one.evidence,
        remedy=one.remedy,
    )


def _unexplored_findings(inspection: Inspection) -> list[Finding]:
    return [
        Finding(
            code="not-inspected",
            state=State.UNKNOWN,
            requirement=one.what,
            observed=one.why,
            origin=Origin.INSPECTED,
            settle="a compatibility specification, or nodeworthy inspect with other options (--entrypoint, --time-limit)",
        )
        for one in inspection.unexplored
        if one.decides
    ]
