"""A diagnosis as a person reads it: who printed it, the likely cause, what else it may be, what to do now and next."""

import sys
from collections.abc import Mapping, Sequence

from nodeworthy.diagnosis import Cause, Confidence, Diagnosis, Separation, Step, Table
from nodeworthy_cli.output import emphasize, print_table, printable

_HEADS = {
    Confidence.LIKELY: ("Likely cause", "green"),
    Confidence.POSSIBLE: ("Possible, not shown", "yellow"),
    Confidence.RULED_OUT: ("Ruled out", "red"),
}
_DIFFERENCES = 10
"""Facts of a workload's nodes that are shown; ``-o json`` has all."""


def print_diagnosis(found: Diagnosis) -> None:
    """Print one diagnosis."""
    _line(emphasize("explained" if found.explained else "not explained", "green" if found.explained else "yellow"))
    _line(f"  {printable(found.summary)}")
    if found.signals:
        _head("Who printed it")
        for signal in found.signals:
            _line(f"  {printable(signal.speaker)}: {printable(signal.text)}")
    for confidence, (title, color) in _HEADS.items():
        causes = [one for one in found.causes if one.confidence is confidence]
        if causes:
            _head(emphasize(title, color))
            for cause in causes:
                _print_cause(cause)
    if found.cause is not None:
        _print_remedy(found.cause)
    if found.separation is not None:
        _print_separation(found.separation)
    _print_steps(found.steps)
    for notice in found.notices:
        _line(f"note: {printable(notice)}")


def print_signatures(table: Table) -> None:
    """Print the whole table of signatures."""
    rows = [
        (
            row.code,
            " | ".join((*row.fragments, *row.patterns, *row.signals, *(f"exit {code}" for code in row.exit_codes))),
            row.speaker,
            one.text,
            one.separates or "-",
            one.cure or "-",
        )
        for row in table.signatures
        for one in row.hypotheses
    ]
    print_table(("SIGN", "WORDS", "PRINTED BY", "MAY MEAN", "TOLD APART BY", "CURE"), rows)


def _print_steps(steps: Sequence[Step]) -> None:
    if steps:
        _head("Steps")
    for number, step in enumerate(steps):
        _line(f"  {chr(ord('a') + number)}. {step.text}")
        _line(f"     found: {printable(step.found)}" if step.found else f"     next: {printable(step.command)}")


def _print_cause(cause: Cause) -> None:
    layer = f" [{cause.layer.value}]" if cause.layer else ""
    _line(f"  {printable(cause.text)}{layer}")
    for text in cause.evidence:
        _line(f"      {printable(text)}")
    if cause.confidence is not Confidence.RULED_OUT and cause.separates:
        _line(f"      told apart by: {printable(cause.separates)}")


def _print_remedy(cause: Cause) -> None:
    if cause.now or cause.selector:
        _head("Now")
        if cause.now:
            _line(f"  {printable(cause.now)}")
        if cause.selector:
            _line("  nodeSelector:")
            for key, value in cause.selector.items():
                _line(f'    {printable(key)}: "{printable(value)}"')
        elif cause.wants:
            _line("  no label tells it yet; a rule that gives one: the same command with -o rule")
    if cause.cure:
        _head("Lasting cure")
        _line(f"  {printable(cause.cure)}")


def _print_separation(found: Separation) -> None:
    _head(f"{printable(found.workload)}: nodes where it runs beside nodes where it fails")
    _line(f"  runs on: {_names(found.runs)}")
    _line(f"  fails on: {_names(found.fails)}")
    if found.both:
        _line(f"  both on: {_names(found.both)}, so that what differs between nodes does not decide there")
    if not found.differences:
        _line("  no fact that is known differs between them")
        return
    rows = [
        (f"{one.score:.2f}", one.feature, one.name, _spread(one.runs), _spread(one.fails))
        for one in found.differences[:_DIFFERENCES]
    ]
    print_table(("SEPARATES", "SET", "NAME", "WHERE IT RUNS", "WHERE IT FAILS"), rows, indent="  ")


def _spread(values: Mapping[str, int]) -> str:
    return ", ".join(f"{value} ({count})" for value, count in sorted(values.items(), key=lambda one: -one[1])[:3])


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(printable(name) for name in names[:10])
    return (shown or "none") + (f" and {len(names) - 10} more" if len(names) > 10 else "")  # noqa: PLR2004


def _head(text: str) -> None:
    _line("")
    _line(text)


def _line(text: str) -> None:
    sys.stdout.write(text + "\n")
