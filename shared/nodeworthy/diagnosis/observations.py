"""Whether what a hypothesis needs was seen: yes, no or unknown, each with its evidence."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from nodeworthy.diagnosis.case import Case
from nodeworthy.diagnosis.instructions import Kind
from nodeworthy.diagnosis.pods import HUGE_PAGES
from nodeworthy.diagnosis.records import Signal
from nodeworthy.diagnosis.signatures import (
    DefectNeed,
    InstructionNeed,
    LibraryNeed,
    Need,
    NodeNeed,
    PlatformNeed,
    PodNeed,
    RequirementNeed,
    SignalNeed,
    TextNeed,
)
from nodeworthy.requirements import Inspection, Layer, Requirement
from nodeworthy.requirements.conditions import has_flags
from nodeworthy.rules import Facts, Outcome, compile_term
from nodeworthy.rules.judging import judge_term
from nodeworthy.verdicts import Origin, State
from nodeworthy.verdicts.inspected import judge_inspected

_SHOWN = 3
"""How many findings stand in one line of evidence."""


class Observed(NamedTuple):
    """Whether something holds, and what says so; ``None``: nobody knows, and ``evidence`` is then what would settle it."""

    holds: bool | None
    evidence: str = ""


def yes(evidence: str = "") -> Observed:
    """It was seen."""
    return Observed(holds=True, evidence=evidence)


def no(evidence: str = "") -> Observed:
    """It was seen not to be."""
    return Observed(holds=False, evidence=evidence)


def unknown(settle: str = "") -> Observed:
    """Nobody knows; ``settle`` would tell."""
    return Observed(holds=None, evidence=settle)


_NODE_UNKNOWN = unknown("the node's facts: --node NODE or FILE")
_STOP_UNKNOWN = unknown("the instruction at which it stopped: --dmesg, Go's message or --core, with --image")
_IMAGE_UNKNOWN = unknown("the image: --image IMAGE")


def look(need: Need, case: Case, signals: Sequence[Signal], details: Mapping[str, str]) -> Observed:
    """Whether a need is met; ``holds`` is then True, whichever way the need is put."""
    seen = _see(need, case, signals, details)
    if seen.holds is None or need.holds:
        return seen
    return Observed(not seen.holds, seen.evidence)


def _see(need: Need, case: Case, signals: Sequence[Signal], details: Mapping[str, str]) -> Observed:
    match need:
        case NodeNeed():
            return _NODE_UNKNOWN if case.facts is None else observe_node(need, case.facts, details)
        case PlatformNeed():
            return _observe_platform(case)
        case RequirementNeed():
            return _observe_requirements(need, case)
        case DefectNeed():
            return _observe_defects(need, case.inspection)
        case LibraryNeed():
            return _observe_library(need, case.inspection, details.get("library", ""))
        case PodNeed():
            return POD_FACTS[need.fact](case)
        case SignalNeed():
            found = next((one for one in signals if one.code == need.code), None)
            return Observed(found is not None, found.text if found else "")
        case TextNeed():
            text = re.search(need.pattern, case.text, re.IGNORECASE)
            # Words that are not in an excerpt may stand in the rest of the log.
            return yes(f"the words {text[0]!r}") if text else unknown()
        case InstructionNeed():
            return _observe_instruction(need, case)


def observe_node(need: NodeNeed, facts: Facts, details: Mapping[str, str]) -> Observed:
    """Whether a condition holds on the node's facts."""
    source = need.term(details)
    if not source.expressions and (need.flags or need.name):
        return unknown("the names in the message")
    term = compile_term(source)
    found = facts.lookup(term.set_name)
    answer = term.answer(found)
    if answer.outcome not in {Outcome.TRUE, Outcome.FALSE}:
        return unknown(f"{need.feature} of the node ({answer.reason})")
    judged = judge_term(term, found)
    decisive = [one for one in judged if one.outcome is answer.outcome] or judged
    told = [f"{one.name} {one.observed or 'is not there'}".strip() for one in decisive][:_SHOWN]
    return Observed(answer.outcome is Outcome.TRUE, f"the node: {need.feature} {', '.join(told)}".rstrip())


