"""The rule language of Node Feature Discovery: reading, compiling, evaluating and reporting, each apart from the others.

Belongs here: rule documents and their meaning on facts, syntax of the names and values that rules give. Does not belong
here: where facts, documents and images come from, what is written to a cluster, and what a verdict on an image is made of
besides rules. The libraries that documents need (YAML, RE2) are imported by the functions that need them, never by this
package.
"""

from nodeworthy.rules.compiled import MATCHED_SET, CompiledRule, compile_rule
from nodeworthy.rules.documents import read_compatibility_spec, read_rule_document, read_rule_object
from nodeworthy.rules.evaluation import (
    ChainResult,
    Facts,
    RuleResult,
    compile_rules,
    decide,
    evaluate_chain,
    evaluate_rule,
    matched_elements,
)
from nodeworthy.rules.files import read_rule_file
from nodeworthy.rules.matching import CompiledTerm, compile_term
from nodeworthy.rules.nfd_report import nfd_report
from nodeworthy.rules.outcomes import Answer, Outcome
from nodeworthy.rules.records import (
    CompatibilitySet,
    CompatibilitySpec,
    Expression,
    Operator,
    Rule,
    RuleDocument,
    RuleFile,
    Taint,
    Term,
    UnreadableDocument,
    UnreadableRule,
)
from nodeworthy.rules.reporting import ExpressionReport, RuleReport, SetReport, report_sets
from nodeworthy.rules.templates import TemplateEngine

__all__ = [
    "MATCHED_SET",
    "Answer",
    "ChainResult",
    "CompatibilitySet",
    "CompatibilitySpec",
    "CompiledRule",
    "CompiledTerm",
    "Expression",
    "ExpressionReport",
    "Facts",
    "Operator",
    "Outcome",
    "Rule",
    "RuleDocument",
    "RuleFile",
    "RuleReport",
    "RuleResult",
    "SetReport",
    "Taint",
    "TemplateEngine",
    "Term",
    "UnreadableDocument",
    "UnreadableRule",
    "compile_rule",
    "compile_rules",
    "compile_term",
    "decide",
    "evaluate_chain",
    "evaluate_rule",
    "matched_elements",
    "nfd_report",
    "read_compatibility_spec",
    "read_rule_document",
    "read_rule_file",
    "read_rule_object",
    "report_sets",
]
