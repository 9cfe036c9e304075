"""Verdicts: will this image run on that node, and if not, why not.

Belongs here: pure functions from what is known of an image and of a node to a verdict with findings. Does not belong here:
finding out either (resolver, detector) or showing the answer (command line, validator).
"""

from nodeworthy.requirements import Effect, Layer, Sureness
from nodeworthy.verdicts.combination import Claims, conclude, judge, judge_claims, read_claims, unresolved
from nodeworthy.verdicts.declared import (
    Declaration,
    DeclaredResult,
    Wishes,
    declaration_of_artifact,
    overall,
    select_sets,
    state_of,
)
from nodeworthy.verdicts.nodes import NodeFacts
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
    "Answer",
    "ArtifactSummary",
    "Claims",
    "Declaration",
    "DeclaredResult",
    "Effect",
    "Finding",
    "Layer",
    "NodeFacts",
    "Origin",
    "RuleSummary",
    "SetSummary",
    "State",
    "Sureness",
    "Verdict",
    "Wishes",
    "conclude",
    "declaration_of_artifact",
    "judge",
    "judge_claims",
    "overall",
    "read_claims",
    "select_sets",
    "state_of",
    "unresolved",
]
