"""The facts of all nodes as a table of small numbers, and rules, specifications and images held against all of them at once.

Belongs here: putting the snapshots of a node's producers together, keeping equal contents once, and evaluating rules and
verdicts once for nodes that are alike. What rules and verdicts mean stays in their own packages, and results are equal to
what those say of each node alone. Does not belong here: where snapshots come from, labels, and anything that waits. This is
the one package that imports numpy.
"""

from nodeworthy.fleet.chain_results import ChainResults, NodeGroup, evaluate_rules
from nodeworthy.fleet.chains import Chain, make_chain
from nodeworthy.fleet.declarations import Declarations
from nodeworthy.fleet.group_members import GroupMembers, find_members
from nodeworthy.fleet.judging import ImageResults, NodeKind, Question, judge_image, node_facts
from nodeworthy.fleet.limits import Limits
from nodeworthy.fleet.producers import DETECTOR, KUBERNETES, Producer, ProducerKind, Provenance, Report
from nodeworthy.fleet.specifications import (
    Specification,
    SpecificationResults,
    evaluate_specification,
    make_specification,
)
from nodeworthy.fleet.table import Change, Fleet, RowFacts

__all__ = [
    "DETECTOR",
    "KUBERNETES",
    "Chain",
    "ChainResults",
    "Change",
    "Declarations",
    "Fleet",
    "GroupMembers",
    "ImageResults",
    "Limits",
    "NodeGroup",
    "NodeKind",
    "Producer",
    "ProducerKind",
    "Provenance",
    "Question",
    "Report",
    "RowFacts",
    "Specification",
    "SpecificationResults",
    "evaluate_rules",
    "evaluate_specification",
    "find_members",
    "judge_image",
    "make_chain",
    "make_specification",
    "node_facts",
]
