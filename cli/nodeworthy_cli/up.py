"""``nodeworthy up``: the bus and the four services on this machine, in one process."""

import asyncio
import importlib.metadata
import os
import platform
import shlex
import shutil
import sys
from pathlib import Path

import click

from nodeworthy import processes
from nodeworthy.bus.names import Names
from nodeworthy_cli.embedded.running import bus_users, end_seconds, run_embedded
from nodeworthy_cli.embedded.server import Server
from nodeworthy_cli.embedded.services import Wishes, embedded_services
from nodeworthy_cli.embedded.settings import DEFAULT_PORT, ServerSettings, data_folder
from nodeworthy_cli.service_options import log_option


@click.command(name="up")
@click.option("--cluster", default="local", show_default=True, help="The cluster's name on the bus.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Where the bus listens on 127.0.0.1; 0 takes a free port.",
)
@click.option(
    "--data",
    "folder",
    type=click.Path(path_type=Path),
    help="The data folder.  [default: $XDG_DATA_HOME/nodeworthy/CLUSTER]",
)
@click.option(
    "--rules",
    type=click.Path(path_type=Path),
    help="A folder of rule files (*.yaml, *.yml, *.json); read anew whenever it changes.",
)
@click.option("--features-d", default="", help="The folder of files that administrators write.  [default: NFD's]")
@click.option(
    "--http-port",
    type=click.IntRange(0, 65535),
    help="Serve the validator's HTTP there, on 127.0.0.1; 0: a free port.  [default: no HTTP]",
)
@log_option
def command(
    *,
    cluster: str,
    port: int,
    folder: Path | None,
    rules: Path | None,
    features_d: str,
    http_port: int | None,
    log_format: str,
) -> None:
    """Run the bus and the four services on this machine, until Ctrl-C.

    State is kept in the data folder; a second start finds it again. Ctrl-C stops cleanly, a second Ctrl-C kills. The
    services read further settings from the variables that their own verbs name, for example NODEWORTHY_TAG_SECONDS.
    """
    names = Names(cluster)
    processes.configure_logs(form=processes.LogFormat(log_format))
    settings = ServerSettings(folder=folder or data_folder(cluster, os.environ), cluster=cluster, port=port)

    services = embedded_services(
        Wishes(cluster, os.environ, Path.home(), rules=rules, features_d=features_d, http_port=http_port)
    )

    async def main(stop: asyncio.Event) -> None:
        users = bus_users(names, os.environ.get("NODE_NAME") or platform.node())
        await run_embedded(settings, users, services, stop, announce=_print_announcement)

    processes.run_main(main, seconds=end_seconds(settings, processes.DEFAULT_LIMITS))


def _print_announcement(server: Server) -> None:
    click.echo(announcement(server))


def announcement(server: Server) -> str:
    """What a person reads when everything runs: address, versions, where the data is, and what to try."""
    assert server.address is not None
    cluster, folder = server.settings.cluster, server.folder.path.absolute()
    # The stock client finds the default port by itself, and may ask without a password.
    server_option = "" if server.settings.port == DEFAULT_PORT else f"-s {server.address.url} "
    version = importlib.metadata.version("nodeworthy")
    on_cluster = "" if cluster == "local" else f" --cluster {cluster}"
    program = command_of(sys.argv[0], shutil.which("nodeworthy"))
    request = f'nats {server_option}req nodeworthy.{cluster}.validate \'{{"image": "docker.io/library/debian:12"}}\''
    return f"""\
nodeworthy {version} is up: {server.address.url}, cluster {cluster}, nats-server {server.address.version}
data: {folder}

In another terminal:
  {program} nodes{on_cluster}
  {program} check docker.io/library/debian:12 --on all{on_cluster}
  {request}

Ctrl-C stops it."""


def command_of(started: str, found: str | None) -> str:
    """What to type in another terminal for this program: its name, or where it is if PATH leads nowhere or elsewhere.

    Args:
        started: what this process was started as.
        found: the program that PATH finds.
    """
    path = Path(started).absolute()
    if path.name != "nodeworthy":
        return "nodeworthy"
    return "nodeworthy" if found is not None and Path(found).absolute() == path else shlex.quote(str(path))
