"""Causes that the image shows by itself: what it declares or surely needs and the node does not have, and its own faults."""

from collections.abc import Iterator

from nodeworthy.diagnosis.case import Case
from nodeworthy.diagnosis.instructions import Kind
from nodeworthy.diagnosis.observations import unmet_requirements
from nodeworthy.diagnosis.records import Cause, Confidence
from nodeworthy.requirements import Layer, Sureness
from nodeworthy.requirements.drafting import describe_evidence
from nodeworthy.verdicts import Origin, State


def causes_of_image(case: Case, told: str) -> Iterator[Cause]:
    """What would keep the image from running, whatever the sign is; what ``told`` says already is left out."""
    yield from _defects(case, told)
    yield from _needs(case, told)
    yield from _declared(case)


def _defects(case: Case, told: str) -> Iterator[Cause]:
    for one in case.inspection.defects if case.inspection is not None else ():
        if one.sureness is Sureness.CERTAIN and one.text not in told:
            yield Cause(
                code=one.code,
                text=f"the image itself is at fault, on every node: {one.text}",
                confidence=Confidence.LIKELY,
                evidence=tuple(describe_evidence(found) for found in one.evidence[:1]),
                separates="nodeworthy inspect IMAGE",
                cure=one.remedy,
            )


def _needs(case: Case, told: str) -> Iterator[Cause]:
    if case.inspection is None or case.facts is None:
        return
    # Where the instruction is known at which it stopped, that one decides, and not what else the image needs.
    is_known = case.instruction is not None and case.instruction.kind is not Kind.UNKNOWN
    for one in unmet_requirements(case.inspection, case.facts):
        if is_known and one.layer is Layer.INSTRUCTION_SET:
            continue
        if one.sureness is Sureness.CERTAIN and one.text not in told:
            yield Cause(
                code=one.code,
                text=f"the image needs {one.text}, which the node does not have",
                confidence=Confidence.LIKELY,
                evidence=tuple(describe_evidence(found) for found in one.evidence[:1]),
                separates="nodeworthy check IMAGE --on NODE",
                layer=one.layer,
                now="send the workload to nodes for which check says yes",
                cure=one.remedy,
                wants=one.match_features,
            )


def _declared(case: Case) -> Iterator[Cause]:
    """What the image declares to need and the node does not have."""
    for one in case.verdict.findings if case.verdict is not None else ():
        if one.origin is Origin.DECLARED and one.state is State.UNMET:
            yield Cause(
                code="declared-need-unmet",
                text=f"the image declares that it needs {one.requirement}, which the node does not have",
                confidence=Confidence.LIKELY,
                evidence=(f"the node: {one.observed or 'nothing of it'}; wanted: {one.expected}",),
                separates="nodeworthy check IMAGE --on NODE",
                layer=one.layer,
                now="send the workload to nodes for which check says yes",
                cure="label the nodes that fit and ask for the label",
            )
