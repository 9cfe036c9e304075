"""Why a node has, or has not, a label: who gives it, who would, which expressions decide, what was observed."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import NamedTuple

import msgspec

from nodeworthy.labels import (
    ChainedRule,
    Given,
    GiverKind,
    LabelEntry,
    LabelState,
    RejectedKind,
    Unresolved,
    WantedLabels,
    make_own_labels,
)
from nodeworthy.labels.defaults.makers import LabelMaker
from nodeworthy.rules import CompiledRule, Outcome, Rule, RuleReport, UnreadableRule
from nodeworthy.rules.explanation import deciding_expressions, distance, explain_chain
from nodeworthy.rules.prefixes import DEFAULT_PREFIX
from nodeworthy.rules.reporting import ExpressionReport
from nodeworthy_cli.rules.evaluating import Evaluation, evaluate, make_policy
from nodeworthy_cli.rules.files import ReadRules
from nodeworthy_cli.rules.subjects import Subject

MAX_RULES = 5
"""How many rules are shown, the nearest ones."""


_NEAR = 0.8
"""How alike keys must be to be suggested: all of them begin with the same namespace."""


class RuleExplanation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One rule that gives the label, or would."""

    object: str
    rule: str
    outcome: Outcome
    value: str | None
    """What it gives, or would give; ``None``: nobody knows before it matches."""
    reason: str = ""
    decides: tuple[ExpressionReport, ...] = ()
    """The expressions by which it ended as it did."""
    missing: int = 0
    """How many expressions would have to become true."""
    incident: str = ""
    certain: bool = True
    """Whether it names the label; a template, or a rule that cannot be read, may give any."""


