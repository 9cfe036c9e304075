"""``nodeworthy labeler``: keep the labels of nodes true, until it is told to stop."""

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from nodeworthy import processes
from nodeworthy_cli.bus_options import BusOptions, bus_options, connection_settings
from nodeworthy_cli.service_options import http_options, labels_config_option, log_option
from nodeworthy_labeler.settings import MAX_REPLICAS, Settings, TargetKind, read_settings


@click.command(name="labeler")
@bus_options
@click.option(
    "--rules",
    type=click.Path(path_type=Path),
    help="A folder of rule files (*.yaml, *.yml, *.json); read anew whenever it changes.  [default: no rules]",
)
@labels_config_option
@click.option(
    "--target",
    type=click.Choice([kind.value for kind in TargetKind]),
    help="Where labels end up; auto: the cluster of --kubeconfig, --context or this pod, else the bus.  [default: auto]",
)
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path), help="The kubeconfig of the cluster whose Nodes are labelled."
)
@click.option("--context", help="The context of the kubeconfig.  [default: the current one]")
@click.option(
    "--node-feature-namespaces",
    metavar="NAME[,NAME]",
    help="Whose NodeFeature objects are taken.  [default: those of all namespaces]",
)
@click.option(
    "--startup-taint",
    metavar="KEY[:EFFECT]",
    help="A taint that new Nodes come with, removed once they are labelled.  [default: none]",
)
@click.option(
    "--health-condition",
    is_flag=True,
    default=None,
    help="Keep the condition HardwareFactsHealthy of each Node.",
)
@click.option(
    "--replicas",
    type=click.IntRange(1, MAX_REPLICAS),
    help="How many servers of the bus hold each stream.  [default: one, or what is there]",
)
@http_options("/healthz, /readyz and /metrics")
@log_option
def command(bus: BusOptions, log_format: str, **given: str | float | Path | None) -> None:
    """Keep the labels of all nodes true, until Ctrl-C.

    Labels come from what nodes offer, by default and by rules: those of --rules, and the NodeFeatureRule objects of a
    cluster. They are written to the cluster's Nodes, where there is one, and to the bus (see: nodeworthy labels). Any number
    of labelers may run: they share the nodes, and when one ends the others serve its nodes within 15 seconds. Each option
    but --log-format has a variable NODEWORTHY_*, for example NODEWORTHY_RULES.
    """
    processes.configure_logs(form=processes.LogFormat(log_format))
    settings = make_settings(bus, given)
    from nodeworthy_labeler.app import run

    processes.run_process([processes.Service("labeler", partial(run, settings))])


def make_settings(bus: BusOptions, given: Mapping[str, str | float | Path | None]) -> Settings:
    """The settings of the environment, with what the command line gives in their place."""
    said = {f"NODEWORTHY_{name.upper()}": str(value) for name, value in given.items() if value is not None}
    settings = read_settings({**os.environ, **said})
    return replace(settings, cluster=bus.names.cluster, bus=connection_settings(bus, "nodeworthy labeler"))
