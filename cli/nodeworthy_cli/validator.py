"""``nodeworthy validator``: answer on the bus whether images run on nodes, until it is told to stop."""

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import click

from nodeworthy import processes
from nodeworthy_cli.bus_options import BusOptions, bus_options, connection_settings
from nodeworthy_cli.service_options import http_options, log_option
from nodeworthy_validator.settings import Settings, read_settings


@click.command(name="validator")
@bus_options
@http_options("/v1/validate, /v1/nodes, /openapi.json, /healthz, /readyz and /metrics")
@log_option
def command(bus: BusOptions, log_format: str, **given: str | int | None) -> None:
    """Answer on the bus, and by HTTP, whether images run on nodes, until Ctrl-C.

    Any number of them may run: requests are shared. Each option but --log-format has a variable NODEWORTHY_*, for example
    NODEWORTHY_HTTP_PORT.
    """
    processes.configure_logs(form=processes.LogFormat(log_format))
    settings = make_settings(bus, given)
    from nodeworthy_validator.app import run

    processes.run_process([processes.Service("validator", partial(run, settings))])


def make_settings(bus: BusOptions, given: Mapping[str, str | int | None]) -> Settings:
    """The settings of the environment, with what the command line gives in their place."""
    said = {f"NODEWORTHY_{name.upper()}": str(value) for name, value in given.items() if value is not None}
    settings = read_settings({**os.environ, **said})
    return replace(settings, cluster=bus.cluster, bus=connection_settings(bus, "nodeworthy validator"))
