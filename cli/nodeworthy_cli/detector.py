"""``nodeworthy detector``: publish what this machine offers, until it is told to stop."""

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from nodeworthy import processes
from nodeworthy_cli.bus_options import BusOptions, bus_options, connection_settings
from nodeworthy_cli.embedded.contexts import Context
from nodeworthy_cli.service_options import http_options, log_option
from nodeworthy_detector.settings import (
    CONFIGURATION,
    MAX_SCAN_SECONDS,
    MIN_SCAN_SECONDS,
    Settings,
    read_settings,
)


@click.command(name="detector")
@bus_options
@click.option("--node-name", help="The node's name.  [default: $NODE_NAME, else the host's name]")
@click.option("--node-uid", help="The Node object's uid.  [default: $NODE_UID]")
@click.option(
    "--host-root",
    type=click.Path(path_type=Path),
    help="The folder that holds the machine's proc, sys, etc and usr.  [default: /]",
)
@click.option(
    "--features-d", help="The folder of files that administrators write, as the host sees it.  [default: NFD's]"
)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help=f"The configuration file, which is followed while it changes.  [default: {CONFIGURATION}, if it is there]",
)
@click.option(
    "--scan-seconds",
    type=click.FloatRange(MIN_SCAN_SECONDS, MAX_SCAN_SECONDS),
    help="Between two looks at what has no interval of its own.  [default: 600]",
)
@click.option(
    "--kernel-log",
    type=click.Choice(["true", "false"]),
    help="Whether known lines of the kernel log are published too, for diagnose.  [default: false]",
)
@http_options("/healthz, /readyz and /metrics")
@log_option
def command(bus: BusOptions, log_format: str, **given: str | float | Path | None) -> None:
    """Publish what this machine offers, until Ctrl-C.

    It looks at once when the kernel tells of a device, a file of its folders changes, or somebody on the bus asks, and every
    ten minutes at everything. While the bus is away it goes on and publishes what it found last when the bus is back. Each
    option but --log-format has a variable NODEWORTHY_*, for example NODEWORTHY_CONFIG.
    """
    processes.configure_logs(form=processes.LogFormat(log_format))
    settings = make_settings(bus, given)
    from nodeworthy_detector.app import run

    processes.run_process([processes.Service("detector", partial(run, settings))])


def make_service(context: Context, cluster: str) -> processes.Service:
    """The detector of this machine on the embedded bus, with the settings of the environment."""
    from nodeworthy_detector.app import run

    settings = replace(read_settings(os.environ), cluster=cluster, bus=context.settings("nodeworthy detector"))
    return processes.Service("detector", partial(run, settings))


def make_settings(bus: BusOptions, given: Mapping[str, str | float | Path | None]) -> Settings:
    """The settings of the environment, with what the command line gives in their place."""
    said = {_VARIABLES[name]: str(value) for name, value in given.items() if value is not None}
    settings = read_settings({**os.environ, **said})
    return replace(settings, cluster=bus.cluster, bus=connection_settings(bus, "nodeworthy detector"))


_VARIABLES = {
    "node_name": "NODE_NAME",
    "node_uid": "NODE_UID",
    "host_root": "NODEWORTHY_HOST_ROOT",
    "features_d": "NODEWORTHY_FEATURES_D",
    "config": "NODEWORTHY_CONFIG",
    "kernel_log": "NODEWORTHY_KERNEL_LOG",
    "scan_seconds": "NODEWORTHY_SCAN_SECONDS",
    "http_port": "NODEWORTHY_HTTP_PORT",
    "http_host": "NODEWORTHY_HTTP_HOST",
}
"""Option to the variable that it stands for."""
