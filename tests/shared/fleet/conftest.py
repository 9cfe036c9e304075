"""Small worlds for the tests of the fleet: snapshots, rules and specifications that hypothesis puts together.

The names are few, so that drawn rules and drawn facts meet; values are such that every outcome occurs: true, false, unknown
(sets and names that were not observed) and error (numbers asked of words).
"""

from collections.abc import Mapping

import pytest
from hypothesis import strategies as st

from nodeworthy.errors import Problem, RuleError
from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot
from nodeworthy.rules import CompatibilitySet, Expression, Operator, Rule, Term, UnreadableRule
from nodeworthy.rules.templates import Elements

SETS = ("lab.a", "lab.b", "pci.device", "kernel.loadedmodule", "rule.matched")
NAMES = ("x", "y", "a-b", "a_b")
VALUES = ("1", "2", "true", "word")
GIVEN = ("g1", "g2", "x")
"""Names that rules give, one of which facts may hold too."""

instances = st.dictionaries(st.sampled_from((*NAMES, "address")), st.sampled_from(VALUES), max_size=3)


@st.composite
def contents(draw: st.DrawFn) -> FeatureSet:
    flags = draw(st.none() | st.frozensets(st.sampled_from(NAMES)))
    attributes = draw(st.none() | st.dictionaries(st.sampled_from((*NAMES, *GIVEN)), st.sampled_from(VALUES)))
    unobserved = draw(st.frozensets(st.sampled_from(NAMES), max_size=2))
    return FeatureSet(
        flags=flags,
        attributes=attributes,
        instances=draw(st.none() | st.lists(instances, max_size=3).map(tuple)),
        unobserved=unobserved - frozenset(flags or ()) - frozenset(attributes or ()),
    )


statuses = st.builds(
    SetStatus, st.sampled_from([SetState.ABSENT, SetState.UNKNOWN]), st.sampled_from(["", "denied", "no such file"])
)
snapshots = st.builds(
    Snapshot,
    st.dictionaries(st.sampled_from(SETS), contents()),
    st.dictionaries(st.sampled_from(SETS), statuses),
    st.none() | st.frozensets(st.sampled_from(SETS)),
)

_without_values = st.sampled_from(
    [
        Expression(Operator.EXISTS),
        Expression(Operator.DOES_NOT_EXIST),
        Expression(Operator.IS_TRUE),
        Expression(Operator.ANY),
    ]
)
_with_values = st.builds(
    Expression,
    st.sampled_from([Operator.IN, Operator.NOT_IN, Operator.GT, Operator.LT, Operator.IN_REGEXP]),
    st.tuples(st.sampled_from(VALUES)),
    st.sampled_from(["", "version"]),
)
expressions = _without_values | _with_values
terms = st.builds(
    Term,
    st.sampled_from((*SETS, "Lab.A", "no.set")),
    st.none() | st.dictionaries(st.sampled_from((*NAMES, *GIVEN)), expressions, max_size=2),
    st.none() | expressions,
)
# Rules that read what rules gave are rare among drawn ones, and what goes wrong with them is subtle.
_matched = st.builds(
    Term, st.just("rule.matched"), st.dictionaries(st.sampled_from(GIVEN), expressions, min_size=1, max_size=1)
)
_rule_terms = terms | _matched
_outputs = st.dictionaries(st.sampled_from(GIVEN), st.sampled_from(("1", "2", "@lab.a.x")), max_size=2)


def rules_of(templates: st.SearchStrategy[str]) -> st.SearchStrategy[Rule | UnreadableRule]:
    readable = st.builds(
        Rule,
        st.sampled_from(("r1", "r2", "r3")),
        st.lists(_rule_terms, max_size=2).map(tuple),
        st.lists(st.lists(_rule_terms, max_size=2).map(tuple), max_size=2).map(tuple),
        labels=_outputs,
        vars=_outputs,
        labels_template=templates,
        vars_template=templates,
    )
    return readable | st.just(UnreadableRule("broken", (Problem("file", 1, "rules[0]", "not a map"),)))


_expanding = rules_of(
    st.sampled_from(
        (
            "",
            "",
            "{{range .lab.a}}g1={{.Name}}-{{.Value}}\n{{end}}",
            "g2={{len .pci.device}}",
            "{{range .rule.matched}}x={{.Name}}{{.Value}}\n{{end}}",
        )
    )
)
chains = st.lists(rules_of(st.just("") | st.just("") | st.sampled_from(("g1", "g2"))), max_size=6)
specifications = st.lists(
    st.builds(
        CompatibilitySet,
        st.lists(rules_of(st.just("") | st.just("") | st.sampled_from(("g1",))), max_size=3).map(tuple),
        st.integers(0, 3),
        st.sampled_from(("", "fast", "slow")),
    ),
    min_size=1,
    max_size=3,
)


class CountingTemplates:
    """An engine whose output hangs on everything that a template sees; ``g2`` cannot be expanded where there is nothing."""

    def expand(self, template: str, elements: Elements) -> Mapping[str, str]:
        seen = sorted(f"{d}.{f}:{sorted(map(str, found))}" for d, by in elements.items() for f, found in by.items())
        if template == "g2" and not seen:
            raise RuleError("nothing to expand")
        return {template: str(sum(map(len, seen)) % 3)}


class Worlds:
    """What tests draw from."""

    contents = contents()
    snapshots = snapshots
    fleets = st.lists(snapshots, min_size=1, max_size=4).flatmap(
        lambda few: st.lists(st.sampled_from(few), min_size=1, max_size=7)
    )
    """Few distinct snapshots on more nodes, as in a fleet."""
    terms = terms
    chains = chains
    expanding_chains = st.lists(_expanding, max_size=6)
    """With templates of the language itself, for evaluation without another engine."""
    specifications = specifications
    sets = (*SETS, "no.set")
    templates = CountingTemplates()


@pytest.fixture(scope="session")
def worlds() -> Worlds:
    return Worlds()
