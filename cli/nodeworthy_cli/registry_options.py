"""The options of every verb that reaches a registry, in the habits of oras."""

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.request import getproxies

import click

from nodeworthy_resolver.oci.access import RegistryAccess, default_configs

_Command = TypeVar("_Command", bound=Callable[..., None])


def _refuse_nan(_context: click.Context, _option: click.Parameter, value: float) -> float:
    # A range lets it pass: no comparison with it is true.
    if math.isnan(value):
        raise click.BadParameter("nan is no number of seconds")
    return value


_HOSTS_FOLDER = f"{__name__}.hosts_folder"


def _keep_hosts_folder(context: click.Context, _option: click.Parameter, value: Path | None) -> None:
    # Kept beside the arguments, since no verb does anything with it but hand it on.
    context.meta[_HOSTS_FOLDER] = value


def registry_options(command: _Command) -> _Command:
    """Add ``--registry-config``, ``--plain-http``, ``--ca-file``, ``--hosts-dir`` and ``--timeout`` to a command."""
    for option in (
        click.option(
            "--timeout",
            type=click.FloatRange(0.1, 3600),
            callback=_refuse_nan,
            default=60.0,
            show_default=True,
            help="Seconds for one image.",
        ),
        click.option(
            "--ca-file", type=click.Path(path_type=Path), help="Certificate authorities to trust, in PEM form."
        ),
        click.option(
            "--hosts-dir",
            type=click.Path(path_type=Path),
            expose_value=False,
            callback=_keep_hosts_folder,
            help="containerd's folder certs.d: mirrors and certificates by host, as /etc/containerd/certs.d.",
        ),
        click.option(
            "--plain-http/--no-plain-http", default=None, help="HTTP without TLS. Default: for the host localhost only."
        ),
        click.option(
            "--registry-config",
            type=click.Path(path_type=Path),
            help="Docker configuration file with credentials. Default: the one that docker login writes.",
        ),
    ):
        command = option(command)
    return command


def make_access(
    registry_config: Path | None, ca_file: Path | None, timeout: float, *, plain_http: bool | None
) -> RegistryAccess:
    """What the options ask for; the environment adds proxies and the place of docker's configuration."""
    return RegistryAccess(
        plain_http=plain_http,
        config=registry_config,
        default_configs=default_configs(os.environ, Path.home()),
        certificates=ca_file,
        hosts_folder=click.get_current_context().meta.get(_HOSTS_FOLDER),
        proxies=getproxies(),
        request_timeout=min(timeout, RegistryAccess.request_timeout),
        operation_timeout=timeout,
    )
