"""``nodeworthy rules dry-run``: what a node would get by rules, and what would change of it."""

from collections.abc import Iterator

import click
import msgspec

from nodeworthy.labels import Giver, LabelState, RejectedKind, Unresolved, labels_of_memory
from nodeworthy.rules import Outcome
from nodeworthy_cli.bus_options import BusOptions, bus_options
from nodeworthy_cli.output import format_option, print_document, print_table
from nodeworthy_cli.rules.evaluating import (
    Evaluation,
    RefusedOutput,
    evaluate,
    make_policy,
    outputs_of,
    print_notes,
    print_refused,
    refused_outputs,
)
from nodeworthy_cli.rules.files import read_rules, read_texts
from nodeworthy_cli.rules.subjects import Subject, on_option, read_subject

_LIVE = (LabelState.APPLIED, LabelState.KEPT)
"""What is on the node, and ours."""


class Output(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that the node would get, or lose."""

    kind: RejectedKind
    """The same kinds as of what is refused."""
    key: str
    """As it reaches the node; of a taint ``key:effect``."""
    value: str | None
    """``None``: it would go."""
    giver: str
    change: str = ""
    """Beside what the labeler remembers: ``new``, ``same``, ``goes``, or ``was`` and the value; empty: not known."""


class UnansweredRule(msgspec.Struct, frozen=True):
    """A rule of which it is not known what it gives."""

    giver: str
    outcome: Outcome
    reason: str


class DryRun(msgspec.Struct, frozen=True):
    """What the rules would do to one node."""

    node: str
    outputs: tuple[Output, ...]
    refused: tuple[RefusedOutput, ...]
    unanswered: tuple[UnansweredRule, ...]


@click.command(name="dry-run")
@click.argument("names", metavar="FILE...", nargs=-1, required=True)
@on_option
@click.option("--no-auto-prefix", is_flag=True, help="As under a labeler that adds no prefix to short names.")
@format_option
@bus_options
@click.pass_context
def command(
    ctx: click.Context, *, names: tuple[str, ...], on: str, no_auto_prefix: bool, output: str, bus: BusOptions
) -> None:
    """Show what a node would get by these rules, under final keys, and what is refused; nothing is written.

    Of a node of the bus it is compared with the labels that it has: what would be new, change, or go because these very
    rules gave it before. Other rules that are in force are not looked at; for those see: labels diff. Exit codes as of:
    rules test.
    """
    subject = read_subject(on, bus, "rules dry-run")
    evaluation = evaluate(read_rules(read_texts(names)), subject, make_policy(auto_prefix=not no_auto_prefix))
    found = make_dry_run(evaluation)
    if output == "table":
        _print(found, is_compared=subject.is_on_bus)
    else:
        print_document(found, output)
    print_notes(evaluation)
    ctx.exit(evaluation.code)


def make_dry_run(evaluation: Evaluation) -> DryRun:
    """What the rules would do to the node."""
    wanted, subject = evaluation.wanted, evaluation.subject
    given = list(outputs_of(wanted))
    outputs = [
        Output(kind, key, value, str(giver), _change(subject, kind, key, value)) for kind, key, value, giver in given
    ]
    kept = {(kind, key) for kind, key, _, _ in given}
    outputs += [one for one in _gone(evaluation) if (one.kind, one.key) not in kept]
    return DryRun(
        node=subject.name,
        outputs=tuple(outputs),
        refused=refused_outputs(wanted),
        unanswered=tuple(UnansweredRule(str(one.giver), one.outcome, one.reason) for one in wanted.unresolved),
    )


def _change(subject: Subject, kind: RejectedKind, key: str, value: str) -> str:
    if not subject.is_on_bus:
        return ""
    node = labels_of_memory(subject.memory)
    live = node.live if kind is RejectedKind.LABEL else node.others[kind].live if kind in node.others else {}
    if key not in live:
        return "new"
    return "same" if live[key] == value else f"was {live[key]!r}"


def _gone(evaluation: Evaluation) -> Iterator[Output]:
    """What these rules gave before, unless somebody who could not be asked may give it still."""
    memory = evaluation.subject.memory
    if memory is None:
        return
    for kind, entries in ((RejectedKind.LABEL, memory.labels), *memory.others.items()):
        for key, entry in sorted(entries.items()):
            givers = {given.giver for given in entry.given}
            is_theirs = bool(givers) and givers <= evaluation.chain.givers and entry.state in _LIVE
            if is_theirs and not any(_may_give(one, kind, key, givers) for one in evaluation.wanted.unresolved):
                yield Output(kind, key, None, str(entry.given[-1].giver), "goes")


def _may_give(one: Unresolved, kind: RejectedKind, key: str, givers: set[Giver]) -> bool:
    if kind is not RejectedKind.LABEL:
        return one.giver in givers
    return one.claims.names(key) or (one.claims.anything and one.giver in givers)


def _print(found: DryRun, *, is_compared: bool) -> None:
    rows = [
        (one.kind.value, one.key, "-" if one.value is None else one.value or '""', one.giver, one.change or "-")
        for one in found.outputs
    ]
    heads = ("KIND", "KEY", "VALUE", "RULE", "CHANGE")
    width = len(heads) if is_compared else len(heads) - 1
    if rows:
        print_table(heads[:width], [row[:width] for row in rows])
    else:
        click.echo("these rules give this node nothing; see which match: nodeworthy rules test", err=True)
    print_refused(found.refused)
    if found.unanswered:
        click.echo()
        rest = [(one.giver, one.outcome.value, one.reason) for one in found.unanswered]
        print_table(("NOT ANSWERED", "OUTCOME", "WHY"), rest)
