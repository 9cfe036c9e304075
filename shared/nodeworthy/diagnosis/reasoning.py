"""From signs and what is known to a diagnosis: every hypothesis held against the case, the likely ones first.

"Not explained" is an answer: the nearest pattern is no cause while nothing that must hold for it was seen.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nodeworthy.diagnosis.case import Case
from nodeworthy.diagnosis.image_causes import causes_of_image
from nodeworthy.diagnosis.observations import Observed, look, missing_flags, no, unmet_requirements
from nodeworthy.diagnosis.records import Cause, Confidence, Diagnosis, Signal, Step
from nodeworthy.diagnosis.signatures import Hypothesis, RequirementNeed, Signature, Table, fill
from nodeworthy.requirements.conditions import has_flags
from nodeworthy.rules import Term

_ORDER = (Confidence.LIKELY, Confidence.POSSIBLE, Confidence.RULED_OUT)
_CPU_LABEL = "feature.node.kubernetes.io/cpu-cpuid."
_INSTRUCTION_CAUSE = "missing-cpu-feature"

_SYMPTOM, _SURE = 2, 5
"""Ranks beside those of the table: as a symptom, and before all signs."""

_GENERAL = frozenset({"pending", "pending-selector"})
"""Signs that say less than what the pod and the nodes themselves show."""

_CRASHES = frozenset(
    {
        "aborted",
        "bus-error",
        "command-not-found",
        "crash-loop",
        "device-not-found",
        "exec-format-error",
        "exec-no-such-file",
        "function-not-implemented",
        "illegal-instruction",
        "not-executable",
        "segmentation-fault",
        "trap-signal",
    }
)
"""Signs of a program that does not run where something is missing that its image asks for, or is wrong in the image."""


class _Judged(NamedTuple):
    rank: int
    cause: Cause


def diagnose(
    case: Case,
    signals: Sequence[Signal],
    table: Table,
    *,
    causes: Sequence[Cause] = (),
    steps: Sequence[Step] = (),
    notices: Sequence[str] = (),
) -> Diagnosis:
    """What the failure really was.

    Args:
        case: What is known beside the signs.
        signals: From :func:`nodeworthy.diagnosis.reading.read_signals`.
        table: The signatures.
        causes: Those that were worked out in another way, as of a pod that no node takes; they come first.
        steps: What was done, and what is to be done next.
        notices: What could not be looked at.
    """
    judged = [_Judged(_SURE, one) for one in causes]
    for signal in signals:
        if causes and signal.code in _GENERAL:
            continue
        row = table.find(signal.code)
        judged += [_Judged(signal.rank, cause) for cause in _judge_row(row, signal, case, signals)]
    if any(signal.code in _CRASHES for signal in signals):
        told = " ".join(text for one in judged for text in one.cause.evidence)
        judged += [_Judged(_SYMPTOM, cause) for cause in causes_of_image(case, told)]
    chosen = _choose(judged)
    likely = next((one for one in chosen if one.confidence is Confidence.LIKELY), None)
    return Diagnosis(
        explained=likely is not None,
        summary=likely.text if likely is not None else _not_explained(signals, chosen),
        signals=tuple(signals),
        causes=tuple(chosen),
        steps=tuple(steps),
        notices=tuple(dict.fromkeys(notices)),
    )


def _choose(judged: Sequence[_Judged]) -> list[Cause]:
    """Each cause once, with its best confidence; likely ones first, those of more telling signs before others."""
    best: dict[str, _Judged] = {}
    for one in judged:
        known = best.get(one.cause.code)
        if known is None or _key(one) < _key(known):
            best[one.cause.code] = one
    top = max((one.rank for one in best.values()), default=0)
    # What a state or an exit code alone might mean is of no use beside words that say more.
    kept = [one for one in best.values() if one.rank >= top - 1 or one.cause.confidence is Confidence.LIKELY]
    return [one.cause for one in sorted(kept, key=_key)]


def _key(one: _Judged) -> tuple[int, int]:
    return _ORDER.index(one.cause.confidence), -one.rank


def _judge_row(row: Signature, signal: Signal, case: Case, signals: Sequence[Signal]) -> list[Cause]:
    details = {**_details_of(case), **signal.details}
    return [_judge(one, case, signals, details) for one in row.hypotheses]


def _details_of(case: Case) -> dict[str, str]:
    details = {"node": case.node, "image": case.image}
    if case.inspection is not None and case.inspection.machine:
        details["image_architecture"] = case.inspection.machine
    elif case.image_platform is not None:
        details["image_architecture"] = case.image_platform.architecture
    return {name: value for name, value in details.items() if value}


def _judge(one: Hypothesis, case: Case, signals: Sequence[Signal], details: Mapping[str, str]) -> Cause:
    seen = [look(need, case, signals, details) for need in one.needs]
    if one.any_of:
        seen.append(_any([look(need, case, signals, details) for need in one.any_of]))
    excluding = [found for need in one.excludes if (found := look(need, case, signals, details)).holds]
    against = [found for found in seen if found.holds is False]
    if against or excluding:
        evidence = tuple(found.evidence for found in (*against, *excluding) if found.evidence)
        return _cause(one, Confidence.RULED_OUT, evidence, case, details)
    evidence = tuple(found.evidence for found in seen if found.holds and found.evidence)
    is_likely = all(found.holds for found in seen) if seen else one.alone
    unseen = tuple(found.evidence for found in seen if found.holds is None)
    if is_likely or one.alone:
        told = evidence or ("the words themselves say it",)
        open_ones = tuple(f"not looked at: {text}" for text in unseen if text)
        return _cause(one, Confidence.LIKELY, told + open_ones, case, details)
    missing = tuple(f"to be seen: {text}" for text in unseen if text)
    return _cause(one, Confidence.POSSIBLE, evidence + missing, case, details)


def _any(seen: Sequence[Observed]) -> Observed:
    """One of several: yes where one holds, no where none does; the evidence is of those that decide."""
    for wanted in (True, None):
        found = [one for one in seen if one.holds is wanted]
        if found:
            texts = dict.fromkeys(one.evidence for one in found if one.evidence)
            return Observed(wanted, (" and " if wanted else ", or ").join(texts))
    return no("; ".join(dict.fromkeys(one.evidence for one in seen if one.evidence)))


def _cause(
    one: Hypothesis, confidence: Confidence, evidence: tuple[str, ...], case: Case, details: Mapping[str, str]
) -> Cause:
    wants = tuple(term for need in one.wants if (term := need.term(details)).expressions)
    selector = {key: fill(value, details) for key, value in one.selector.items()}
    if one.code == _INSTRUCTION_CAUSE or (not wants and _is_by_requirement(one)):
        wants, selector = _wants_of(one, case, wants, selector)
    selector = {fill(key, details): value for key, value in selector.items()}
    return Cause(
        code=one.code,
        text=fill(one.text, details),
        confidence=confidence,
        evidence=evidence,
        separates=fill(one.separates, details),
        layer=one.layer,
        now=fill(one.now, details),
        selector={key: value for key, value in selector.items() if "{" not in key + value},
        cure=fill(one.cure, details),
        wants=wants,
    )


def _is_by_requirement(one: Hypothesis) -> bool:
    return any(isinstance(need, RequirementNeed) for need in (*one.needs, *one.any_of))


def _wants_of(
    one: Hypothesis, case: Case, wants: tuple[Term, ...], selector: dict[str, str]
) -> tuple[tuple[Term, ...], dict[str, str]]:
    """What a node needs, by the instruction that stopped the program or else by what the image's files ask for."""
    if case.facts is None:
        return wants, selector
    if one.code == _INSTRUCTION_CAUSE and case.instruction is not None:
        lacking = missing_flags(case.facts, case.instruction.features)
        if lacking:
            return (has_flags("cpu.cpuid", lacking),), {f"{_CPU_LABEL}{flag}": "true" for flag in lacking}
    if case.inspection is None:
        return wants, selector
    unmet = [found for found in unmet_requirements(case.inspection, case.facts) if found.layer is one.layer]
    terms = tuple(term for found in unmet for term in found.match_features)
    flags = {name: term for term in terms if term.feature == "cpu.cpuid" for name in term.expressions or ()}
    return wants or terms, selector or {f"{_CPU_LABEL}{flag}": "true" for flag in flags}


def _not_explained(signals: Sequence[Signal], causes: Sequence[Cause]) -> str:
    if not signals and not causes:
        return "not explained: nothing of it is a known sign"
    ruled_out = [one for one in causes if one.confidence is Confidence.RULED_OUT]
    possible = [one for one in causes if one.confidence is Confidence.POSSIBLE]
    if any(one.code == _INSTRUCTION_CAUSE for one in ruled_out):
        return "not explained by the instruction set" + (f"; possible: {possible[0].text}" if possible else "")
    if not possible:
        return "not explained: what such a sign usually means is ruled out"
    more = f", and {len(possible) - 1} more" if len(possible) > 1 else ""
    return f"not explained yet; possible: {possible[0].text}{more}"
