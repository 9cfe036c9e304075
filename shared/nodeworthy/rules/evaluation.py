"""Evaluating rules on facts: the order and laziness of NFD's labelling, with unknown and error beside true and false."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias

import msgspec

from nodeworthy.errors import RuleError
from nodeworthy.features import FeatureSet, Instance, Lookup
from nodeworthy.rules.back_references import BackReferences
from nodeworthy.rules.compiled import MATCHED_SET, CompiledRule, compile_rule
from nodeworthy.rules.matching import CompiledTerm
from nodeworthy.rules.outcomes import FAILS, HOLDS, Answer, Outcome, all_hold, any_holds
from nodeworthy.rules.records import Rule, Taint, UnreadableRule
from nodeworthy.rules.templates import Elements, Template, TemplateEngine, collect_elements


class Facts(Protocol):
    """What rules are evaluated on; :class:`nodeworthy.features.Snapshot` is one."""

    def lookup(self, name: str) -> Lookup:
        """What is known of the set ``name``, spelt in lower case."""


class RuleResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one rule says of one node; the outputs are there only where the outcome is TRUE."""

    name: str
    outcome: Outcome
    reason: str = ""
    """Why the outcome is UNKNOWN or ERROR."""
    todo: str = ""
    labels: Mapping[str, str] = {}
    vars: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    extended_resources: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()


class ChainResult(msgspec.Struct, frozen=True):
    """What a list of rules says of one node; ``matched`` is ``rule.matched`` at the end, ``None`` if it was never made."""

    results: tuple[RuleResult, ...]
    matched: Mapping[str, str] | None


Ask: TypeAlias = Callable[[CompiledTerm], Answer]
"""Answers one term; where the answer comes from, evaluation or a table, is the caller's business."""


def evaluate_rule(rule: CompiledRule, facts: Facts, templates: TemplateEngine | None = None) -> RuleResult:
    """What one rule alone says; ``rule.matched`` holds what the facts have under this name."""
    return evaluate_in_chain(rule, facts, BackReferences(facts.lookup(MATCHED_SET)), templates)


def evaluate_chain(
    rules: Iterable[CompiledRule | UnreadableRule], facts: Facts, templates: TemplateEngine | None = None
) -> ChainResult:
    """What a list of rules says, each seeing in ``rule.matched`` what those before it gave."""
    matched = BackReferences(facts.lookup(MATCHED_SET))
    results = []
    for rule in rules:
        if isinstance(rule, UnreadableRule):
            result = unreadable_result(rule)
        else:
            result = evaluate_in_chain(rule, facts, matched, templates)
        hand_on(matched, rule, result)
        results.append(result)
    return ChainResult(tuple(results), matched.names)


def hand_on(matched: BackReferences, rule: CompiledRule | UnreadableRule, result: RuleResult) -> None:
    """Let the rules after a rule of a chain see what it gave, or what nobody knows whether it gave."""
    if isinstance(rule, UnreadableRule):
        matched.doubt_all(rule.name)
    else:
        _feed(matched, rule.source, result)


def decide(rule: CompiledRule, ask: Ask) -> Answer:
    """Whether a rule without templates matches; the terms are asked in NFD's order and no more than needed."""
    if not rule.match_any:
        return all_hold(map(ask, rule.match_features))
    return all_hold(_parts(rule, ask))


def matched_elements(rule: CompiledRule, facts: Facts) -> Elements:
    """What the ``matchFeatures`` of a rule that matches have matched."""
    matched = BackReferences(facts.lookup(MATCHED_SET))
    return _elements(rule.match_features, lambda term: look_up(term, facts, matched))


def compile_rules(rules: Sequence[Rule | UnreadableRule]) -> tuple[CompiledRule | UnreadableRule, ...]:
    """The rules of a document, compiled; those that could not be read are passed on."""
    return tuple(rule if isinstance(rule, UnreadableRule) else compile_rule(rule) for rule in rules)


def unreadable_reason(rule: UnreadableRule) -> str:
    """Why the rule was left out, in one line."""
    first = rule.problems[0]
    return f"the rule could not be read: {first.path}: {first.message}"


def unreadable_result(rule: UnreadableRule) -> RuleResult:
    """What a rule says that was left out."""
    return RuleResult(rule.name, Outcome.ERROR, unreadable_reason(rule))


def _parts(rule: CompiledRule, ask: Ask) -> Iterable[Answer]:
    yield any_holds(all_hold(map(ask, element)) for element in rule.match_any)
    yield all_hold(map(ask, rule.match_features))


def look_up(term: CompiledTerm, facts: Facts, matched: BackReferences) -> Lookup:
    """The set that a term reads: from the facts, or what the rules before it gave."""
    return matched.lookup() if term.set_name == MATCHED_SET else facts.lookup(term.set_name)


