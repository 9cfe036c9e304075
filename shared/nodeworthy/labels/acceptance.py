"""What a node may be given: names, namespaces and values are checked before anything is sent.

The API server refuses a whole request for one bad value and does not name it, so nothing bad is sent (case L9). The rules
are those of NFD's nfd-master with the syntax of :mod:`nodeworthy.rules.labels`, but for one thing: values are checked in
every namespace, also in those that are allowed by name, and also of short names where these are not prefixed.
"""

from collections.abc import Callable

import msgspec

from nodeworthy.errors import RuleError, UsageError
from nodeworthy.labels.origins import RejectedKind
from nodeworthy.labels.settings import AcceptanceSettings
from nodeworthy.rules import Taint
from nodeworthy.rules import labels as syntax
from nodeworthy.rules.labels import Fault, Objection
from nodeworthy.rules.patterns import compile_pattern

NamePattern = Callable[[str], bool]
"""Whether a name, without its namespace, is listed."""


class Acceptance(msgspec.Struct, frozen=True):
    """The checks under some settings.

    A key without ``/`` has come this far only where the prefix is off for its giver: then it needs no namespace.
    """

    settings: AcceptanceSettings
    is_listed: NamePattern

    def find_problem(self, kind: RejectedKind, key: str, value: str) -> Objection | None:
        """Why a node may not have this label, annotation or extended resource; ``None`` if it may."""
        if kind is RejectedKind.LABEL:
            return self._label_problem(key, value)
        name_problem = syntax.annotation_name_problem if "/" in key else syntax.qualified_name_problem
        problem = name_problem(key)
        if kind is RejectedKind.ANNOTATION:
            return problem or syntax.annotation_value_problem(value)
        return problem or syntax.quantity_problem(value)

    def _label_problem(self, key: str, value: str) -> Objection | None:
        """In NFD's order: a bad name, Kubernetes' own namespace unless it is allowed, a denied one, value, list."""
        namespace, slash, name = key.rpartition("/")
        is_extra = bool(slash) and namespace in self.settings.extra_namespaces
        problem = syntax.label_name_problem(key) if slash and not is_extra else syntax.qualified_name_problem(key)
        if not is_extra and any(_covers(pattern, namespace) for pattern in self.settings.denied_namespaces):
            return Objection(Fault.NAMESPACE, f"namespace {namespace[:80] or '(none)'} is denied by a setting")
        problem = problem or syntax.label_value_problem(value)
        if problem is None and not self.is_listed(name):
            return Objection(Fault.NOT_LISTED, "the setting for names of labels does not list it")
        return problem


def compile_acceptance(settings: AcceptanceSettings) -> Acceptance:
    """The checks under these settings.

    Raises:
        UsageError: the pattern of names is no regular expression.
    """
    return Acceptance(settings, compile_name_pattern(settings.name_pattern, "labels"))


def compile_name_pattern(pattern: str, subject: str) -> NamePattern:
    """The test for names of a setting.

    Raises:
        UsageError: it is no regular expression.
    """
    try:
        return compile_pattern(pattern)
    except RuleError as error:
        raise UsageError(
            f"the pattern for names of {subject} cannot be used", why=str(error), todo=error.todo
        ) from error


def find_taint_problem(taint: Taint) -> Objection | None:
    """Why a node may not have this taint; its value is not looked at, as in NFD."""
    return syntax.taint_name_problem(taint.key) or syntax.taint_effect_problem(taint.effect)


def _covers(pattern: str, namespace: str) -> bool:
    return namespace.endswith(pattern[1:]) if pattern.startswith("*") else namespace == pattern
