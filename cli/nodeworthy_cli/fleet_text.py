"""Answers about many nodes as a person reads them: for each image the counts, then the nodes that fare alike, and why."""

from collections.abc import Mapping

import click

from nodeworthy.bus.requests import ImageTotals, NodeGroup, ValidateReply
from nodeworthy.verdicts import Answer
from nodeworthy_cli.output import emphasize, print_table, printable
from nodeworthy_cli.verdict_text import COLORS


def print_reply(reply: ValidateReply) -> None:
    """Print a reply about several nodes; images with a problem are left to whoever prints errors."""
    for number, total in enumerate(total for total in reply.totals if total.problem is None):
        if number:
            click.echo()
        _print_total(total)
    for notice in reply.notices:
        click.echo(f"note: {printable(notice)}")


def _print_total(total: ImageTotals) -> None:
    answer = emphasize(total.answer.value, COLORS[total.answer])
    click.echo(f"{printable(total.image)}: {answer}")
    click.echo(f"  {_counts(total.counts)}")
    if total.digest:
        click.echo(f"  digest: {printable(total.digest)}")
    if total.groups:
        print_table(("NODES", "VERDICT", "WHERE", "REASON"), [_row(group) for group in total.groups], indent="    ")
    if total.more_groups:
        click.echo(f"    and {total.more_groups} more kinds of nodes; -o json lists more, --on NODE tells all of one")


def _counts(counts: Mapping[Answer, int]) -> str:
    if not counts:
        return "no node has published facts yet, or none may be meant"
    told = ", ".join(f"{counts[answer]:,} {answer.value}" for answer in Answer if answer in counts)
    total = sum(counts.values())
    return f"of {total:,} {'node' if total == 1 else 'nodes'}: {told}"


def _row(group: NodeGroup) -> tuple[str, ...]:
    score = f" ({group.score})" if group.score is not None else ""
    more = f" and {group.count - len(group.nodes):,} more" if group.count > len(group.nodes) else ""
    return f"{group.count:,}", group.answer.value + score, ", ".join(group.nodes) + more, group.reason
