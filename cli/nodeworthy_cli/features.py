"""``nodeworthy features``: what this machine, or one below a host root, offers."""

import platform
from pathlib import Path
from typing import Any

import click

from nodeworthy import features
from nodeworthy.errors import UsageError
from nodeworthy_cli.facts import read_machine
from nodeworthy_cli.output import FORMATS, print_document, print_table

NODE_FEATURE = "nodefeature"
"""The format that is a NodeFeature object in YAML, for: kubectl apply -f -."""


@click.command(name="features")
@click.option(
    "-o",
    "--output",
    "output",
    type=click.Choice((*FORMATS, NODE_FEATURE)),
    default="table",
    show_default=True,
    help="How to print it.",
)
@click.option(
    "--namespace",
    default="node-feature-discovery",
    show_default=True,
    help="The namespace in the object of -o nodefeature.",
)
@click.option(
    "--host-root",
    default="/",
    show_default=True,
    help="The folder that holds the machine's proc, sys, etc, usr, lib and boot.",
)
@click.option("--source", "sources", multiple=True, help="Only these sources; may be repeated or hold commas.")
def command(output: str, namespace: str, host_root: str, sources: tuple[str, ...]) -> None:
    """Print what this machine offers, set by set.

    A set is present, absent (looked for and not there) or unknown (could not be found out); json and yaml have NFD's three
    maps, the state of each set and the catalogue of sets, and can be given to: check --on FILE. nodefeature is the object
    that NFD's worker would write, with the labels that the machine gets by its own facts and rules.
    """
    if not host_root:
        raise UsageError("--host-root names no folder", todo="write . for the current one")
    only = frozenset(name.strip() for part in sources for name in part.split(",")) if sources else None
    snapshot = read_machine(Path(host_root), only)
    if all(snapshot.lookup(name).state is features.SetState.UNKNOWN for name in snapshot.names()):
        click.echo(f"note: nothing was found below {host_root}; is that the root of a machine?", err=True)
    if output == "table":
        _print_table(snapshot, only, Path(host_root))
    elif output == NODE_FEATURE:
        print_document(_node_feature(snapshot, namespace), "yaml")
    else:
        print_document(features.write_document(snapshot), output)


def _node_feature(snapshot: features.Snapshot, namespace: str) -> dict[str, Any]:
    from nodeworthy import labels

    found = snapshot.lookup("system.name").content
    node = ((found and found.attributes) or {}).get("nodename") or platform.node().lower()
    made = labels.make_own_labels(snapshot, labels.compile_policy())
    # Of two labels under one key the one with the higher position is the node's.
    own = {label.key: label.value for label in sorted(made.labels, key=lambda label: label.position)}
    return features.write_node_feature(snapshot, node=node, namespace=namespace, labels=own)


def _print_table(snapshot: features.Snapshot, only: frozenset[str] | None, root: Path) -> None:
    from nodeworthy_cli.device_names import describe_devices
    from nodeworthy_detector.hostfs import Host

    host = Host(root)
    rows = []
    for name in snapshot.names():
        if only is not None and name.partition(".")[0] not in only:
            continue
        found = snapshot.lookup(name)
        words = describe_devices(host, name, found.content) if found.content else None
        rows.append((name, found.state.value, _summary(found.content, words) if found.content else found.reason or "-"))
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


def _summary(content: features.FeatureSet, words: str | None) -> str:
    parts = []
    if content.flags is not None:
        parts.append(f"{len(content.flags)} flags: " + " ".join(sorted(content.flags)))
    if content.attributes is not None:
        values = " ".join(f"{name}={value}" for name, value in sorted(content.attributes.items()))
        parts.append(values if len(content.attributes) < 6 else f"{len(content.attributes)} attributes: {values}")  # noqa: PLR2004 # a line holds about five
    if content.instances is not None:
        first = " ".join(f"{k}={v}" for k, v in sorted(content.instances[0].items())) if content.instances else ""
        told = f": {words}" if words else f", the first: {first}" if first else ""
        parts.append(f"{len(content.instances)} instances{told}")
    text = "; ".join(part for part in parts if part) or "empty"
    more = f"; {len(content.unobserved)} not observed" if content.unobserved else ""
    room = _SHOWN - len(more)
    return (text if len(text) <= room else text[: room - 1] + "…") + more
