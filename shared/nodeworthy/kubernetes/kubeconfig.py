"""Kubeconfig files: which cluster, which user, and what that user shows.

Kubernetes documentation, "Organizing Cluster Access Using kubeconfig Files": of several files the first that has a
cluster, user or context of a name counts, and of ``current-context`` the first that is set. Paths are relative to their
file. Only the entries of the chosen context are read in full, so that a broken entry of another one harms nobody.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from yarl import URL

from nodeworthy.errors import DocumentError, UsageError
from nodeworthy.kubernetes.access import Access, Trust
from nodeworthy.kubernetes.credentials import (
    Credentials,
    FileCredentials,
    FixedCredentials,
    Shown,
    basic,
    bearer,
    read_file,
)
from nodeworthy.kubernetes.exec_plugin import API_VERSIONS, ExecCredentials, ExecPlugin
from nodeworthy.rules import fields
from nodeworthy.rules.findings import Findings
from nodeworthy.rules.scalars import Kind
from nodeworthy.rules.trees import MappingNode, Node, ScalarNode, SequenceNode
from nodeworthy.rules.yaml_reader import read_yaml

_TOP = ("apiVersion", "kind", "clusters", "users", "contexts", "current-context", "preferences", "extensions")
_CLUSTER = (
    "server",
    "certificate-authority",
    "certificate-authority-data",
    "insecure-skip-tls-verify",
    "tls-server-name",
    "proxy-url",
    "disable-compression",
    "extensions",
)
_CONTEXT = ("cluster", "user", "namespace", "extensions")
_USER = (
    "client-certificate",
    "client-certificate-data",
    "client-key",
    "client-key-data",
    "token",
    "tokenFile",
    "username",
    "password",
    "exec",
    "auth-provider",
    "as",
    "as-uid",
    "as-groups",
    "as-user-extra",
    "extensions",
)
_EXEC = ("apiVersion", "command", "args", "env", "installHint", "provideClusterInfo", "interactiveMode")
_EXEC_EXTENSION = "client.authentication.k8s.io/exec"
"""The extension of a cluster's entry that its credential program is told as ``config``."""
_ACTING_AS = ("as", "as-uid", "as-groups", "as-user-extra")


@dataclass(frozen=True)
class World:
    """What a kubeconfig depends on beside its text."""

    environment: Mapping[str, str]
    """For credential programs."""
    monotonic: Callable[[], float]
    """Seconds; when files are read again."""
    wall: Callable[[], float]
    """Unix time; in which programs say how long credentials hold."""


class _Entry:
    """One entry of a file: its fields, read on demand with their places."""

    def __init__(self, node: Node | None, path: str, known: tuple[str, ...], file: "_File") -> None:
        self.path = path
        self.file = file
        self.fields = fields.read_fields(node, path, known, file.findings)

    def text(self, name: str) -> str:
        return fields.read_text(self.fields.get(name), fields.join(self.path, name), self.file.findings)

    def is_set(self, name: str) -> bool:
        node = self.fields.get(name)
        if node is None or fields.is_null(node):
            return False
        if not isinstance(node, ScalarNode) or node.scalar.kind is not Kind.BOOLEAN:
            self.problem(name, "this must be true or false")
            return False
        return node.scalar.text == "true"

    def place(self, name: str) -> Path | None:
        text = self.text(name)
        return self.file.path.parent / text if text else None

    def data(self, name: str) -> bytes:
        try:
            return base64.b64decode("".join(self.text(name).split()), validate=True)
        except (binascii.Error, ValueError):
            self.problem(name, "this must be base64")
            return b""

    def has(self, name: str) -> bool:
        return not fields.is_null(self.fields.get(name))

    def problem(self, name: str, message: str, hint: str = "") -> None:
        node = self.fields.get(name)
        self.file.findings.problem(node.line if node else 0, fields.join(self.path, name), message, hint)


