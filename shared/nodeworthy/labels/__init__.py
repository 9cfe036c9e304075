"""Which labels a node should have and why, and what has to change on it.

Belongs here: default labels made from feature sets, the outputs of rules put together with their origins, and the pure
comparison with what a node has (:func:`reconcile`). Does not belong here: evaluating rules (``rules``), where facts, rules
and labels are read from, and how a plan is carried out (the targets of the labeler).
"""

from nodeworthy.labels.acceptance import Acceptance, compile_acceptance
from nodeworthy.labels.chain import ChainedRule, RuleChain, RuleObject, compile_chain
from nodeworthy.labels.combining import combine, want_labels
from nodeworthy.labels.custom_rules import make_own_labels
from nodeworthy.labels.defaults import (
    CompiledDefaults,
    DefaultLabel,
    DefaultLabels,
    compile_defaults,
    join_default_labels,
    make_default_labels,
)
from nodeworthy.labels.memory import (
    NO_CHANGES,
    Changes,
    LabelEntry,
    LabelMemory,
    LabelState,
    NodeLabels,
    Plan,
    labels_of_memory,
)
from nodeworthy.labels.notices import notices_of_settings
from nodeworthy.labels.origins import Claims, Given, Giver, GiverKind, Rejected, RejectedKind, Unresolved
from nodeworthy.labels.policy import LabelPolicy, compile_policy
from nodeworthy.labels.reconciling import reconcile, taint_key, wanted_of
from nodeworthy.labels.settings import (
    AcceptanceSettings,
    CpuLabels,
    DefaultLabelSettings,
    KernelLabels,
    LabelSettings,
    OutputSettings,
    PciLabels,
    UsbLabels,
)
from nodeworthy.labels.statuses import Conflict, ObjectStatus, Refusal, RuleStatus, StatusCounting
from nodeworthy.labels.targets import NO_FACTS, FactsMark, LabelTarget, TargetState
from nodeworthy.labels.values import legal_value
from nodeworthy.labels.wanted import NodeFacts, WantedLabel, WantedLabels, WantedTaint

__all__ = [
    "NO_CHANGES",
    "NO_FACTS",
    "Acceptance",
    "AcceptanceSettings",
    "ChainedRule",
    "Changes",
    "Claims",
    "CompiledDefaults",
    "Conflict",
    "CpuLabels",
    "DefaultLabel",
    "DefaultLabelSettings",
    "DefaultLabels",
    "FactsMark",
    "Given",
    "Giver",
    "GiverKind",
    "KernelLabels",
    "LabelEntry",
    "LabelMemory",
    "LabelPolicy",
    "LabelSettings",
    "LabelState",
    "LabelTarget",
    "NodeFacts",
    "NodeLabels",
    "ObjectStatus",
    "OutputSettings",
    "PciLabels",
    "Plan",
    "Refusal",
    "Rejected",
    "RejectedKind",
    "RuleChain",
    "RuleObject",
    "RuleStatus",
    "StatusCounting",
    "TargetState",
    "Unresolved",
    "UsbLabels",
    "WantedLabel",
    "WantedLabels",
    "WantedTaint",
    "combine",
    "compile_acceptance",
    "compile_chain",
    "compile_defaults",
    "compile_policy",
    "join_default_labels",
    "labels_of_memory",
    "legal_value",
    "make_default_labels",
    "make_own_labels",
    "notices_of_settings",
    "reconcile",
    "taint_key",
    "want_labels",
    "wanted_of",
]
