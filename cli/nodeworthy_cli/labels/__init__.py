"""``nodeworthy labels``: what nodes are labelled, by which rule, why not, and what is done about it.

A verb each in a module of its own; what several need is in ``records`` (what the labelers remember), ``inputs`` (everything
that a labeler goes by, read once), ``comparing`` (what a labeler would do), ``selecting`` (the Nodes that are meant) and
``nfd_tracking`` with ``adoption`` (what another installation has left on a Node, and how it changes hands).
"""

import click

from nodeworthy_cli.labels.records import NodeLabels, read_labels
from nodeworthy_cli.lazy_verbs import LazyVerbs

__all__ = ["NodeLabels", "command", "read_labels"]

VERBS = {
    "list": "The labels of nodes, with who gives each; the verb where none is named.",
    "diff": "What a labeler would change, before anything is written.",
    "adopt": "Take over what NFD has put on Nodes, without a label changing.",
    "verify": "Have nodes look afresh, and compare with what they are labelled.",
    "prune": "Remove everything of ours from the Nodes of a cluster.",
}
"""Verb to its line in the help."""


class _Labels(LazyVerbs):
    """A verb that lists labels unless its first argument is one of its other verbs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in {*VERBS, *ctx.help_option_names}:
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(
    name="labels", cls=_Labels, verbs=VERBS, package=__name__, subcommand_metavar="[list] [NODE]... | VERB [ARGS]..."
)
def command() -> None:
    """List the labels of nodes, compare, take over, verify and remove them."""
