"""The rules of a node itself: those that NFD's worker always has, and those of set ``custom.rules``.

A node's rules give labels to that node only. What they give stands among its default labels (NFD: source/custom), so the
rules of the cluster see nothing of it in ``rule.matched``; among each other they see what those before them gave. The order
is NFD's: static rules, the configuration, files of custom.d by name, the files of a folder in its place.
"""

from collections.abc import Iterable

import msgspec

from nodeworthy import rules
from nodeworthy.errors import DocumentError, Problem
from nodeworthy.features import FeatureSet, Lookup
from nodeworthy.labels.chain import ChainedRule, RuleChain, RuleObject, link_objects
from nodeworthy.labels.defaults import (
    CompiledDefaults,
    DefaultLabel,
    DefaultLabels,
    join_default_labels,
    make_default_labels,
)
from nodeworthy.labels.defaults.custom import SET_NAME
from nodeworthy.labels.defaults.making import find_label_problem
from nodeworthy.labels.origins import Given, Giver, GiverKind, Rejected, RejectedKind, Unresolved, refuse
from nodeworthy.labels.policy import LabelPolicy
from nodeworthy.rules import (
    ChainResult,
    Expression,
    Facts,
    Operator,
    Outcome,
    Rule,
    TemplateEngine,
    Term,
    evaluate_chain,
)
from nodeworthy.rules.prefixes import DEFAULT_PREFIX

STATIC_RULES = (
    Rule(
        name="rdma.capable",
        match_features=(Term("pci.device", {"vendor": Expression(Operator.IN, ("15b3",))}),),
        labels={"rdma.capable": "true"},
    ),
    Rule(
        name="rdma.available",
        match_features=(
            Term(
                "kernel.loadedmodule",
                {"ib_uverbs": Expression(Operator.EXISTS), "rdma_ucm": Expression(Operator.EXISTS)},
            ),
        ),
        labels={"rdma.available": "true"},
    ),
)
"""NFD, source/custom/static_features.go: a card of Mellanox, and both modules loaded."""

_SET = Giver(GiverKind.DEFAULT, SET_NAME)

_SHORT = -1
"""The position of a name without a namespace: it yields to every full one, and to the short ones of features.d at 0."""


class CustomRules(msgspec.Struct, frozen=True):
    """The rules of all nodes with one content of ``custom.rules``."""

    chain: RuleChain
    problems: tuple[Problem, ...] = ()
    """Rules and files that are left out, and bad values of rules that run."""
    notices: tuple[Problem, ...] = ()


def read_custom_rules(found: Lookup, *, auto_prefix: bool = True) -> CustomRules:
    """The rules that a node has by its ``custom.rules``, compiled.

    What cannot be read stands in its place as what may give anything, and its neighbours run. That nobody knows what there
    is, where the set is unknown, is said by its maker among the default labels.
    """
    objects = [RuleObject("static", STATIC_RULES)]
    problems: list[Problem] = []
    notices: list[Problem] = []
    for item in _read_texts(found.content or FeatureSet()):
        objects += item.objects
        problems += item.problems
        notices += item.notices
    chain = link_objects(objects, auto_prefix=auto_prefix)
    return CustomRules(RuleChain(tuple(map(_as_own, chain.rules))), tuple(problems), tuple(notices))


def make_custom_labels(
    custom: CustomRules, result: ChainResult, defaults: CompiledDefaults, *, auto_prefix: bool = True
) -> DefaultLabels:
    """What these rules give one node by the results of their chain, to be put together with its other default labels.

    As in NFD's worker, illegal labels are left out here and ``@`` values are illegal, while namespaces are looked at later.
    """
    labels: list[DefaultLabel] = []
    unresolved: list[Unresolved] = []
    rejected: list[Rejected] = []
    position = next(place for place, maker in enumerate(defaults.makers, 1) if maker.set_name == SET_NAME)
    for link, outcome in zip(custom.chain.rules, result.results, strict=True):
        if outcome.outcome in (Outcome.UNKNOWN, Outcome.ERROR):
            unresolved.append(Unresolved(link.giver, outcome.outcome, outcome.reason, link.claims, position))
            continue
        for name, value in outcome.labels.items():
            key = DEFAULT_PREFIX + name if auto_prefix and "/" not in name else name
            problem = find_label_problem(defaults, key, value)
            if problem is not None:
                rejected.append(refuse(RejectedKind.LABEL, Given(link.giver, value), key, problem))
                continue
            labels.append(DefaultLabel(key, value, link.giver, link.sets, position if key == name else _SHORT))
    return DefaultLabels(tuple(labels), tuple(unresolved), tuple(rejected), custom.chain.givers)


def make_own_labels(facts: Facts, policy: LabelPolicy, templates: TemplateEngine | None = None) -> DefaultLabels:
    """All labels that a node gets by its own facts and rules, which is what NFD's worker writes into a NodeFeature."""
    made = make_default_labels(facts, policy.defaults, auto_prefix=policy.auto_prefix)
    own = read_custom_rules(facts.lookup(SET_NAME), auto_prefix=policy.auto_prefix)
    result = evaluate_chain(own.chain.compiled, facts, templates)
    by_rules = make_custom_labels(own, result, policy.defaults, auto_prefix=policy.auto_prefix)
    return join_default_labels((made, by_rules))


class _Text(msgspec.Struct, frozen=True):
    objects: tuple[RuleObject, ...]
    problems: tuple[Problem, ...] = ()
    notices: tuple[Problem, ...] = ()


def _read_texts(content: FeatureSet) -> Iterable[_Text]:
    texts = content.attributes or {}
    for name in sorted((*texts, *content.unobserved), key=_place):
        yield _read_text(name, texts[name]) if name in texts else _unreadable(name, "the detector left this file out")


def _place(name: str) -> tuple[bool, tuple[bytes, ...]]:
    """The configuration first, then files: names of one folder in the order of their bytes."""
    parts = tuple(part.encode() for part in name.split("/"))
    return len(parts) > 1, parts


def _read_text(name: str, text: str) -> _Text:
    try:
        document = rules.read_rule_document(text, name)
    except DocumentError as error:
        unread = _unreadable(name, error.problems[0].message)
        return msgspec.structs.replace(unread, problems=error.problems)
    return _Text((RuleObject(name, document.rules, name),), document.problems, document.notices)


def _unreadable(name: str, reason: str) -> _Text:
    return _Text((RuleObject(name, (), name, reason),), (Problem(name, 0, "", reason),))


def _as_own(link: ChainedRule) -> ChainedRule:
    """The rule as one of the node itself, which also hangs on the set that holds it."""
    giver = link.giver
    own = _SET if giver.kind is GiverKind.UNREAD else Giver(_SET.kind, _SET.name, f"{giver.name}/{giver.part}")
    return msgspec.structs.replace(link, giver=own, sets=tuple(sorted({*link.sets, SET_NAME})))
