"""``nodeworthy rules explain``: why a node has a label, or has it not."""

import click

from nodeworthy.rules import Outcome
from nodeworthy.rules.reporting import ExpressionReport
from nodeworthy_cli import exits
from nodeworthy_cli.bus_options import BusOptions, bus_options
from nodeworthy_cli.output import emphasize, format_option, print_document, print_table, printable
from nodeworthy_cli.rules.files import read_rules, read_texts
from nodeworthy_cli.rules.label_explanation import LabelExplanation, RuleExplanation, explain_label
from nodeworthy_cli.rules.subjects import on_option, read_subject

_COLORS = {"given": "green", "not given": "red", "refused": "red", "unknown": "yellow"}
_CODES = {"given": exits.YES, "not given": exits.NO, "refused": exits.NO, "unknown": exits.UNKNOWN}
_WORDS = {Outcome.TRUE: "matches", Outcome.FALSE: "does not match", Outcome.UNKNOWN: "unknown", Outcome.ERROR: "error"}
_MARKS = {Outcome.TRUE: "met", Outcome.FALSE: "NOT MET", Outcome.UNKNOWN: "unknown", Outcome.ERROR: "error"}


@click.command(name="explain")
@click.argument("label")
@on_option
@click.option(
    "--rules",
    "names",
    multiple=True,
    metavar="DIR|FILE",
    help="The rules that are in force, or would be; may be repeated.  [default: none, the labeler's record alone]",
)
@click.option("--no-auto-prefix", is_flag=True, help="As under a labeler that adds no prefix to short names.")
@format_option
@bus_options
@click.pass_context
def command(
    ctx: click.Context,
    *,
    label: str,
    on: str,
    names: tuple[str, ...],
    no_auto_prefix: bool,
    output: str,
    bus: BusOptions,
) -> None:
    """Explain why a node has a label or has it not: which rule gives it or would, what decides, what was found.

    LABEL is a key as it reaches the node, or without its namespace. Of a node of the bus it is also said what the labeler's
    record tells; without --rules that and the node's own facts are all there is. Exit codes: 0 given, 1 not given or
    refused, 2 the rules, the node or the bus cannot be read, 3 not known.
    """
    subject = read_subject(on, bus, "rules explain")
    read = read_rules(read_texts(names))
    for problem in read.problems:
        click.echo(f"left out: {printable(str(problem))}", err=True)
    for text in subject.problems:
        click.echo(f"not read: {printable(text)}", err=True)
    found = explain_label(label, read, subject, auto_prefix=not no_auto_prefix)
    if output == "table":
        _print(found, has_rules=bool(names))
    else:
        print_document(found, output)
    if not names:
        click.echo("note: no rules were given; with --rules it is said which of them decide", err=True)
    ctx.exit(_CODES[found.state])


def _print(found: LabelExplanation, *, has_rules: bool) -> None:
    value = "" if found.value is None else f" = {printable(_shown(found.value))}"
    state = emphasize(found.state, _COLORS[found.state])
    click.echo(f"{printable(found.label)} on {printable(found.node)}: {state}{value}")
    if found.reason:
        click.echo(f"  {printable(found.reason)}")
    if found.record is not None:
        _print_record(found)
    for rule in found.rules:
        _print_rule(found.label, rule)
    if found.others:
        click.echo(f"and {found.others} more rules that would give it")
    if has_rules and not found.rules and found.state == "not given":
        click.echo("  no rule that was given names it")
    if found.suggestions:
        click.echo(f"  did you mean: {printable(', '.join(found.suggestions))}")


def _print_record(found: LabelExplanation) -> None:
    assert found.record is not None
    entry = found.record
    giver = f", by {entry.given[-1].giver}" if entry.given else ""
    reason = f": {entry.reason}" if entry.reason else ""
    told = f"{entry.state.value}, {_shown(entry.value)}{giver}{reason}"
    click.echo(f"  the labeler's record: {printable(told)}")


def _print_rule(label: str, rule: RuleExplanation) -> None:
    click.echo()
    click.echo(f"Rule {printable(rule.object)}/{printable(rule.rule)}: {_WORDS[rule.outcome]}")
    gives = (
        "gives" if rule.outcome is Outcome.TRUE else "would give" if rule.certain else "may give, as it may any label,"
    )
    value = "" if rule.value is None else f"={rule.value}"
    click.echo(f"  {gives} {printable(label + value)}")
    if rule.incident:
        click.echo(f"  written for incident {printable(rule.incident)}")
    if rule.reason:
        click.echo(f"  {printable(rule.reason)}")
    rows = [(_MARKS[one.outcome], _asked(one), one.expected, one.observed or "-") for one in rule.decides]
    if rows:
        print_table(("STATE", "EXPRESSION", "WANTED", "FOUND"), rows, indent="    ")


def _asked(one: ExpressionReport) -> str:
    subject = "any name" if one.matcher == "matchName" else one.name
    alternative = f" (any of: {one.alternative + 1})" if one.alternative is not None else ""
    return f"{one.feature} {subject}".strip() + alternative


def _shown(value: str) -> str:
    return value or '""'
