"""The functions of templates, by subject: Go's own and sprig's, each under the name that templates call it by.

A function is Python with Go's answers: its annotations say what it takes (:mod:`nodeworthy.rules.templating.signatures`),
it raises FunctionError where Go gives an error or panics, and it spends the budget for work that grows with its input.
"""

from collections.abc import Mapping

from nodeworthy.rules.templating.functions import (
    builtins,
    cases,
    conversions,
    dates,
    defaults,
    dicts,
    encodings,
    floats,
    integers,
    json_text,
    lists,
    paths,
    quoting,
    regexes,
    strings,
    urls,
    versions,
)
from nodeworthy.rules.templating.functions.refused import refusal
from nodeworthy.rules.templating.signatures import Function

_SUBJECTS = (
    builtins,
    quoting,
    strings,
    cases,
    conversions,
    integers,
    floats,
    lists,
    dicts,
    defaults,
    json_text,
    encodings,
    regexes,
    versions,
    dates,
    paths,
    urls,
)
"""In this order; sprig's ``slice`` replaces Go's own, as in NFD."""

FUNCTIONS: Mapping[str, Function] = {name: run for subject in _SUBJECTS for name, run in subject.FUNCTIONS.items()}

__all__ = ["FUNCTIONS", "refusal"]
