"""What rules give, looked at before any node is asked: what none may have, what two give, under which key it arrives."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from nodeworthy.labels import LabelPolicy, LabelSettings, RejectedKind, RuleObject, compile_chain, compile_policy
from nodeworthy.labels.acceptance import find_taint_problem
from nodeworthy.labels.notices import notices_of_settings
from nodeworthy.labels.settings import OutputSettings
from nodeworthy.rules import Rule, RuleDocument
from nodeworthy.rules.labels import Fault, Objection
from nodeworthy.rules.prefixes import add_default_prefix
from nodeworthy.rules.validation import OpenValidation, rules_path

_ALLOWABLE = "the labeler may be set to take this namespace: extraLabelNs in its --labels-config"


class _Place(NamedTuple):
    """One document with rules that give something."""

    validation: OpenValidation
    number: int
    document: RuleDocument
    item: RuleObject

    @property
    def rules(self) -> Iterator[tuple[str, Rule]]:
        """The readable rules with their paths."""
        path = rules_path(self.document)
        for number, rule in enumerate(self.document.rules):
            if isinstance(rule, Rule):
                yield f"{path}[{number}]", rule

    def full_names(self, names: Mapping[str, str]) -> Mapping[str, str]:
        return add_default_prefix(names) if self.item.auto_prefix else names

    def error(self, path: str, message: str, hint: str = "") -> None:
        self.validation.add_error(self.number, path, message, hint)

    def warning(self, path: str, message: str, hint: str = "") -> None:
        self.validation.add_warning(self.number, path, message, hint)


def check_outputs(validations: Sequence[OpenValidation], *, auto_prefix: bool = True) -> None:
    """Add to the validations of files, which are looked at together, what is said of the outputs of their rules."""
    policy = compile_policy(LabelSettings(outputs=OutputSettings(taints=True), auto_prefix=auto_prefix))
    places = [place for one in validations for place in _places(one, auto_prefix=auto_prefix)]
    for place in places:
        for path, rule in place.rules:
            _tell_prefix(place, path, rule, policy)
            _check_rule(place, path, rule, policy)
    _tell_equal_objects(places)
    _tell_rivals(places)
    _tell_circles(places)


def _places(validation: OpenValidation, *, auto_prefix: bool) -> Iterator[_Place]:
    for number, document in enumerate(validation.documents):
        if isinstance(document, RuleDocument) and document.kind != "NodeFeatureGroup":
            name = document.name or validation.file
            prefix = auto_prefix and document.auto_prefix
            item = RuleObject(name, document.rules, validation.file, auto_prefix=prefix)
            yield _Place(validation, number, document, item)


def _tell_prefix(place: _Place, path: str, rule: Rule, policy: LabelPolicy) -> None:
    alone = RuleObject(place.item.name, (rule,), place.item.source, auto_prefix=place.item.auto_prefix)
    for notice in notices_of_settings([alone], policy.settings):
        place.warning(f"{path}.labels", notice.message, notice.hint)


def _check_rule(place: _Place, path: str, rule: Rule, policy: LabelPolicy) -> None:
    given = (
        ("labels", RejectedKind.LABEL, rule.labels),
        ("annotations", RejectedKind.ANNOTATION, rule.annotations),
        ("extendedResources", RejectedKind.EXTENDED_RESOURCE, rule.extended_resources),
    )
    for field, kind, names in given:
        written = {key: name for name in names for key in place.full_names({name: ""})}
        for key, value in place.full_names(names).items():
            is_dynamic = value.startswith("@") and kind is not RejectedKind.ANNOTATION
            # A value that is looked up later is taken to be a good one, and 0 is good for every kind.
            problem = policy.acceptance.find_problem(kind, key, "0" if is_dynamic else value)
            if problem is not None:
                name = key if key in names else written[key]
                _object(place, f"{path}.{field}.{name}", f"{kind} {key[:80]}", problem)
    for number, taint in enumerate(rule.taints):
        problem = find_taint_problem(taint)
        if problem is not None:
            _object(place, f"{path}.taints[{number}]", f"taint {taint.key[:80]}", problem)


def _object(place: _Place, path: str, subject: str, problem: Objection) -> None:
    message = f"{subject} reaches no node: {problem}"
    if problem.fault is Fault.NAMESPACE and subject.startswith(RejectedKind.LABEL.value):
        place.warning(path, message, _ALLOWABLE)
    else:
        place.error(path, message)


def _tell_equal_objects(places: Iterable[_Place]) -> None:
    first: dict[str, _Place] = {}
    for place in places:
        other = first.setdefault(place.item.name, place)
        if other is not place and place.document.name:
            message = f"{other.item.source} holds an object {place.document.name[:80]!r} too"
            place.warning("metadata.name", message, "a cluster has one of them; a folder uses both")


class _Rival(NamedTuple):
    place: _Place
    path: str
    rule: Rule
    value: str

    def __str__(self) -> str:
        return f"{self.place.item.name[:80]}/{self.rule.name[:80]}"


def _tell_rivals(places: Iterable[_Place]) -> None:
    """Tell of labels that several rules give different values: the last in NFD's order wins where several match."""
    rivals: defaultdict[str, list[_Rival]] = defaultdict(list)
    for place in sorted(places, key=lambda place: (place.item.name.encode(errors="surrogatepass"), place.item.source)):
        for path, rule in place.rules:
            for key, value in place.full_names(rule.labels).items():
                rivals[key].append(_Rival(place, f"{path}.labels", rule, value))
    for key, givers in rivals.items():
        last = givers[-1]
        others = [one for one in givers if one.value != last.value]
        if others:
            more = f" and {len(others) - 1} more rules" if len(others) > 1 else ""
            message = f"label {key[:120]} has another value by rule {others[0]}{more}; where both match, this rule wins"
            last.place.warning(
                last.path, message, "a later rule wins over an earlier one, objects in the order of names"
            )


def _tell_circles(places: Sequence[_Place]) -> None:
    told = compile_chain([place.item for place in places]).notices
    for notice in told:
        for place in places:
            if (place.item.source, place.item.name) == (notice.source, notice.path):
                place.warning("metadata.name", notice.message, notice.hint)
