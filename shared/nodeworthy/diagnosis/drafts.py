"""Drafts of what would have prevented a failure: a NodeFeatureRule, or a compatibility specification for the image."""

import re

from nodeworthy.diagnosis.records import Cause
from nodeworthy.errors import UsageError
from nodeworthy.rules import Rule
from nodeworthy.rules.conversion import write_rule, write_yaml

_GROUP = "nfd.k8s-sigs.io/v1alpha1"
_LABEL = "feature.node.kubernetes.io/"


def draft_rule(cause: Cause | None) -> str:
    """A NodeFeatureRule that labels the nodes on which the failure does not happen, as YAML.

    Raises:
        UsageError: no property of a node would have prevented it, or none is known.
    """
    rule = _rule_of(cause)
    label = f"{_LABEL}without-{rule.name}"
    spec = {"rules": [{**write_rule(rule), "labels": {label: "true"}}]}
    document = {
        "apiVersion": _GROUP,
        "kind": "NodeFeatureRule",
        "metadata": {"name": f"without-{rule.name}"},
        "spec": spec,
    }
    told = f"# Nodes on which this does not happen: {_one_line(cause.text if cause else '')}\n"
    return f'{told}# In the pod: nodeSelector: {{{label}: "true"}}\n{write_yaml([document])}'


def draft_specification(cause: Cause | None, image: str) -> str:
    """A compatibility specification that keeps the image from the nodes on which it fails, as YAML.

    Raises:
        UsageError: as :func:`draft_rule`.
    """
    rule = _rule_of(cause)
    document = {
        "version": "v1alpha1",
        "compatibilities": [
            {"description": "what a failure showed that it cannot do without", "weight": 1, "rules": [write_rule(rule)]}
        ],
    }
    told = f"# For {_one_line(image)}: nodeworthy spec attach IMAGE FILE\n"
    return f"{told}# A failure showed: {_one_line(cause.text if cause else '')}\n{write_yaml([document])}"


def _rule_of(cause: Cause | None) -> Rule:
    if cause is None:
        raise UsageError(
            "no rule can be drafted",
            why="no likely cause was found",
            todo="see what is missing: the same command without -o rule",
        )
    if not cause.wants:
        raise UsageError(
            "no rule would have prevented it", why=cause.text, todo=cause.cure or "see the same command without -o rule"
        )
    return Rule(re.sub(r"[^a-z0-9-]", "-", cause.code.lower()), cause.wants)


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
