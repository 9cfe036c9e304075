"""A checkup as a person reads it on a terminal, and as rows for a spreadsheet."""

from collections.abc import Sequence

import click

from nodeworthy.verdicts import Answer
from nodeworthy_cli.checkup.records import Checkup, ImageReport, Risk, Standing, WorkloadUse
from nodeworthy_cli.output import emphasize, print_csv, print_table, printable
from nodeworthy_cli.verdict_text import COLORS

SHOWN = 20
"""Images of a short table."""
_WORKLOADS = 2
"""That a row of it names."""
MANY_WORKLOADS = 50
"""That a row of a file names; spreadsheets take some 30,000 letters in a cell, and -o json has all."""

_COLUMNS = (
    "rank",
    "risk",
    "image",
    "reason",
    "platforms",
    "missing",
    "levels",
    "declared",
    "inspected",
    "compatible",
    "incompatible",
    "unknown",
    "image_defect",
    "cannot_run_on",
    "defects",
    "workloads",
    "rollbacks",
    "digest",
    "notices",
)


def print_checkup(checkup: Checkup, *, is_full: bool) -> None:
    """Print the most risky images, or all, and the totals."""
    shown = checkup.images if is_full else checkup.images[:SHOWN]
    click.echo(summarize(checkup))
    if shown:
        click.echo()
        heads = ("RANK", "RISK", "IMAGE", "MISSING", "LEVEL", "DECLARED", "RUNS ON", "USED BY")
        print_table(heads, [_row(one, checkup.nodes) for one in shown])
    risky = [one for one in shown if one.risk is not Risk.NONE]
    if risky:
        click.echo()
    for one in risky:
        color = COLORS[Answer.UNKNOWN if one.risk.rank >= Risk.UNKNOWN.rank else Answer.INCOMPATIBLE]
        click.echo(f"{one.rank} {emphasize(printable(one.image), color)}: {printable(one.reason)}")
        for notice in one.notices:
            click.echo(f"  note: {printable(notice)}")
    if len(shown) < len(checkup.images):
        click.echo(f"and {len(checkup.images) - len(shown):,} more images of less risk: --all shows them")
    for notice in checkup.notices:
        click.echo(f"note: {printable(notice)}")


def summarize(checkup: Checkup) -> str:
    """The totals in one line."""
    images, nodes = len(checkup.images), checkup.nodes
    told = ", ".join(f"{count:,} {risk.value}" for risk, count in checkup.counts().items())
    return f"{images:,} image{_s(images)} on {nodes:,} node{_s(nodes)}" + (f": {told}" if told else "")


def tell_uses(uses: Sequence[WorkloadUse], most: int) -> str:
    """The first workloads, with how they use the image."""
    more = len(uses) - most
    return ", ".join(map(_use, uses[:most])) + (f" and {more:,} more" if more > 0 else "")


def print_ledger(checkup: Checkup) -> None:
    """Print all images as RFC 4180; of each the first workloads."""
    print_csv(_COLUMNS, map(_ledger_row, checkup.images))


def _use(one: WorkloadUse) -> str:
    if one.standing is Standing.RUNNING:
        return str(one)
    revisions = f" to {', '.join(one.revisions)}" if one.revisions else ""
    return f"{one} ({one.standing.value}{revisions})"


def _row(one: ImageReport, nodes: int) -> tuple[str, ...]:
    return (
        str(one.rank),
        one.risk.value,
        one.image,
        ",".join(one.missing) or "-",
        "; ".join(one.levels) or "-",
        one.declared,
        f"{one.counts.get(Answer.COMPATIBLE, 0):,}/{nodes:,}",
        tell_uses(one.workloads, _WORKLOADS) or "-",
    )


def _ledger_row(one: ImageReport) -> tuple[str, ...]:
    failing = [f"{', '.join(group.nodes)} ({group.count}): {group.reason}" for group in one.failing]
    rollbacks = [use for use in one.workloads if use.standing is Standing.ROLLBACK]
    return (
        str(one.rank),
        one.risk.value,
        one.image,
        one.reason,
        "; ".join(one.platforms),
        "; ".join(one.missing),
        "; ".join(one.levels),
        one.declared,
        "yes" if one.inspected else "no",
        *(
            str(one.counts.get(answer, 0))
            for answer in (Answer.COMPATIBLE, Answer.INCOMPATIBLE, Answer.UNKNOWN, Answer.IMAGE_DEFECT)
        ),
        "; ".join(failing),
        "; ".join(one.defects),
        tell_uses([use for use in one.workloads if use not in rollbacks], MANY_WORKLOADS),
        tell_uses(rollbacks, MANY_WORKLOADS),
        one.digest,
        "; ".join(one.notices),
    )


def _s(count: int) -> str:
    return "" if count == 1 else "s"
