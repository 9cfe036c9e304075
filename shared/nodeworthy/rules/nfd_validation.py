"""What ``kubectl nfd validate`` says of a file of rules.

It reads the first document of the file as a NodeFeatureRule, whatever its kind is, and looks at names and values, at the
syntax of templates and at the shape of feature names. It does not look at operators, their values, unknown fields or kinds;
and it refuses short names of labels, to which nfd-master would add its prefix (NFD, cmd/kubectl-nfd and
pkg/kubectl-nfd/validate.go).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from nodeworthy.errors import DocumentError, Problem, RuleError
from nodeworthy.rules import labels as syntax
from nodeworthy.rules.findings import Findings
from nodeworthy.rules.nfd_decoding import Json, decode_rule_object
from nodeworthy.rules.yaml_reader import read_yaml

_NOT_IN_NFD = ("env", "expandenv", "getHostByName")
"""Functions of sprig that NFD takes out; to call one is an error of the syntax."""


class NfdError(msgspec.Struct, frozen=True, omit_defaults=True, order=True):
    """One thing that NFD finds."""

    part: str
    """``document``, ``rule``, ``label``, ``annotation``, ``extendedResource``, ``taint``, ``template`` or ``feature``."""
    key: str | None
    """Of what; ``None`` for parts that have none."""
    reason: str
    """``parse``, ``no-name``, ``name``, ``unprefixed``, ``namespace``, ``value``, ``length``, ``effect``, ``no-effect``."""


class NfdValidation(msgspec.Struct, frozen=True):
    """NFD's verdict."""

    errors: tuple[NfdError, ...]
    """In the order of parts, keys and reasons; NFD's own order is random."""
    parsed: Json | None
    """The object as NFD has decoded it; ``None`` where it cannot."""
    problems: tuple[Problem, ...] = ()
    """Why it cannot be decoded."""

    @property
    def valid(self) -> bool:
        """Whether NFD finds nothing."""
        return not self.errors


def validate_as_nfd(data: bytes | str, source: str = "file") -> NfdValidation:
    """What NFD says of a file; ``source`` names it in problems. It never raises."""
    try:
        parsed = decode_rule_object(read_yaml(data, Findings(source)), source)
    except DocumentError as error:
        return NfdValidation((NfdError("document", None, "parse"),), None, error.problems)
    errors = [error for rule in parsed["rules"] for error in _check_rule(rule)]
    return NfdValidation(tuple(sorted(errors, key=_order)), parsed)


def _order(error: NfdError) -> tuple[str, str, str]:
    return (error.part, error.key or "", error.reason)


def _check_rule(rule: Json) -> Iterator[NfdError]:
    if not rule["name"]:
        yield NfdError("rule", None, "no-name")
    yield from _check_texts("annotation", rule, "annotations")
    yield from _check_texts("label", rule, "labels")
    yield from _check_texts("extendedResource", rule, "extendedResources")
    for taint in rule.get("taints", ()):
        problem = syntax.taint_name_problem(taint["key"]) or syntax.taint_effect_problem(taint["effect"])
        if problem is not None:
            yield NfdError("taint", taint["key"], problem.fault.value)
    for name in ("labelsTemplate", "varsTemplate"):
        if name in rule and not is_template_of_nfd(rule[name]):
            yield NfdError("template", None, "parse")
    for term in _terms(rule):
        if term["feature"].count(".") != 1:
            yield NfdError("feature", term["feature"], "name")


def _check_texts(part: str, rule: Json, name: str) -> Iterator[NfdError]:
    for key, value in rule.get(name, {}).items():
        problem = _problem(part, key, value)
        if problem is not None:
            yield NfdError(part, key, problem.fault.value)


def _problem(part: str, key: str, value: str) -> syntax.Objection | None:
    if part == "annotation":
        return syntax.annotation_name_problem(key) or syntax.annotation_value_problem(value)
    # What a value with @ will be, only a node tells: NFD looks at a number in its place.
    value = "0" if value.startswith("@") else value
    if part == "label":
        return syntax.label_name_problem(key) or syntax.label_value_problem(value)
    return syntax.extended_resource_name_problem(key) or syntax.quantity_problem(value)


def _terms(rule: Json) -> Iterable[Any]:
    yield from rule.get("matchFeatures", ())
    for element in rule.get("matchAny", ()):
        yield from element["matchFeatures"] or ()


def is_template_of_nfd(text: str) -> bool:
    """Whether NFD can parse a template; functions that nodeworthy refuses to call (the clock, randomness) count as there."""
    from nodeworthy.rules.templating.functions import FUNCTIONS, refusal
    from nodeworthy.rules.templating.parser import parse

    try:
        parse(text, _NfdFunctions(FUNCTIONS, refusal), refusal)
    except RuleError:
        return False
    return True


class _NfdFunctions:
    """The names that NFD's templates know."""

    def __init__(self, ours: Iterable[str], refusal: Callable[[str], str | None]) -> None:
        self._ours = frozenset(ours)
        self._refusal = refusal

    def __contains__(self, name: object) -> bool:
        if name in self._ours:
            return True
        return isinstance(name, str) and name not in _NOT_IN_NFD and self._refusal(name) is not None