def missing_flags(facts: Facts, flags: Iterable[str]) -> tuple[str, ...] | None:
    """Those flags of ``cpu.cpuid`` that the node surely lacks; ``None``: of some of them nobody knows."""
    lacking = []
    for flag in flags:
        term = compile_term(has_flags("cpu.cpuid", [flag]))
        outcome = term.answer(facts.lookup(term.set_name)).outcome
        if outcome is Outcome.FALSE:
            lacking.append(flag)
        elif outcome is not Outcome.TRUE:
            return None
    return tuple(lacking)


def unmet_requirements(inspection: Inspection, facts: Facts) -> tuple[Requirement, ...]:
    """What the image's files ask for and the node surely does not have."""
    states = judge_inspected(inspection, facts)[0].states
    return tuple(one for one, state in zip(inspection.requirements, states, strict=True) if state is State.UNMET)


def _observe_platform(case: Case) -> Observed:
    if case.node_platform is None:
        return _NODE_UNKNOWN
    node = case.node_platform.architecture
    if case.inspection is not None and case.inspection.machine and case.inspection.machine != node:
        return no(f"the program is for {case.inspection.machine}, the node is {node}")
    if case.verdict is not None:
        finding = next((one for one in case.verdict.findings if one.origin is Origin.PLATFORM), None)
        if finding is not None and finding.state is State.UNMET:
            return no(case.verdict.reason)
        if finding is not None and finding.state is State.MET:
            return yes(f"the image is offered for {case.verdict.platform or node}, as the node is")
    if case.image_platform is None and case.inspection is not None and case.inspection.machine:
        return yes(f"the program is for {node}, as the node is")
    if case.image_platform is None:
        return _IMAGE_UNKNOWN
    image = case.image_platform
    return Observed(
        (image.os, image.architecture) == (case.node_platform.os, node), f"the image is for {image}, the node is {node}"
    )


def _observe_requirements(need: RequirementNeed, case: Case) -> Observed:
    if case.inspection is None:
        return _IMAGE_UNKNOWN
    if case.facts is None:
        return _NODE_UNKNOWN
    states = judge_inspected(case.inspection, case.facts)[0].states
    pairs = zip(case.inspection.requirements, states, strict=True)
    judged = [(one, state) for one, state in pairs if one.layer is need.layer]
    unmet = [one for one, state in judged if state is State.UNMET]
    if unmet:
        told = [one.text + (f" ({one.evidence[0].file})" if one.evidence else "") for one in unmet[:_SHOWN]]
        return no(f"the image needs {'; '.join(told)}, which the node does not have")
    open_ones = [one for one, state in judged if state is State.UNKNOWN]
    if open_ones:
        return unknown(f"whether the node has {open_ones[0].text}")
    left = next((one for one in case.inspection.unexplored if one.decides), None)
    if left is not None:
        return unknown(f"{left.what} ({left.why})")
    layer = need.layer.value.replace("-", " ")
    if not judged:
        return yes(f"the image's files ask nothing of the node's {layer}")
    return yes(f"the node has what the image's files ask of its {layer}: {judged[0][0].text}")


def _observe_defects(need: DefectNeed, inspection: Inspection | None) -> Observed:
    if inspection is None:
        return _IMAGE_UNKNOWN
    found = next((one for one in inspection.defects if re.search(need.codes, one.code)), None)
    if found is not None:
        place = f" ({found.evidence[0].file})" if found.evidence and found.evidence[0].file else ""
        return yes(f"the image's files: {found.text}{place}")
    left = next((one for one in inspection.unexplored if one.decides), None)
    if left is not None:
        return unknown(f"{left.what} ({left.why})")
    text = "the image's files do not show it"
    return no(text) if need.settles else unknown(f"files beside those that the entrypoint loads: {text}")


