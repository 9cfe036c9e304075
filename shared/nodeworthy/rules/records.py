"""What a rule document says, after reading: frozen records, independent of how they were written down.

The shape is that of Node Feature Discovery (NFD), api/nfd/v1alpha1 (NodeFeatureRule, NodeFeatureGroup) and
api/image-compatibility/v1alpha1 (compatibility specification), with the short forms already written out.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from nodeworthy.errors import Problem


class Operator(StrEnum):
    """What an expression asks; the texts are NFD's, and case matters."""

    ANY = ""
    """Always true; NFD's cluster objects do not allow it, files and artifacts do."""
    IN = "In"
    NOT_IN = "NotIn"
    IN_REGEXP = "InRegexp"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    GE = "Ge"
    LT = "Lt"
    LE = "Le"
    GT_LT = "GtLt"
    GE_LE = "GeLe"
    IS_TRUE = "IsTrue"
    IS_FALSE = "IsFalse"


class Expression(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question about one element, or about every name of a set."""

    operator: Operator
    values: tuple[str, ...] = ()
    type: str = ""
    """``version`` compares versions; anything else compares whole numbers or is an error, as in NFD."""
    reads_flags: bool = False
    """Written as ``{in: ["true"]}``: a flag then has the value ``true`` where it is present and ``false`` where not.

    NFD's own ``{op: In, value: ["true"]}`` never holds on a flag, because a flag has no value."""


class Term(msgspec.Struct, frozen=True, omit_defaults=True):
    """Questions about one feature set; all of them must hold."""

    feature: str
    """As written; the set is looked up in lower case."""
    expressions: Mapping[str, Expression] | None = None
    """``matchExpressions``. Empty differs from absent: ``{}`` wants content, ``None`` asks nothing."""
    name: Expression | None = None
    """``matchName``: asked of every element's name."""


class Taint(msgspec.Struct, frozen=True, omit_defaults=True):
    """A taint as the rule writes it; nothing of it is checked before it is applied."""

    key: str
    effect: str = ""
    value: str = ""
    time_added: str = ""


class Rule(msgspec.Struct, frozen=True, omit_defaults=True):
    """One rule; a rule without ``match_features`` and ``match_any`` always matches."""

    name: str
    match_features: tuple[Term, ...] = ()
    """All of these must hold."""
    match_any: tuple[tuple[Term, ...], ...] = ()
    """If not empty, one of these must hold; each holds when all of its terms do."""
    labels: Mapping[str, str] = {}
    labels_template: str = ""
    vars: Mapping[str, str] = {}
    vars_template: str = ""
    annotations: Mapping[str, str] = {}
    extended_resources: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()

    @property
    def has_templates(self) -> bool:
        """Whether matching it expands a template, whose output nobody knows before."""
        return bool(self.labels_template or self.vars_template)


class UnreadableRule(msgspec.Struct, frozen=True):
    """A rule that was left out because it cannot be understood; its neighbours run."""

    name: str
    problems: tuple[Problem, ...]


class RuleDocument(msgspec.Struct, frozen=True):
    """The rules of one NodeFeatureRule, NodeFeatureGroup or list of worker rules.

    ``problems`` are what a validation refuses (rules left out, bad values of rules that run); ``notices`` are what it is
    good to know (short forms, fields that nobody reads).
    """

    kind: str
    name: str
    rules: tuple[Rule | UnreadableRule, ...]
    problems: tuple[Problem, ...] = ()
    notices: tuple[Problem, ...] = ()
    annotations: Mapping[str, str] = {}
    """``metadata.annotations``, as far as they are text."""
    line: int = 0
    """Where it begins; 0 where that is not known."""
    auto_prefix: bool = True
    """Whether the object leaves its short names to the default prefix."""


class UnreadableDocument(msgspec.Struct, frozen=True):
    """A document of a file that cannot be used, and may hold any rule; the documents around it are."""

    name: str
    """The object's name, as far as it is known."""
    problems: tuple[Problem, ...]


class RuleFile(msgspec.Struct, frozen=True):
    """The documents of one file, in order; objects of other kinds are passed over, and ``notices`` tell it."""

    documents: tuple[RuleDocument | UnreadableDocument, ...]
    notices: tuple[Problem, ...] = ()


class CompatibilitySet(msgspec.Struct, frozen=True, omit_defaults=True):
    """One way in which a node can satisfy an image: all of its rules must match."""

    rules: tuple[Rule | UnreadableRule, ...]
    weight: int = 0
    tag: str = ""
    description: str = ""


class CompatibilitySpec(msgspec.Struct, frozen=True):
    """A compatibility specification; any one of its sets is enough. ``problems`` and ``notices`` as in a RuleDocument."""

    version: str
    """Empty where the document does not say one."""
    compatibilities: tuple[CompatibilitySet, ...]
    problems: tuple[Problem, ...] = ()
    notices: tuple[Problem, ...] = ()
