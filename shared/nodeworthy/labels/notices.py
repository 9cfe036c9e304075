"""What authors of rules should know of the settings under which their rules run: each rule is told once."""

from collections.abc import Iterable, Iterator

from nodeworthy.errors import Problem
from nodeworthy.labels.chain import RuleObject
from nodeworthy.labels.settings import LabelSettings, OutputSettings
from nodeworthy.rules import Rule
from nodeworthy.rules.prefixes import AUTO_PREFIX, DEFAULT_PREFIX


def notices_of_settings(objects: Iterable[RuleObject], settings: LabelSettings) -> Iterator[Problem]:
    """The names under which short labels reach the node, and outputs that are switched off."""
    for item in objects:
        for rule in item.rules:
            if isinstance(rule, Rule):
                if settings.auto_prefix and item.auto_prefix:
                    yield from _prefix_notice(item, rule)
                yield from _switch_notices(item, rule, settings.outputs)


def _prefix_notice(item: RuleObject, rule: Rule) -> Iterator[Problem]:
    short = [name for name in rule.labels if "/" not in name]
    if short:
        more = f", and {len(short) - 1} more of this rule likewise" if len(short) > 1 else ""
        message = f"label {short[0][:80]} reaches the node as {DEFAULT_PREFIX}{short[0][:80]}{more}"
        hint = f'a nodeSelector has to use that key; or annotate the object with {AUTO_PREFIX}: "false"'
        yield Problem(item.source, 0, f"rule {rule.name[:80]}", message, hint)


def _switch_notices(item: RuleObject, rule: Rule, outputs: OutputSettings) -> Iterator[Problem]:
    given = {
        "labels": (outputs.labels, rule.labels or rule.labels_template),
        "annotations": (outputs.annotations, rule.annotations),
        "extended resources": (outputs.extended_resources, rule.extended_resources),
        "taints": (outputs.taints, rule.taints),
    }
    for kind, (is_on, what) in given.items():
        if what and not is_on:
            message = f"the rule gives {kind}, which a setting has switched off"
            yield Problem(item.source, 0, f"rule {rule.name[:80]}", message)
