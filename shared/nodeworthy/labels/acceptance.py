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
from nodeworthy.rules.patterns import compile_pattern

NamePattern = Callable[[str], bool]
"""Whether a name, without its namespace, is listed."""


class Acceptance(msgspec.Struct, frozen=True):
    """The checks under some settings."""

    settings: AcceptanceSettings
    is_listed: NamePattern
    auto_prefix: bool = True

    def find_problem(self, kind: RejectedKind, key: str, value: str) -> str | None:
        """Why a node may not have this label, annotation or extended resource; ``None`` if it may."""
        problem = syntax.qualified_name_problem(key)
        if problem is not None:
            return problem
        if kind is RejectedKind.LABEL:
            return self._label_problem(key, value)
        is_free = not self.auto_prefix and "/" not in key
        if kind is RejectedKind.ANNOTATION:
            return (not is_free and syntax.annotation_name_problem(key)) or syntax.annotation_value_problem(value)
        return (not is_free and syntax.extended_resource_name_problem(key)) or syntax.quantity_problem(value)

    def _label_problem(self, key: str, value: str) -> str | None:
        namespace, slash, name = key.rpartition("/")
        if not (slash and namespace in self.settings.extra_namespaces):
            is_free = not self.auto_prefix and not slash
            if not is_free and (problem := syntax.label_name_problem(key)):
                return problem
            if any(_covers(pattern, namespace) for pattern in self.settings.denied_namespaces):
                return f"namespace {namespace or '(none)'} is denied by a setting"
        if not self.is_listed(name):
            return "the setting for names of labels does not list it"
        return syntax.label_value_problem(value)


def compile_acceptance(settings: AcceptanceSettings, *, auto_prefix: bool = True) -> Acceptance:
    """The checks under these settings.

    Raises:
        UsageError: the pattern of names is no regular expression.
    """
    return Acceptance(settings, compile_name_pattern(settings.name_pattern, "labels"), auto_prefix)


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


def find_taint_problem(taint: Taint) -> str | None:
    """Why a node may not have this taint; its value is not looked at, as in NFD."""
    return syntax.taint_name_problem(taint.key) or syntax.taint_effect_problem(taint.effect)


def _covers(pattern: str, namespace: str) -> bool:
    return namespace.endswith(pattern[1:]) if pattern.startswith("*") else namespace == pattern
