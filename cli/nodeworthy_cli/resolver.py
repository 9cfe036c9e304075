"""``nodeworthy resolver``: answer on the bus what images are made of and declare, until it is told to stop."""

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from nodeworthy import processes
from nodeworthy_cli.bus_options import BusOptions, bus_options, connection_settings
from nodeworthy_cli.service_options import http_options, log_option
from nodeworthy_resolver.settings import MAX_SEARCH_SECONDS, MAX_TAG_SECONDS, InspectWhen, Settings, read_settings

Given = str | float | bool | Path | tuple[str, ...] | None
"""What the command line gives for one option; ``None``, or no host at all: nothing."""


@click.command(name="resolver")
@bus_options
@click.option(
    "--registry-config",
    type=click.Path(path_type=Path),
    help="Docker configuration file with credentials.  [default: the one that docker login writes]",
)
@click.option(
    "--plain-http/--no-plain-http",
    default=None,
    help="HTTP without TLS for every registry.  [default: for the host localhost only]",
)
@click.option(
    "--plain-http-host", "plain_http_hosts", multiple=True, metavar="HOST[:PORT]", help="HTTP without TLS for this one."
)
@click.option(
    "--ca-file", type=click.Path(path_type=Path), help="Certificate authorities to trust as registries, in PEM form."
)
@click.option(
    "--hosts-dir",
    type=click.Path(path_type=Path),
    help="containerd's folder certs.d: mirrors and certificates by host.",
)
@click.option(
    "--allow-private/--no-allow-private",
    default=None,
    help="Ask registries with private or loopback addresses.  [default: only where the bus is on loopback]",
)
@click.option(
    "--private-host", "private_hosts", multiple=True, metavar="HOST[:PORT]", help="This one may have a private address."
)
@click.option(
    "--allow-host",
    "allowed_hosts",
    multiple=True,
    metavar="HOST[:PORT]",
    help="Ask only hosts that are named so: registries, their token servers and storage.  [default: any]",
)
@click.option(
    "--pull-secrets",
    "pull_secret_namespaces",
    multiple=True,
    metavar="NAMESPACE",
    help="Use the image pull secrets of this namespace, for whoever asks.  [default: none]",
)
@click.option(
    "--tag-seconds",
    type=click.FloatRange(0, MAX_TAG_SECONDS),
    help="How long what a tag points at is believed.  [default: 60]",
)
@click.option(
    "--search-seconds",
    type=click.FloatRange(0, MAX_SEARCH_SECONDS),
    help="How long an attached artifact is believed to be the newest.  [default: 3600]",
)
@click.option(
    "--inspect",
    type=click.Choice([one.value for one in InspectWhen]),
    help="When the files of images are looked at.  [default: on-request]",
)
@click.option(
    "--inspect-folder",
    type=click.Path(path_type=Path),
    help="Where files are kept for the time of an inspection.  [default: where temporary files lie]",
)
@click.option(
    "--allow-attach/--no-allow-attach",
    default=None,
    help="Let whoever may ask attach specifications with the resolver's credentials.  [default: no]",
)
@http_options("/healthz, /readyz and /metrics")
@log_option
def command(bus: BusOptions, log_format: str, **given: Given) -> None:
    """Answer on the bus what images are made of and what they declare, until Ctrl-C.

    Answers of registries are kept on the bus, for all resolvers of the cluster. Any number of them may run: requests are
    shared. Link-local addresses and metadata services are never asked. Each option but --log-format has a variable
    NODEWORTHY_*, for example NODEWORTHY_TAG_SECONDS.
    """
    processes.configure_logs(form=processes.LogFormat(log_format))
    settings = make_settings(bus, given)
    from nodeworthy_resolver.app import run

    processes.run_process([processes.Service("resolver", partial(run, settings))])


def make_settings(bus: BusOptions, given: Mapping[str, Given]) -> Settings:
    """The settings of the environment, with what the command line gives in their place."""
    said = {f"NODEWORTHY_{name.upper()}": _text(value) for name, value in given.items() if value not in (None, ())}
    settings = read_settings({**os.environ, **said}, Path.home())
    return replace(settings, cluster=bus.names.cluster, bus=connection_settings(bus, "nodeworthy resolver"))


def _text(value: Given) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