class LabelExplanation(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of one label of one node."""

    node: str
    label: str
    """The key as it reaches the node."""
    state: str
    """``given``, ``not given``, ``refused``, ``unknown``: what the facts and the rules that were given make of it."""
    value: str | None = None
    reason: str = ""
    rules: tuple[RuleExplanation, ...] = ()
    """The winner first, then the nearest."""
    others: int = 0
    """How many further rules would give it and are not shown."""
    record: LabelEntry | None = None
    """What the labeler remembers of it; absent: nothing, or nobody was asked."""
    suggestions: tuple[str, ...] = ()
    """Keys that may be meant, where nobody knows this one."""


class _Verdict(NamedTuple):
    state: str
    value: str | None
    reason: str


def explain_label(label: str, read: ReadRules, subject: Subject, *, auto_prefix: bool) -> LabelExplanation:
    """What these rules and the node's own facts make of a label; ``label`` is its key, or the key without its namespace."""
    policy = make_policy(auto_prefix=auto_prefix)
    evaluation = evaluate(read, subject, policy, make_own_labels(subject.facts, policy))
    known = _known_keys(evaluation)
    key = find_key(label, known)
    record = subject.memory.labels.get(key) if subject.memory is not None else None
    is_by_rule = record is not None and any(one.giver.kind is not GiverKind.DEFAULT for one in record.given)
    # Without the rules only the labeler, which has them, can tell.
    verdict = _remembered(record) if record is not None and is_by_rule and not read.objects else _judge(evaluation, key)
    explained = _explain_rules(evaluation, key)
    is_heard_of = key in known or any(rule.certain for rule in explained) or _find_maker(evaluation, key) is not None
    near = [] if is_heard_of else get_close_matches(key, sorted(known), MAX_RULES, _NEAR)
    return LabelExplanation(
        node=subject.name,
        label=key,
        state=verdict.state,
        value=verdict.value,
        reason=verdict.reason,
        rules=tuple(explained[:MAX_RULES]),
        others=max(0, len(explained) - MAX_RULES),
        record=record,
        suggestions=tuple(near),
    )


def find_key(label: str, known: Iterable[str]) -> str:
    """The key that is meant: as it is written, or else the one behind some namespace, NFD's own before all others."""
    keys = set(known)
    if "/" in label or label in keys:
        return label
    behind = sorted(key for key in keys if key.endswith(f"/{label}"))
    return next((key for key in (DEFAULT_PREFIX + label, *behind) if key in keys), DEFAULT_PREFIX + label)


def _known_keys(evaluation: Evaluation) -> frozenset[str]:
    wanted = evaluation.wanted
    claimed = [key for link in evaluation.chain.rules for key in link.claims.values]
    doubtful = [key for one in wanted.unresolved for key in one.claims.values]
    memory = evaluation.subject.memory
    remembered = memory.labels if memory is not None else {}
    return frozenset((*wanted.labels, *claimed, *doubtful, *(one.key for one in wanted.rejected), *remembered))


def _judge(evaluation: Evaluation, key: str) -> _Verdict:
    wanted = evaluation.wanted
    label = wanted.labels.get(key)
    doubt = next((one for one in wanted.unresolved if _is_in_doubt(one, key, wanted)), None)
    if doubt is not None:
        would = f"{label.given[-1].giver} gives {label.value!r}, but " if label is not None else ""
        return _Verdict("unknown", None, f"{would}it is not known whether {doubt.giver} gives it: {doubt.reason}")
    if label is not None:
        return _Verdict("given", label.value, _who(label.given))
    refused = next((one for one in wanted.rejected if (one.kind, one.key) == (RejectedKind.LABEL, key)), None)
    if refused is not None:
        return _Verdict("refused", None, f"{refused.giver} gives it the value {refused.value!r}: {refused.reason}")
    maker = _find_maker(evaluation, key)
    if maker is not None:
        found = evaluation.subject.facts.lookup(maker.set_name)
        why = found.reason or "it holds nothing that would give it"
        said = f"default labels of {maker.set_name} would give it; {maker.set_name} is {found.state}: {why}"
        return _Verdict("not given", None, said)
    maybe = next((one for one in wanted.unresolved if _is_rule_for_anything(one)), None)
    if maybe is not None:
        return _Verdict("unknown", None, f"nobody names it, and {maybe.giver} may give any label: {maybe.reason}")
    return _Verdict("not given", None, "")


def _is_rule_for_anything(one: Unresolved) -> bool:
    return one.claims.anything and one.giver.kind is not GiverKind.DEFAULT


def _remembered(entry: LabelEntry) -> _Verdict:
    """What the labeler's record makes of a label that a rule gives."""
    giver = str(entry.given[-1].giver)
    match entry.state:
        case LabelState.CONFLICT:
            return _Verdict("not given", None, f"{giver} gives it, and somebody else has set it to {entry.live!r}")
        case LabelState.REJECTED:
            return _Verdict("refused", None, f"{giver} gives it: {entry.reason}")
        case LabelState.UNKNOWN:
            return _Verdict("unknown", None, entry.reason)
        case _:
            return _Verdict("given", entry.value, f"by {giver}" + (f"; {entry.reason}" if entry.reason else ""))


def _find_maker(evaluation: Evaluation, key: str) -> LabelMaker | None:
    """The maker of default labels that would give the label."""
    return next((one for one in evaluation.policy.defaults.makers if one.claims.names(key)), None)


def _is_in_doubt(one: Unresolved, key: str, wanted: WantedLabels) -> bool:
    """Whether somebody who could not be asked names the label, and would win with another value than the one it has."""
    label = wanted.labels.get(key)
    if not one.claims.names(key):
        return False
    return label is None or (one.position > label.position and one.claims.values.get(key) != label.value)


def _who(given: Sequence[Given]) -> str:
    winner = given[-1]
    others = [f"{one.giver} ({one.value!r})" for one in given[:-1] if one.giver != winner.giver]
    return f"by {winner.giver}" + (f"; it wins over {', '.join(others)}" if others else "")


def _explain_rules(evaluation: Evaluation, key: str) -> list[RuleExplanation]:
    """The rules that give the label or name it; where nobody does, those of which nobody knows what they give."""
    links = evaluation.chain.rules
    reports = explain_chain([_source(link) for link in links], evaluation.subject.facts)
    pairs = list(zip(links, reports, strict=True))
    label = evaluation.wanted.labels.get(key)
    gave = {given.giver for given in label.given} if label is not None else set()
    named = [pair for pair in pairs if pair[0].giver in gave or pair[0].claims.names(key)]
    shown = named or [pair for pair in pairs if pair[0].claims.anything and pair[1].outcome is not Outcome.TRUE]
    # Of several that match the last one wins; of the others the nearest is what a person looks for.
    shown.sort(key=lambda pair: (distance(pair[1]), -pair[0].place))
    return [_explain_rule(evaluation, link, report, key) for link, report in shown]


def _source(link: ChainedRule) -> Rule | UnreadableRule:
    return link.rule.source if isinstance(link.rule, CompiledRule) else link.rule


def _explain_rule(evaluation: Evaluation, link: ChainedRule, report: RuleReport, key: str) -> RuleExplanation:
    label = evaluation.wanted.labels.get(key)
    given = [one.value for one in label.given if one.giver == link.giver] if label is not None else []
    return RuleExplanation(
        object=link.giver.name,
        rule=link.giver.part,
        outcome=report.outcome,
        value=given[-1] if given else link.claims.values.get(key),
        reason=report.reason,
        decides=deciding_expressions(report),
        missing=distance(report),
        incident=evaluation.read.incidents.get(link.giver.name, ""),
        certain=bool(given) or link.claims.names(key),
    )
