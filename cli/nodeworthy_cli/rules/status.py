"""``nodeworthy rules status``: the rules that label nodes, as the labelers' records tell."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import click
import msgspec

from nodeworthy.labels import Giver, GiverKind, LabelEntry, LabelMemory, LabelState
from nodeworthy.rules import Outcome
from nodeworthy_cli.bus_calls import run_on_bus
from nodeworthy_cli.bus_options import BusOptions, bus_options
from nodeworthy_cli.labels import NodeLabels, read_labels
from nodeworthy_cli.output import format_option, print_document, print_table, printable

_MAX_REASONS = 3
"""How many different reasons are shown of one rule."""


class RuleStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """One rule, over all nodes."""

    object: str
    rule: str
    nodes: int
    """On which it gives something, be it what another rule wins or somebody else holds."""
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


class RulesStatus(msgspec.Struct, frozen=True):
    """All rules that the records name."""

    nodes: int
    """Of which there is a record."""
    rules: tuple[RuleStatus, ...]
    unreadable: tuple[str, ...] = ()
    """Nodes whose record cannot be read."""


@click.command(name="status")
@click.option(
    "--rules", "folder", type=click.Path(path_type=Path), help="List the rules of this folder too that label nothing."
)
@format_option
@bus_options
def command(*, folder: Path | None, output: str, bus: BusOptions) -> None:
    """Show the rules that label nodes: on how many nodes each gives something, is not known or in error, and why.

    The labelers' records tell of what nodes are given: a rule that matches no node, or gives only variables for other rules,
    is not in them; with --rules it is listed all the same.
    """
    nodes = run_on_bus(bus, "rules status", lambda store: read_labels(store, ()))
    status = summarize(nodes, () if folder is None else _read_givers(folder))
    if output == "table":
        _print(status)
    else:
        print_document(status, output)
    if status.unreadable:
        click.echo(f"not read: the records of {printable(', '.join(status.unreadable))}", err=True)
    if not nodes:
        click.echo("no node is labelled yet", err=True)
    elif not status.rules:
        click.echo("no rule gives any node anything; those of a folder are listed with --rules DIR", err=True)


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
        self.nodes: set[str] = set()
        self.keys: set[str] = set()
        self.outcomes: Counter[Outcome] = Counter()
        self.states: Counter[LabelState] = Counter()
        self.reasons: Counter[str] = Counter()


def summarize(nodes: Iterable[NodeLabels], known: Iterable[Giver] = ()) -> RulesStatus:
    """The rules by name, those that are ``known`` also where no record names them."""
    tallies: defaultdict[Giver, _Tally] = defaultdict(_Tally)
    unreadable: list[str] = []
    total = 0
    for giver in known:
        tallies[giver] = _Tally()
    for node in nodes:
        total += 1
        if node.memory is None:
            unreadable.append(node.node)
        else:
            _count(tallies, node.node, node.memory)
    rules = tuple(_status(giver, tally) for giver, tally in sorted(tallies.items()))
    return RulesStatus(total, rules, tuple(unreadable))


def _count(tallies: defaultdict[Giver, _Tally], node: str, memory: LabelMemory) -> None:
    for entries in (memory.labels, *memory.others.values()):
        for key, entry in entries.items():
            for place, given in enumerate(entry.given, 1):
                if given.giver.kind is not GiverKind.DEFAULT:
                    is_winner = place == len(entry.given)
                    _count_given(tallies[given.giver], node, key, entry, is_winner=is_winner)
    for note in memory.unresolved:
        if note.giver.kind is not GiverKind.DEFAULT:
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
    return RuleStatus(
        object=giver.name,
        rule=giver.part,
        nodes=len(tally.nodes),
        keys=tuple(sorted(tally.keys)),
        unknown=tally.outcomes[Outcome.UNKNOWN],
        errors=tally.outcomes[Outcome.ERROR],
        conflicts=tally.states[LabelState.CONFLICT],
        rejected=tally.states[LabelState.REJECTED],
        reasons=tuple(reason for reason, _ in tally.reasons.most_common(_MAX_REASONS)),
    )


def _print(status: RulesStatus) -> None:
    heads = ("RULE", "NODES", "UNKNOWN", "ERROR", "CONFLICT", "REJECTED", "GIVES", "WHY")
    rows = [
        (
            f"{one.object}/{one.rule}",
            *map(str, (one.nodes, one.unknown, one.errors, one.conflicts, one.rejected)),
            ", ".join(one.keys[:_MAX_REASONS]) + (" …" if len(one.keys) > _MAX_REASONS else "") or "-",
            "; ".join(one.reasons) or "-",
        )
        for one in status.rules
    ]
    if rows:
        print_table(heads, rows)