def evaluate_in_chain(
    rule: CompiledRule, facts: Facts, matched: BackReferences, templates: TemplateEngine | None = None
) -> RuleResult:
    """What one rule says after others; ``matched`` is only read."""

    def find(term: CompiledTerm) -> Lookup:
        return look_up(term, facts, matched)

    return evaluate_answered(rule, lambda term: term.answer(find(term)), find, templates)


def evaluate_answered(
    rule: CompiledRule, ask: Ask, find: Callable[[CompiledTerm], Lookup], templates: TemplateEngine | None = None
) -> RuleResult:
    """What one rule says, given the answers of its terms; ``find`` is what templates see of the sets that terms read."""
    source = rule.source
    if not source.has_templates:
        answer = decide(rule, ask)
        return _given(source, {}, {}) if answer.outcome is Outcome.TRUE else _not_given(source, answer)
    labels: dict[str, str] = {}
    variables: dict[str, str] = {}

    def expand(terms: Sequence[CompiledTerm]) -> None:
        elements = _elements(terms, find)
        labels.update(_expand(rule.labels_template, elements, templates))
        variables.update(_expand(rule.vars_template, elements, templates))

    try:
        answer = _decide_expanding(rule, ask, expand)
    except RuleError as error:
        answer = Answer(Outcome.ERROR, str(error), error.todo)
    return _given(source, labels, variables) if answer.outcome is Outcome.TRUE else _not_given(source, answer)


def _given(source: Rule, labels: Mapping[str, str], variables: Mapping[str, str]) -> RuleResult:
    """The result of a rule that matches; ``labels`` and ``variables`` are those of its templates."""
    return RuleResult(
        name=source.name,
        outcome=Outcome.TRUE,
        labels={**labels, **source.labels} if labels else source.labels,
        vars={**variables, **source.vars} if variables else source.vars,
        annotations=source.annotations,
        extended_resources=source.extended_resources,
        taints=source.taints,
    )


def _not_given(source: Rule, answer: Answer) -> RuleResult:
    return RuleResult(source.name, answer.outcome, answer.reason, answer.todo)


def required_variables(
    rule: CompiledRule, facts: Facts, matched: BackReferences, templates: TemplateEngine | None
) -> Mapping[str, str]:
    """The variables of a rule whose ``matchFeatures`` hold, be its ``matchAny`` what it may.

    Raises:
        RuleError: the template of variables cannot be expanded.
    """
    if rule.vars_template is None:
        return rule.source.vars
    elements = _elements(rule.match_features, lambda term: look_up(term, facts, matched))
    return {**_expand(rule.vars_template, elements, templates), **rule.source.vars}


def _expand(template: Template | None, elements: Elements, templates: TemplateEngine | None) -> Mapping[str, str]:
    if template is None:
        return {}
    return template.expand(elements) if templates is None else templates.expand(template.text, elements)


def _decide_expanding(rule: CompiledRule, ask: Ask, expand: Callable[[Sequence[CompiledTerm]], None]) -> Answer:
    """As :func:`decide`, for a rule with templates: every element of ``matchAny`` that holds adds to the output."""
    answers: list[Answer] = []
    for element in rule.match_any:
        answer = all_hold(map(ask, element))
        if answer.outcome is Outcome.ERROR:
            return _first(answers, Outcome.UNKNOWN) or answer
        if answer.outcome is Outcome.TRUE:
            expand(element)
        answers.append(answer)
    # An element that may hold would add to the output, so one unknown element makes the whole unknown.
    alternatives = _first(answers, Outcome.UNKNOWN) or (
        FAILS if answers and not _first(answers, Outcome.TRUE) else HOLDS
    )
    if alternatives.outcome is Outcome.FALSE:
        return alternatives
    required = all_hold(map(ask, rule.match_features))
    if rule.match_features and alternatives.outcome is required.outcome is Outcome.TRUE:
        expand(rule.match_features)
    return all_hold((alternatives, required))


def _first(answers: Iterable[Answer], outcome: Outcome) -> Answer | None:
    return next((answer for answer in answers if answer.outcome is outcome), None)


def _elements(
    terms: Sequence[CompiledTerm], find: Callable[[CompiledTerm], Lookup]
) -> dict[str, dict[str, list[Instance]]]:
    return collect_elements((term, find(term).content or FeatureSet()) for term in terms)


def _feed(matched: BackReferences, rule: Rule, result: RuleResult) -> None:
    if result.outcome is Outcome.TRUE:
        matched.feed(result.labels, result.vars)
    elif result.outcome is Outcome.FALSE:
        matched.feed()
    elif result.outcome is Outcome.UNKNOWN and rule.has_templates:
        matched.doubt_all(rule.name)
    elif result.outcome is Outcome.UNKNOWN:
        matched.doubt(rule.name, (*rule.labels, *rule.vars))
    # A rule in error gives nothing, as in NFD.
