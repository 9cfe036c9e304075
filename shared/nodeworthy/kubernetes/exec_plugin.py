"""Credentials from a program that the kubeconfig names: cloud clusters have no others.

Kubernetes documentation, "client-go credential plugins"; API ``client.authentication.k8s.io`` v1 and v1beta1. The program
prints an ``ExecCredential`` with a token, a client certificate, or both; it is kept until it expires or is refused.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from nodeworthy.errors import UsageError
from nodeworthy.kubernetes.children import Outcome, run_program
from nodeworthy.kubernetes.credentials import Shown, bearer
from nodeworthy.kubernetes.refusals import printable

API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")

_SECONDS = 60.0
"""Programs of clouds ask a web service and take 1 to 5 s; some refresh a login first."""
_MAX_BYTES = 256 * 1024
"""A token of a cloud has 2 kB, a certificate chain with its key 10 kB."""
_MARGIN = 10.0
"""Seconds before its end in which a credential is no longer used: a request takes time, and clocks differ."""


@dataclass(frozen=True)
class ExecPlugin:
    """What a kubeconfig says of the program."""

    api_version: str
    command: str
    arguments: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Added to the environment; some hold secrets."""
    install_hint: str = ""
    cluster: Mapping[str, object] | None = None
    """``spec.cluster`` of what the program is told; ``None``: it did not ask for it."""


class _ExecStatus(msgspec.Struct, frozen=True, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None

    def __repr__(self) -> str:
        return "_ExecStatus(...)"


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    kind: str
    status: _ExecStatus | None = None


def parse_credential(data: bytes, plugin: ExecPlugin) -> tuple[Shown, float | None]:
    """What to show, and until when in Unix time (``None``: no end), from what the program printed.

    ::

        {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
         "status": {"token": "…", "expirationTimestamp": "2031-05-06T07:08:09Z"}}

    Raises:
        UsageError: it printed something else; nothing of that is shown, since it may be a secret.
    """
    what = f"credential program {plugin.command} printed no credentials"
    try:
        credential = msgspec.json.decode(data, type=_ExecCredential)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(what, why=str(error) if isinstance(error, msgspec.DecodeError) else "no JSON") from error
    if credential.kind != "ExecCredential" or credential.api_version != plugin.api_version:
        raise UsageError(
            what,
            why=f"it speaks {printable(credential.api_version)}, and {plugin.api_version} was asked for",
            todo="update the program, or make its entry of the kubeconfig anew",
        )
    status = credential.status or _ExecStatus()
    if bool(status.client_certificate_data) != bool(status.client_key_data):
        raise UsageError(what, why="a certificate without its key, or a key alone")
    if not (status.token or status.client_certificate_data):
        raise UsageError(what, why="its status has neither a token nor a certificate")
    if not (status.token.isascii() and (status.token.isprintable())):
        raise UsageError(what, why="its token is not one line of plain text")
    shown = Shown(
        bearer(status.token) if status.token else "",
        status.client_certificate_data.encode(),
        status.client_key_data.encode(),
    )
    return shown, _unix_time(status.expiration_timestamp, what)


def _unix_time(moment: datetime | None, what: str) -> float | None:
    if moment is None:
        return None
    if moment.tzinfo is None:
        raise UsageError(what, why="its expirationTimestamp has no time zone (RFC 3339)")
    return moment.timestamp()


class ExecCredentials:
    """Credentials of a program, asked when there are none that still hold.

    Args:
        environment: The variables of this process; the program gets them and its own.
        clock: Unix time, in which credentials say when they end.
    """

    def __init__(
        self,
        plugin: ExecPlugin,
        environment: Mapping[str, str],
        clock: Callable[[], float],
        *,
        seconds: float = _SECONDS,
    ) -> None:
        self._plugin = plugin
        self._environment = environment
        self._clock = clock
        self._seconds = seconds
        self._shown: Shown | None = None
        self._until: float | None = None
        self._asking = asyncio.Lock()

    async def show(self) -> Shown:
        """What the program gave, asked by the first of all who need it.

        Raises:
            UsageError: the program cannot be started, failed, took too long or printed something else.
        """
        async with self._asking:
            if self._shown is None or (self._until is not None and self._clock() >= self._until - _MARGIN):
                self._shown, self._until = parse_credential((await self._ask()).output, self._plugin)
            return self._shown

    def forget(self) -> None:
        """Ask the program before the next request."""
        self._shown = None

    async def _ask(self) -> Outcome:
        plugin = self._plugin
        told = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": self._tell()}
        variables = {"KUBERNETES_EXEC_INFO": msgspec.json.encode(told).decode()}
        environment = {**self._environment, **plugin.variables, **variables}
        what = f"credential program {plugin.command}"
        try:
            outcome = await run_program(
                (plugin.command, *plugin.arguments), environment, seconds=self._seconds, limit=_MAX_BYTES
            )
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise UsageError(f"{what} did not answer", why=f"within {self._seconds:g} s") from error
            todo = printable(plugin.install_hint) or "install it, or choose another context of the kubeconfig"
            raise UsageError(f"{what} cannot be started", why=os.strerror(error.errno or 0), todo=todo) from error
        if outcome.is_too_long:
            raise UsageError(f"{what} printed too much", why=f"more than {_MAX_BYTES} bytes")
        if outcome.status:
            said = printable(outcome.errors.decode(errors="replace"))
            why = f"exit code {outcome.status}" + (f": {said}" if said else "")
            raise UsageError(f"{what} failed", why=why, todo="run it by hand; it may want a login")
        return outcome

    def _tell(self) -> dict[str, object]:
        spec: dict[str, object] = {"interactive": False}
        if self._plugin.cluster is not None:
            spec["cluster"] = self._plugin.cluster
        return spec
