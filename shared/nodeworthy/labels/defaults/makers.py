"""What a maker of default labels is, and the two ways of most of them."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

import msgspec

from nodeworthy.features import FeatureSet, Instance
from nodeworthy.labels.origins import Claims
from nodeworthy.rules.prefixes import DEFAULT_PREFIX


class Made(NamedTuple):
    """What one content of a set gives."""

    labels: Mapping[str, str]
    doubtful: frozenset[str] = frozenset()
    """Names that elements which nobody has observed may give."""
    may_be_more: bool = False
    """Whether nobody knows all names that such elements may give."""


Make: TypeAlias = Callable[[FeatureSet], Made]


class LabelMaker(msgspec.Struct, frozen=True):
    """Makes the default labels of one set, under names relative to its source."""

    set_name: str
    make: Make
    claims: Claims
    """Every label that it may give, under full names, for when the set is not known."""
    takes_names_as_they_are: bool = False
    """The names are full ones, or get the default prefix as a rule's do."""

    @property
    def source(self) -> str:
        """The source that the set is of."""
        return self.set_name.partition(".")[0]


def true_attribute(set_name: str, name: str, attribute: str) -> LabelMaker:
    """A maker of one label, which is there, and ``true``, where the attribute is."""

    def make(content: FeatureSet) -> Made:
        is_true = (content.attributes or {}).get(attribute) == "true"
        doubtful = frozenset({name} if attribute in content.unobserved else ())
        return Made({name: "true"} if is_true else {}, doubtful)

    return LabelMaker(set_name, make, Claims({full_name(set_name, name): "true"}))


def true_for_any(set_name: str, conditions: Mapping[str, Callable[[Instance], bool]]) -> LabelMaker:
    """A maker of labels that are there, and ``true``, where some instance is as asked."""

    def make(content: FeatureSet) -> Made:
        instances = content.instances or ()
        return Made({name: "true" for name, holds in conditions.items() if any(map(holds, instances))})

    return LabelMaker(set_name, make, Claims({full_name(set_name, name): "true" for name in conditions}))


def attribute_labels(
    set_name: str,
    name_of: Callable[[str], str | None],
    claims: Claims,
    value_of: Callable[[str], str | None] = str,
) -> LabelMaker:
    """A maker of one label for each attribute for which ``name_of`` and ``value_of`` have an answer."""

    def make(content: FeatureSet) -> Made:
        labels: dict[str, str] = {}
        for attribute, text in (content.attributes or {}).items():
            name, value = name_of(attribute), value_of(text)
            if name is not None and value is not None:
                labels[name] = value
        return Made(labels, frozenset(filter(None, map(name_of, content.unobserved))))

    return LabelMaker(set_name, make, claims)


def select(attributes: Iterable[str], prefix: str) -> Callable[[str], str | None]:
    """Names for some attributes: the prefix and the attribute's own name."""
    chosen = frozenset(attributes)
    return lambda attribute: prefix + attribute if attribute in chosen else None


def claim_names(set_name: str, names: Iterable[str]) -> Claims:
    """The claim of these names, whose values hang on the facts."""
    return Claims(dict.fromkeys(full_name(set_name, name) for name in names))


def claim_prefix(set_name: str, prefix: str) -> Claims:
    """The claim of every name of the source with this beginning."""
    return Claims(prefixes=(full_name(set_name, prefix),))


def full_name(set_name: str, name: str) -> str:
    """A label's full name, as NFD builds it: ``feature.node.kubernetes.io/<source>-<name>``."""
    return f"{DEFAULT_PREFIX}{set_name.partition('.')[0]}-{name}"
