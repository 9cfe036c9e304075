"""From the counts of one file and what surely runs of it to requirements."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from nodeworthy.requirements import Evidence, Information, Sureness
from nodeworthy_resolver.inspection.instructions.asking import choosing_signs
from nodeworthy_resolver.inspection.instructions.baseline import find_baseline
from nodeworthy_resolver.inspection.instructions.code import Code
from nodeworthy_resolver.inspection.instructions.conditions import in_words
from nodeworthy_resolver.inspection.instructions.starting import Use
from nodeworthy_resolver.inspection.instructions.steps import Step
from nodeworthy_resolver.inspection.instructions.usage import Usage
from nodeworthy_resolver.inspection.instructions.x86_features import LEVELS

_FEW = 3
"""Functions: what fewer of them have may be data between functions."""
_SMALL = 500
"""Functions of a whole file: in one as small as that, each counts."""
_MAX_SHOWN = 4
"""Features for which a place in the file is shown."""

_SURE = "executed on every way through the program's start"
_BASELINE = "share of functions: what the whole file was compiled for"
_POSSIBLE = "share of functions: possibly what the file was compiled for"
_REACHED = "called from the entry point by functions that do not look at what the CPU can"
_ALIKE = "the start surely runs AVX code: the program was built for AVX at least"
_WITH_AVX = LEVELS["X86_64_V3"]
_CHOSEN = "chosen at run time: nothing is asked of a node"
_ORDINARY = "used by ordinary functions; nothing in the file chooses at run time"


Shown = Callable[[Iterable[str]], list[Evidence]]
"""Makes the evidence for some features."""


class Judged(NamedTuple):
    """One file with all that was found out about it."""

    path: str
    code: Code
    usage: Usage
    sureness: Sureness
    """How sure it is that the file runs."""
    is_program: bool
    sure: Mapping[str, Use] = {}
    """By feature, what surely runs."""
    reached: Mapping[str, Use] = {}
    """By feature, what direct calls lead to."""


class Asked(NamedTuple):
    """Features that a file asks for."""

    architecture: str
    sureness: Sureness
    features: frozenset[str]
    evidence: tuple[Evidence, ...]


class Judgement(NamedTuple):
    """What one file asks for and what is good to know of it."""

    asked: tuple[Asked, ...] = ()
    information: tuple[Information, ...] = ()


def judge_file(file: Judged) -> Judgement:
    """What is asked by sureness, each feature only under its surest one; the rest is information."""
    signs = choosing_signs(file.path, file.code, file.usage)
    baseline = find_baseline(file.code.machine.architecture, file.usage, chooses=bool(signs))
    at_most = Sureness.ADVISORY if file.sureness is Sureness.ADVISORY else Sureness.PROBABLE
    ordinary = frozenset[str]() if signs else _ordinary(file.usage)
    alike = _alike(file)
    seen: list[tuple[Sureness, frozenset[str], Shown]] = [
        (file.sureness, frozenset(file.sure), partial(_uses, file, file.sure, _SURE)),
        (
            file.sureness if file.is_program else at_most,
            baseline.certain,
            partial(_counted, file, baseline.why, _BASELINE),
        ),
        (at_most, baseline.likely, partial(_counted, file, baseline.why, _BASELINE)),
        (at_most, frozenset(file.reached), partial(_uses, file, file.reached, _REACHED)),
        (at_most, alike, partial(_places, file, _ALIKE)),
        (at_most, ordinary, partial(_places, file, _ORDINARY)),
        (Sureness.ADVISORY, baseline.possible, partial(_counted, file, baseline.why, _POSSIBLE)),
    ]
    found: list[Asked] = []
    told = set[str]()
    for sureness, features, shown in seen:
        fresh = features - told
        told |= features
        if fresh:
            found.append(Asked(file.code.machine.architecture, sureness, fresh, tuple(shown(fresh))))
    rest = frozenset(file.usage.counts) - told
    return Judgement(tuple(found), (_optional(file, rest, signs),) if rest and signs else ())


def _ordinary(usage: Usage) -> frozenset[str]:
    least = 1 if usage.functions < _SMALL else _FEW
    return frozenset(one for one, count in usage.counts.items() if count >= least)


def _alike(file: Judged) -> frozenset[str]:
    """Where AVX surely runs, the program was built for it: what such compilers use as well may be for all CPUs too.

    That includes the function that a program built so chooses for the plainest CPU.
    """
    return _WITH_AVX & frozenset(file.usage.counts) if file.is_program and "AVX" in file.sure else frozenset()


def _optional(file: Judged, features: frozenset[str], signs: tuple[str, ...]) -> Information:
    return Information(
        code="cpu-instructions-optional",
        text=f"{file.path} uses {in_words(features)} only where the CPU has it, to judge by {' and '.join(signs[:2])}",
        evidence=tuple(_places(file, _CHOSEN, features)),
    )


def _counted(file: Judged, why: str, rule: str, features: Iterable[str]) -> list[Evidence]:
    return [Evidence(file=file.path, seen=why, rule=rule), *_places(file, rule, features)[:1]]


def _places(file: Judged, rule: str, features: Iterable[str]) -> list[Evidence]:
    """For some features, the first function that has each."""
    found = []
    for feature in sorted(features, key=lambda one: -file.usage.counts.get(one, 0))[:_MAX_SHOWN]:
        function = file.usage.first.get(feature, 0)
        step = (
            next((step for step in file.code.steps_from(function) if feature in step.features), None)
            if function
            else None
        )
        if step is not None:
            found.append(_evidence(file, function, step, rule))
    return found


def _uses(file: Judged, uses: Mapping[str, Use], rule: str, features: Iterable[str]) -> list[Evidence]:
    return [_evidence(file, uses[one].function, uses[one].step, rule) for one in sorted(features)[:_MAX_SHOWN]]


def _evidence(file: Judged, function: int, step: Step, rule: str) -> Evidence:
    text = file.code.machine.text(file.code.read(step.address, 16), step.address)
    return Evidence(
        file=file.path,
        seen=f"{text} ({in_words(step.features)})",
        offset=file.code.elf.offset_of(step.address),
        symbol=file.code.names.get(function, ""),
        rule=rule,
    )
