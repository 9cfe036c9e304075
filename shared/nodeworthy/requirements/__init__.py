"""What an image needs of a node, as its files show it: requirements, defects, and what is good to know.

Belongs here: the records, which inspection makes, verdicts hold against nodes and bucket ``images`` keeps; and the words for
writing a condition in the rule language. Does not belong here: reading images (the resolver) and judging (verdicts).
"""

from nodeworthy.requirements.grades import Effect, Layer, Sureness
from nodeworthy.requirements.records import (
    OTHER_MACHINE,
    Defect,
    Evidence,
    Information,
    Inspection,
    Library,
    Requirement,
    Software,
    Unexplored,
    uninspected,
)

__all__ = [
    "OTHER_MACHINE",
    "Defect",
    "Effect",
    "Evidence",
    "Information",
    "Inspection",
    "Layer",
    "Library",
    "Requirement",
    "Software",
    "Sureness",
    "Unexplored",
    "uninspected",
]