def _observe_library(need: LibraryNeed, inspection: Inspection | None, named: str) -> Observed:
    if inspection is None:
        return _IMAGE_UNKNOWN
    name = named.strip().rpartition("/")[2]
    found = [one for one in inspection.libraries if name and name in {one.name, one.path.rpartition("/")[2]}]
    fitting = [one for one in found if one.machine == inspection.machine]
    is_looked_for = fitting if need.kind == "present" else [] if fitting else found
    if is_looked_for:
        return yes(f"the image has {is_looked_for[0].path}, for {is_looked_for[0].machine}")
    left = next((one for one in inspection.unexplored if one.decides), None)
    if not name or (left is not None and not found):
        return unknown("the library's name" if left is None else f"{left.what} ({left.why})")
    return no(f"the image has {found[0].path}, for {found[0].machine}" if found else f"the image has no {name}")


def _observe_instruction(need: InstructionNeed, case: Case) -> Observed:
    found = case.instruction
    if found is None or found.kind is Kind.UNKNOWN:
        if need.kind == "missing" and case.inspection is not None:
            has_all = _observe_requirements(RequirementNeed(Layer.INSTRUCTION_SET), case)
            if has_all.holds is False:
                return yes(has_all.evidence)
            # Where it stopped at something that nobody could decode, the files that were looked at rule nothing out.
            return has_all if has_all.holds is None else no(has_all.evidence) if found is None else _STOP_UNKNOWN
        return _STOP_UNKNOWN
    if need.kind in {"trap", "id-register"}:
        return Observed(found.kind.value == need.kind, f"it stopped at {found}")
    if need.kind == "tile":
        return Observed(any(flag.startswith("AMX") for flag in found.features), f"it stopped at {found}")
    if found.kind is not Kind.ORDINARY:
        return no(f"it stopped at {found}, which no feature brings")
    if case.facts is None:
        return _NODE_UNKNOWN
    lacking = missing_flags(case.facts, found.features)
    if lacking is None:
        return unknown(f"whether the node has {', '.join(found.features)}, for {found}")
    names = ", ".join(lacking or found.features) or "nothing beyond the baseline"
    told = f"it stopped at {found}, which needs {names}"
    return Observed(bool(lacking), f"{told}; the node {'does not have it' if lacking else 'has it'}")


def _is_oom_killed(case: Case) -> Observed:
    if case.pod is None:
        return unknown("the pod: --pod NAMESPACE/NAME")
    ended = [status.ended for status in case.pod.pod.statuses if status.ended is not None]
    reason = next((one.reason for one in ended if one.reason == "OOMKilled"), None)
    return Observed(reason is not None, f"the container's state: {reason or 'not OOMKilled'}")


def _has_devices(case: Case) -> Observed:
    if case.pod is None:
        return unknown("the pod: --pod NAMESPACE/NAME")
    given = case.pod.devices_of(case.container)
    return Observed(bool(given), f"the container was given {', '.join(given)}" if given else "it was given no device")


def _has_huge_pages(case: Case) -> Observed:
    if case.pod is None:
        return unknown("the pod: --pod NAMESPACE/NAME")
    container = case.pod.pod.container(case.container)
    names = container.resources.names if container else frozenset[str]()
    asked = sorted(name for name in names if name.startswith(HUGE_PAGES))
    return Observed(
        bool(asked), f"limits of {', '.join(asked)}" if asked else "the container has no limit of huge pages"
    )


def _node_has_device(case: Case) -> Observed:
    """Whether the node has any accelerator: the message does not say which one is meant."""
    if case.facts is None:
        return _NODE_UNKNOWN
    found = case.facts.lookup("accel.device")
    if found.content is not None:
        devices = found.content.instances or ()
        names = {one.get("model") or f"{one.get('vendor', '')} {one.get('kind', 'device')}" for one in devices}
        return Observed(bool(names), f"the node has {', '.join(sorted(names)[:_SHOWN])}" if names else "no accelerator")
    if found.state.value == "absent":
        return no("the node has no accelerator")
    return unknown(f"accel.device of the node ({found.reason})")


POD_FACTS: Mapping[str, Callable[[Case], Observed]] = {
    "oom-killed": _is_oom_killed,
    "has-devices": _has_devices,
    "has-huge-pages": _has_huge_pages,
    "node-has-device": _node_has_device,
}
"""Facts of a pod, and of it and its node together, by the names that the table uses."""