class _File:
    """One kubeconfig file."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.findings = Findings(str(path))
        self.top = _Entry(read_yaml(data, self.findings), "", _TOP, self)

    def find(self, group: str, field: str, name: str, known: tuple[str, ...]) -> _Entry | None:
        """The entry of this name: ``clusters: [{name: …, cluster: {…}}]``."""
        for node, path in fields.read_items(self.top.fields.get(group), group, self.findings):
            entry = _Entry(node, path, ("name", field), self)
            if entry.text("name") == name:
                return _Entry(entry.fields.get(field), fields.join(path, field), known, self)
        return None

    def names(self, group: str) -> list[str]:
        items = fields.read_items(self.top.fields.get(group), group, self.findings)
        return [_Entry(node, path, ("name",), self).text("name") for node, path in items]


def parse_kubeconfig(files: Mapping[Path, bytes], context: str, world: World) -> Access:
    """The access that some files, the first of which counts most, give under a context; empty: under their current one.

    Raises:
        UsageError: no such context, or it needs something that this client does not do.
        DocumentError: a file is no kubeconfig, or an entry of the context has a mistake; every one is told.
    """
    opened = [_File(path, data) for path, data in files.items()]
    where = " and ".join(str(path) for path in files) or "no kubeconfig"
    name = context or next((text for file in opened if (text := file.top.text("current-context"))), "")
    if not name:
        raise UsageError("no cluster is chosen", why=f"{where} has no current-context", todo="name one by --context")
    chosen = _find(opened, "contexts", "context", name, _CONTEXT)
    if chosen is None:
        names = ", ".join(sorted({found for file in opened for found in file.names("contexts")}))
        raise UsageError(
            f"there is no context {name!r}", why=f"{where} has: {names or 'none'}", todo="name one of these"
        )
    cluster = _find(opened, "clusters", "cluster", chosen.text("cluster"), _CLUSTER)
    if cluster is None:
        chosen.problem("cluster", "there is no cluster of this name")
        _refuse(opened)
        raise AssertionError(name)  # the problem was noted the line before
    user = _find(opened, "users", "user", chosen.text("user"), _USER) if chosen.text("user") else None
    if user is None and chosen.text("user"):
        chosen.problem("user", "there is no user of this name")
    access = Access(
        _read_server(cluster),
        _read_user(user, cluster, world) if user else FixedCredentials(),
        _read_trust(cluster),
        chosen.text("namespace") or "default",
        _read_proxy(cluster),
        f"context {name} of {chosen.file.path}",
    )
    _refuse(opened)
    return access


def _find(files: list[_File], group: str, field: str, name: str, known: tuple[str, ...]) -> _Entry | None:
    return next((entry for file in files if (entry := file.find(group, field, name, known))), None)


def _refuse(files: list[_File]) -> None:
    problems = [problem for file in files for problem in file.findings.problems]
    if problems:
        raise DocumentError(problems[0].source, tuple(problems), todo="mend it, or name another one by --kubeconfig")


def _read_server(cluster: _Entry) -> URL:
    return _read_url(cluster, "server", ("https", "http")) or URL()


def _read_url(entry: _Entry, name: str, schemes: tuple[str, ...]) -> URL | None:
    try:
        url = URL(entry.text(name))
        is_usable = url.scheme in schemes and bool(url.host)
    except ValueError:
        is_usable = False
    if not is_usable:
        entry.problem(name, f"this must be an address that begins with {' or '.join(f'{one}://' for one in schemes)}")
        return None
    return url


def _read_proxy(cluster: _Entry) -> URL | None:
    # aiohttp knows no SOCKS.
    return _read_url(cluster, "proxy-url", ("http",)) if cluster.has("proxy-url") else None


def _read_trust(cluster: _Entry) -> Trust:
    trust = Trust(
        cluster.data("certificate-authority-data"),
        cluster.place("certificate-authority"),
        cluster.text("tls-server-name"),
        cluster.is_set("insecure-skip-tls-verify"),
    )
    if trust.is_insecure and (trust.authority or trust.authority_file):
        cluster.problem("insecure-skip-tls-verify", "this contradicts the certificate authority", "remove one of them")
    return trust


def _read_user(user: _Entry, cluster: _Entry, world: World) -> Credentials:
    if user.has("auth-provider"):
        user.problem("auth-provider", "Kubernetes has done away with it", "use the exec program of the same maker")
    for name in _ACTING_AS:
        if user.has(name):
            user.problem(name, "acting as somebody else is not done here", "choose a context without it")
    token, username = user.text("token"), user.text("username")
    if not (token.isascii() and token.isprintable()):
        user.problem("token", "this must be one line of plain text")
    authorization = bearer(token) if token else basic(username, user.text("password")) if username else ""
    shown = Shown(authorization, user.data("client-certificate-data"), user.data("client-key-data"))
    certificate = None if shown.certificate else user.place("client-certificate")
    key = None if shown.key else user.place("client-key")
    if bool(shown.certificate or certificate) != bool(shown.key or key):
        user.problem("client-certificate", "a certificate and its key belong together, and one is missing")
    token_file = user.place("tokenFile")
    if user.has("exec") and not (authorization or token_file):
        return ExecCredentials(_read_plugin(user, cluster), world.environment, world.wall)
    if token_file or certificate or key:
        return FileCredentials(shown, token=token_file, certificate=certificate, key=key, clock=world.monotonic)
    return FixedCredentials(shown)


def _read_plugin(user: _Entry, cluster: _Entry) -> ExecPlugin:
    entry = _Entry(user.fields.get("exec"), fields.join(user.path, "exec"), _EXEC, user.file)
    version, command = entry.text("apiVersion"), entry.text("command")
    if version not in API_VERSIONS:
        entry.problem("apiVersion", f"this must be {' or '.join(API_VERSIONS)}", "make the entry anew")
    if not command:
        entry.problem("command", "the program's name is missing")
    if entry.text("interactiveMode") == "Always":
        entry.problem("interactiveMode", "the program wants a terminal, and gets none here", "choose another context")
    if "/" in command:
        command = str(user.file.path.parent / command)
    return ExecPlugin(
        version,
        command,
        tuple(
            fields.read_text(node, path, user.file.findings)
            for node, path in fields.read_items(entry.fields.get("args"), f"{entry.path}.args", user.file.findings)
        ),
        _read_variables(entry),
        entry.text("installHint"),
        _tell_cluster(cluster) if entry.is_set("provideClusterInfo") else None,
    )


def _read_variables(entry: _Entry) -> dict[str, str]:
    items = fields.read_items(entry.fields.get("env"), f"{entry.path}.env", entry.file.findings)
    variables = [_Entry(node, path, ("name", "value"), entry.file) for node, path in items]
    return {variable.text("name"): variable.text("value") for variable in variables if variable.text("name")}


def _tell_cluster(cluster: _Entry) -> dict[str, object]:
    """``Cluster`` of ``client.authentication.k8s.io/v1``; files are told by their content."""
    told: dict[str, object] = {"server": cluster.text("server")}
    if authority := cluster.data("certificate-authority-data") or _content(cluster.place("certificate-authority")):
        told["certificate-authority-data"] = base64.b64encode(authority).decode()
    if server_name := cluster.text("tls-server-name"):
        told["tls-server-name"] = server_name
    if cluster.is_set("insecure-skip-tls-verify"):
        told["insecure-skip-tls-verify"] = True
    items = fields.read_items(cluster.fields.get("extensions"), f"{cluster.path}.extensions", cluster.file.findings)
    for node, path in items:
        extension = _Entry(node, path, ("name", "extension"), cluster.file)
        if extension.text("name") == _EXEC_EXTENSION:
            told["config"] = _plain(extension.fields.get("extension"))
    return told


def _content(path: Path | None) -> bytes:
    return read_file(path, "the API server's certificate authority") if path else b""


def _plain(node: Node | None) -> object:
    """A tree as JSON has it."""
    if isinstance(node, MappingNode):
        return {key: _plain(value) for key, value in node.entries.items()}
    if isinstance(node, SequenceNode):
        return [_plain(item) for item in node.items]
    if node is None or node.scalar.kind is Kind.NULL:
        return None
    if node.scalar.kind is Kind.BOOLEAN:
        return node.scalar.text == "true"
    return node.scalar.text if node.scalar.number is None else node.scalar.number
