"""``nodeworthy rules status``: the rules in force and what becomes of them, as the labelers tell on the bus."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import click
import msgspec

from nodeworthy import labels
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.rule_reports import RULES_KEY, ObjectReport, RulesRecord, decode_rules
from nodeworthy.bus.store import Store
from nodeworthy.errors import PayloadError
from nodeworthy.labels import Giver, GiverKind, LabelEntry, LabelMemory, LabelState
from nodeworthy.rules import Outcome
from nodeworthy_cli.bus_calls import run_on_bus
from nodeworthy_cli.bus_options import BusOptions, bus_options
from nodeworthy_cli.labels import NodeLabels, read_labels
from nodeworthy_cli.output import format_option, print_document, print_table, printable

_MAX_REASONS = 3
"""How many different reasons are shown of one rule."""

_RULES = (GiverKind.RULE, GiverKind.UNREAD)


class RuleStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """One rule, over all nodes."""

    object: str
    rule: str
    nodes: int
    """On which it gives something, be it what another rule wins or somebody else holds."""
    matched: int | None = None
    """On which it matches; ``None``: no labeler has said."""
    is_left_out: bool = False
    """It could not be read: it gives nothing, and nothing of it goes."""
    keys: tuple[str, ...] = ()
    """What it gives somewhere, under the keys that reach the node."""
    unknown: int = 0
    """Nodes on which its facts are not known."""
    errors: int = 0
    """Nodes on which it is in error."""
    conflicts: int = 0
    """What it gives that somebody else has set to another value."""
    rejected: int = 0
    """What it gives that no node may have."""
    reasons: tuple[str, ...] = ()
    """Why it is not known, in error, in conflict or rejected; the most frequent ones."""


class RulesStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """All rules that are in force, and those that the records of nodes name."""

    nodes: int
    """Of which there is a record."""
    rules: tuple[RuleStatus, ...]
    objects: tuple[ObjectReport, ...] = ()
    """What the labelers say of each object or file of rules."""
    unlisted: int = 0
    """Objects that are not listed, because there are too many."""
    unreadable: tuple[str, ...] = ()
    """Nodes whose record cannot be read."""


@click.command(name="status")
@click.option(
    "--rules",
    "folder",
    type=click.Path(path_type=Path),
    help="List the rules of this folder too that no labeler has read.",
)
@format_option
@bus_options
def command(*, folder: Path | None, output: str, bus: BusOptions) -> None:
    """Show the rules in force: on how many nodes each matches and gives something, is not known or in error, and why.

    Rules that match no node are shown too, and what of an object or file is left out, with the reason; -o json has what else
    is good to know of each. The labelers say it a few seconds after rules or nodes have changed. --rules adds those of a
    folder that none of them has read.
    """
    nodes, record, problem = run_on_bus(bus, "rules status", _read)
    status = summarize(nodes, () if folder is None else _read_givers(folder), record)
    if output == "table":
        _print(status)
    else:
        print_document(status, output)
    _tell(status, record, problem)


async def _read(store: Store) -> tuple[list[NodeLabels], RulesRecord | None, str]:
    """The records of nodes, that of the rules, and why it cannot be read; raises what :func:`read_labels` raises."""
    nodes = await read_labels(store, ())
    stored = await store.get(Bucket.LABELS, RULES_KEY)
    if stored is None or stored.is_removal:
        return nodes, None, ""
    try:
        return nodes, decode_rules(stored.data), ""
    except PayloadError as error:
        return nodes, None, str(error)


def _tell(status: RulesStatus, record: RulesRecord | None, problem: str) -> None:
    """What people are to know, on standard error."""
    for one in status.objects:
        for text in one.problems:
            click.echo(f"left out of {printable(one.name)}: {printable(text)}", err=True)
    if status.unlisted:
        click.echo(f"not listed, because there are too many: {status.unlisted} objects of rules", err=True)
    if problem:
        click.echo(f"not read: what the labelers say of the rules: {printable(problem)}", err=True)
    elif record is None:
        click.echo("no labeler has said yet which rules are in force", err=True)
    elif not record.objects:
        click.echo("there are no rules in force", err=True)
    if status.unreadable:
        click.echo(f"not read: the records of {printable(', '.join(status.unreadable))}", err=True)
    if not status.nodes:
        click.echo("no node is labelled yet", err=True)


def _read_givers(folder: Path) -> Iterable[Giver]:
    from nodeworthy.labels import compile_chain
    from nodeworthy_labeler.rule_files import load_rules

    loaded = load_rules(folder)
    for problem in loaded.problems:
        click.echo(f"left out: {printable(str(problem))}", err=True)
    # A document that cannot even tell its name stands there as a rule of no object; it was told above.
    return [giver for giver in compile_chain(loaded.objects).givers if giver.name]


class _Tally:
    """What the records say of one rule."""

    def __init__(self) -> None:
        self.report: labels.RuleStatus | None = None
        self.nodes: set[str] = set()
        self.keys: set[str] = set()
        self.outcomes: Counter[Outcome] = Counter()
        self.states: Counter[LabelState] = Counter()
        self.reasons: Counter[str] = Counter()


def summarize(
    nodes: Iterable[NodeLabels], known: Iterable[Giver] = (), record: RulesRecord | None = None
) -> RulesStatus:
    """The rules by name, also where no record of a node names them: those of ``record``, and those that are ``known``."""
    tallies: defaultdict[Giver, _Tally] = defaultdict(_Tally)
    unreadable: list[str] = []
    total = 0
    for giver in known:
        tallies[giver] = _Tally()
    reports = record.objects if record is not None else ()
    for report in reports:
        for rule in report.rules:
            tallies[Giver(GiverKind.RULE, report.name, rule.name)].report = rule
    for node in nodes:
        total += 1
        if node.memory is None:
            unreadable.append(node.node)
        else:
            _count(tallies, node.node, node.memory)
    rules = tuple(_status(giver, tally) for giver, tally in sorted(tallies.items()))
    return RulesStatus(
        total, rules, reports, record.left_out if record is not None else 0, unreadable=tuple(unreadable)
    )


def _count(tallies: defaultdict[Giver, _Tally], node: str, memory: LabelMemory) -> None:
    for entries in (memory.labels, *memory.others.values()):
        for key, entry in entries.items():
            for place, given in enumerate(entry.given, 1):
                if given.giver.kind in _RULES:
                    is_winner = place == len(entry.given)
                    _count_given(tallies[given.giver], node, key, entry, is_winner=is_winner)
    for note in memory.unresolved:
        if note.giver.kind in _RULES:
            tallies[note.giver].outcomes[note.outcome] += 1
            tallies[note.giver].reasons[note.reason] += 1


def _count_given(tally: _Tally, node: str, key: str, entry: LabelEntry, *, is_winner: bool) -> None:
    tally.keys.add(key)
    if entry.state is not LabelState.KEPT:
        tally.nodes.add(node)
    if is_winner and entry.state in (LabelState.CONFLICT, LabelState.REJECTED):
        tally.states[entry.state] += 1
        tally.reasons[f"{key}: {entry.reason or f'somebody else set it to {entry.live}'}"] += 1


def _status(giver: Giver, tally: _Tally) -> RuleStatus:
    report = tally.report or labels.RuleStatus(giver.part)
    reasons = [reason for reason, _ in tally.reasons.most_common(_MAX_REASONS)]
    return RuleStatus(
        object=giver.name,
        rule=giver.part,
        nodes=len(tally.nodes),
        matched=report.matched if tally.report is not None else None,
        is_left_out=report.is_left_out,
        keys=tuple(sorted(tally.keys)),
        # The records of nodes list no more rules than fit.
        unknown=max(tally.outcomes[Outcome.UNKNOWN], report.unknown),
        errors=max(tally.outcomes[Outcome.ERROR], report.errors),
        conflicts=tally.states[LabelState.CONFLICT],
        rejected=tally.states[LabelState.REJECTED],
        reasons=tuple(reasons or ([report.reason] if report.reason else [])),
    )


def _why(one: RuleStatus) -> str:
    if one.is_left_out:
        return f"left out: {'; '.join(one.reasons)}"
    if one.matched == 0 and not one.unknown and not one.errors:
        return "no node matches it"
    return "; ".join(one.reasons) or "-"


def _print(status: RulesStatus) -> None:
    heads = ("RULE", "MATCHES", "NODES", "UNKNOWN", "ERROR", "CONFLICT", "REJECTED", "GIVES", "WHY")
    rows = [
        (
            f"{one.object}/{one.rule}",
            "-" if one.matched is None else str(one.matched),
            *map(str, (one.nodes, one.unknown, one.errors, one.conflicts, one.rejected)),
            ", ".join(one.keys[:_MAX_REASONS]) + (" …" if len(one.keys) > _MAX_REASONS else "") or "-",
            _why(one),
        )
        for one in status.rules
    ]
    if rows:
        print_table(heads, rows)
