"""Verdicts: will this image run on that node, and if not, why not.

Belongs here: pure functions from what is known of an image and of a node to a verdict with findings. Does not belong here:
finding out either (resolver, detector) or showing the answer (command line, validator).
"""

from nodeworthy.requirements import Effect, Layer, Sureness
from nodeworthy.verdicts.combination import judge, judge_claims, read_claims, unresolved
from nodeworthy.verdicts.conclusion import NOTHING_DECLARED, Claims, conclude
from nodeworthy.verdicts.declared import (
    Declaration,
    DeclaredResult,
    Wishes,
    declaration_of_artifact,
    overall,
    select_sets,
    state_of,
)
from nodeworthy.verdicts.inspected import InspectedResult, judge_inspected, requirement_sets, settle_states
from nodeworthy.verdicts.nodes import NodeFacts
from nodeworthy.verdicts.platform import choose_image
from nodeworthy.verdicts.records import (
    Answer,
    ArtifactSummary,
    Finding,
    Origin,
    RuleSummary,
    SetSummary,
    State,
    Verdict,
)

__all__ = [
    "NOTHING_DECLARED",
    "Answer",
    "ArtifactSummary",
    "Claims",
    "Declaration",
    "DeclaredResult",
    "Effect",
    "Finding",
    "InspectedResult",
    "Layer",
    "NodeFacts",
    "Origin",
    "RuleSummary",
    "SetSummary",
    "State",
    "Sureness",
    "Verdict",
    "Wishes",
    "choose_image",
    "conclude",
    "declaration_of_artifact",
    "judge",
    "judge_claims",
    "judge_inspected",
    "overall",
    "read_claims",
    "requirement_sets",
    "select_sets",
    "settle_states",
    "state_of",
    "unresolved",
]
