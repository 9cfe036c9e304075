"""``nodeworthy features``: what this machine, or one below a host root, offers."""

from pathlib import Path

import click

from nodeworthy import features
from nodeworthy.errors import UsageError
from nodeworthy_cli.facts import read_machine
from nodeworthy_cli.output import format_option, print_document, print_table


@click.command(name="features")
@format_option
@click.option(
    "--host-root",
    default="/",
    show_default=True,
    help="The folder that holds the machine's proc, sys, etc, usr, lib and boot.",
)
@click.option("--source", "sources", multiple=True, help="Only these sources; may be repeated or hold commas.")
def command(output: str, host_root: str, sources: tuple[str, ...]) -> None:
    """Print what this machine offers, set by set.

    A set is present, absent (looked for and not there) or unknown (could not be found out); json and yaml have NFD's three
    maps, the state of each set and the catalogue of sets, and can be given to: check --on FILE.
    """
    if not host_root:
        raise UsageError("--host-root names no folder", todo="write . for the current one")
    only = frozenset(name.strip() for part in sources for name in part.split(",")) if sources else None
    snapshot = read_machine(Path(host_root), only)
    if not snapshot.contents:
        click.echo(f"note: nothing was found below {host_root}; is that the root of a machine?", err=True)
    if output == "table":
        _print_table(snapshot, only)
    else:
        print_document(features.write_document(snapshot), output)


def _print_table(snapshot: features.Snapshot, only: frozenset[str] | None) -> None:
    rows = []
    for name in snapshot.names():
        if only is not None and name.partition(".")[0] not in only:
            continue
        found = snapshot.lookup(name)
        rows.append((name, found.state.value, _summary(found.content) if found.content else found.reason or "-"))
    print_table(("SET", "STATE", "CONTENT"), rows)
    troubles = [
        (source, trouble)
        for source, health in sorted(snapshot.sources.items())
        for trouble in ((health.error,) if health.error else ()) + health.faults
    ]
    if troubles:
        click.echo()
        print_table(("SOURCE", "LEFT OUT"), troubles)


_SHOWN = 90
"""Letters of a set's content in the table; the whole is what json and yaml are for."""


def _summary(content: features.FeatureSet) -> str:
    parts = []
    if content.flags is not None:
        parts.append(f"{len(content.flags)} flags: " + " ".join(sorted(content.flags)))
    if content.attributes is not None:
        values = " ".join(f"{name}={value}" for name, value in sorted(content.attributes.items()))
        parts.append(values if len(content.attributes) < 6 else f"{len(content.attributes)} attributes: {values}")  # noqa: PLR2004 # a line holds about five
    if content.instances is not None:
        first = " ".join(f"{k}={v}" for k, v in sorted(content.instances[0].items())) if content.instances else ""
        parts.append(f"{len(content.instances)} instances" + (f", the first: {first}" if first else ""))
    text = "; ".join(part for part in parts if part) or "empty"
    more = f"; {len(content.unobserved)} not observed" if content.unobserved else ""
    room = _SHOWN - len(more)
    return (text if len(text) <= room else text[: room - 1] + "…") + more
