"""``--username`` and ``--password-stdin``: a name and password for one registry, given as oras takes them."""

import dataclasses
import sys
from collections.abc import Callable, Iterable
from typing import TypeVar

import click

from nodeworthy.errors import UsageError
from nodeworthy_resolver.oci.access import Login, RegistryAccess
from nodeworthy_resolver.oci.reference import AnyReference, Reference

_Command = TypeVar("_Command", bound=Callable[..., None])

OPTIONS = ("username", "password_stdin")
"""The names of the parameters."""

_MAX_PASSWORD_BYTES = 64 * 1024
"""Tokens that stand for passwords have a few kilobytes."""

_USERNAME, _FROM_STDIN = (f"{__name__}.{name}" for name in OPTIONS)


def _keep(name: str) -> Callable[[click.Context, click.Parameter, object], None]:
    def keep(context: click.Context, _option: click.Parameter, value: object) -> None:
        # Kept beside the arguments, since no verb does anything with it but hand it on.
        context.meta[name] = value

    return keep


def login_options(command: _Command) -> _Command:
    """Add ``--username`` and ``--password-stdin`` to a command; :func:`with_login` uses them."""
    for option in (
        click.option(
            "--password-stdin",
            is_flag=True,
            expose_value=False,
            callback=_keep(_FROM_STDIN),
            help="Read the password, or a token in its place, for the registry from standard input.",
        ),
        click.option(
            "--username",
            expose_value=False,
            callback=_keep(_USERNAME),
            help="Log in to the registry under this name. Default: the credentials of docker login.",
        ),
    ):
        command = option(command)
    return command


def with_login(
    access: RegistryAccess, references: Iterable[AnyReference], *, files: Iterable[str | None] = ()
) -> RegistryAccess:
    """The access with the name and password of the current command line, if they were given; for one registry alone.

    Args:
        access: what the other options ask for.
        references: the images of the call; the password is for their registry, and shown to no other.
        files: the call's other arguments that may be ``-``, standard input.

    Raises:
        UsageError: only one of the two options, no or several registries, or no password on standard input.
    """
    meta = click.get_current_context().meta
    username, from_stdin = meta.get(_USERNAME), meta.get(_FROM_STDIN)
    if not username and not from_stdin:
        return access
    if not (username and from_stdin):
        raise UsageError(
            "--username and --password-stdin go together",
            why="a password on the command line would be seen by every user of the machine",
            todo="cat FILE | nodeworthy ... --username NAME --password-stdin",
        )
    if "-" in files:
        raise UsageError("standard input cannot be the password and a file", todo="name the file")
    hosts = sorted({reference.host for reference in references if isinstance(reference, Reference)})
    if len(hosts) != 1:
        raise UsageError(
            "--username says nothing here" if not hosts else "one password is not sent to several registries",
            why="no image of the call is in a registry" if not hosts else f"the call names {', '.join(hosts)}",
            todo="leave it out" if not hosts else "ask one registry at a time, or log in to each (docker login)",
        )
    return dataclasses.replace(access, login=Login(hosts[0], username, _read_password()))


def _read_password() -> str:
    data = sys.stdin.buffer.read(_MAX_PASSWORD_BYTES + 1)
    if len(data) > _MAX_PASSWORD_BYTES:
        raise UsageError("the password is too long", why=f"standard input has more than {_MAX_PASSWORD_BYTES} bytes")
    try:
        # Only the end of the line is cut: a blank may be part of a password.
        password = data.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise UsageError("the password cannot be read", why="standard input is not UTF-8") from error
    if not password:
        raise UsageError("there is no password", why="standard input is empty", todo="cat FILE | nodeworthy ...")
    return password
