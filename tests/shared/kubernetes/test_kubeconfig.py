import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from nodeworthy.errors import DocumentError, UsageError
from nodeworthy.kubernetes.access import Access
from nodeworthy.kubernetes.credentials import Shown, basic
from nodeworthy.kubernetes.exec_plugin import ExecCredentials
from nodeworthy.kubernetes.kubeconfig import World, parse_kubeconfig

WORLD = World({"A": "1"}, lambda: 0.0, lambda: 0.0)
BASE64 = "Y2VydA=="


def config(user: Any = None, cluster: Any = None, context: Any = None, **top: Any) -> bytes:
    """A kubeconfig with one context, ``c``."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "k", "cluster": {"server": "https://api.example:6443", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u", **(context or {})}}],
        "current-context": "c",
    }
    return json.dumps(content | top).encode()


def parse(*files: bytes, context: str = "") -> Access:
    paths = {Path(f"/home/me/{number}/config"): data for number, data in enumerate(files)}
    return parse_kubeconfig(paths, context, WORLD)


async def show(access: Access) -> Shown:
    return await access.credentials.show()


def test_a_cluster_is_its_address_and_how_it_is_trusted() -> None:
    access = parse(config(cluster={"certificate-authority-data": BASE64, "tls-server-name": "kube"}))
    assert access.server == URL("https://api.example:6443")
    assert (access.trust.authority, access.trust.server_name, access.trust.is_insecure) == (b"cert", "kube", False)
    assert (access.namespace, access.source) == ("default", "context c of /home/me/0/config")


def test_paths_are_relative_to_their_file() -> None:
    access = parse(config(cluster={"certificate-authority": "pki/ca.crt"}))
    assert access.trust.authority_file == Path("/home/me/0/pki/ca.crt")


def test_a_cluster_may_be_insecure_behind_a_proxy_and_in_a_namespace() -> None:
    cluster = {"insecure-skip-tls-verify": True, "proxy-url": "http://proxy:3128"}
    access = parse(config(cluster=cluster, context={"namespace": "ns"}))
    assert access.trust.is_insecure
    assert (access.proxy, access.namespace) == (URL("http://proxy:3128"), "ns")


@pytest.mark.parametrize(
    ("user", "shown"),
    [
        ({}, Shown()),
        ({"token": "t"}, Shown("Bearer t")),
        ({"username": "me", "password": "p"}, Shown(basic("me", "p"))),
        ({"token": "t", "username": "me"}, Shown("Bearer t")),
        (
            {"client-certificate-data": BASE64, "client-key-data": BASE64, "client-key": "passed over"},
            Shown("", b"cert", b"cert"),
        ),
        ({"token": "t", "exec": {"command": "passed over"}}, Shown("Bearer t")),
    ],
)
async def test_a_user_shows_what_the_file_holds(user: Mapping[str, Any], shown: Shown) -> None:
    assert await show(parse(config(user))) == shown


async def test_a_user_shows_what_is_in_other_files(tmp_path: Path) -> None:
    for name in ("token", "c", "k"):
        (tmp_path / name).write_text(f"in-{name}")
    user = {"token": "passed over", "tokenFile": "token", "client-certificate": "c", "client-key": str(tmp_path / "k")}
    access = parse_kubeconfig({tmp_path / "config": config(user)}, "", WORLD)
    assert await show(access) == Shown("Bearer in-token", b"in-c", b"in-k")


def test_a_program_gives_credentials() -> None:
    user = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "./login",
            "args": ["get", "token"],
            "env": [{"name": "A", "value": "2"}],
            "installHint": "get it",
            "interactiveMode": "IfAvailable",
            "provideClusterInfo": True,
        }
    }
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"n": 1, "l": [True, None, "x"]}}
    cluster = {"certificate-authority-data": BASE64, "extensions": [{"name": "other"}, extension]}
    credentials = parse(config(user, cluster | {"tls-server-name": "kube"})).credentials
    assert isinstance(credentials, ExecCredentials)
    plugin = credentials._plugin
    assert (plugin.command, plugin.arguments) == ("/home/me/0/login", ("get", "token"))
    assert (plugin.variables, plugin.install_hint) == ({"A": "2"}, "get it")
    assert plugin.cluster == {
        "server": "https://api.example:6443",
        "certificate-authority-data": BASE64,
        "tls-server-name": "kube",
        "config": {"n": 1, "l": [True, None, "x"]},
    }


@pytest.mark.parametrize(
    ("user", "cluster", "message"),
    [
        ({"auth-provider": {"name": "gcp"}}, {}, "users.0..user.auth-provider: Kubernetes has done away with it"),
        ({"as": "root"}, {}, "users.0..user.as: acting as somebody else"),
        ({"token": "a\nb"}, {}, "token: this must be one line"),
        ({"client-certificate-data": BASE64}, {}, "a certificate and its key belong together"),
        ({"client-key": "k"}, {}, "a certificate and its key belong together"),
        ({"client-key-data": "not base64!"}, {}, "client-key-data: this must be base64"),
        ({"exec": {"apiVersion": "client.authentication.k8s.io/v1alpha1", "command": "x"}}, {}, "exec.apiVersion"),
        ({"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}, {}, "the program's name is missing"),
        (
            {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "x", "interactiveMode": "Always"}},
            {},
            "wants a terminal",
        ),
        ({}, {"server": "api.example:6443"}, "clusters.0..cluster.server: this must be an address"),
        ({}, {"server": "https://"}, "cluster.server: this must be an address"),
        ({}, {"server": "https://["}, "cluster.server: this must be an address"),
        ({}, {"proxy-url": "socks5://proxy"}, "proxy-url: this must be an address that begins with http://"),
        ({}, {"insecure-skip-tls-verify": "yes"}, "this must be true or false"),
        ({}, {"insecure-skip-tls-verify": True, "certificate-authority": "ca"}, "this contradicts"),
    ],
)
def test_what_cannot_be_used_is_told_with_its_place(
    user: Mapping[str, Any], cluster: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(DocumentError, match=message):
        parse(config(user, cluster))


def test_every_mistake_of_a_context_is_told_at_once() -> None:
    with pytest.raises(DocumentError) as raised:
        parse(config({"client-key-data": "!"}, {"server": "x"}, {"user": "u"}))
    assert len(raised.value.problems) == 2


def test_secrets_are_in_no_message() -> None:
    with pytest.raises(DocumentError) as raised:
        parse(config({"token": "secret\nsecret", "client-key-data": "secret!", "password": ["secret"]}))
    assert "secret" not in str(raised.value)


def test_broken_entries_of_other_contexts_harm_nobody() -> None:
    clusters = [{"name": "x", "cluster": {"server": 1}}, {"name": "k", "cluster": {"server": "https://api"}}]
    assert parse(config(clusters=clusters)).server == URL("https://api")


def test_a_context_is_taken_by_its_name() -> None:
    contexts = [{"name": "c", "context": {"cluster": "none"}}, {"name": "d", "context": {"cluster": "k"}}]
    assert parse(config(contexts=contexts), context="d").source == "context d of /home/me/0/config"
    with pytest.raises(UsageError, match=r"there is no context 'e': .*config has: c, d"):
        parse(config(contexts=contexts), context="e")


@pytest.mark.parametrize(("context", "message"), [({"cluster": "x"}, "no cluster of"), ({"user": "x"}, "no user of")])
def test_a_context_that_names_what_is_not_there_is_an_error(context: Mapping[str, str], message: str) -> None:
    with pytest.raises(DocumentError, match=f"there is {message} this name"):
        parse(config(context=context))


def test_a_file_without_a_current_context_says_what_to_do() -> None:
    with pytest.raises(UsageError, match="has no current-context") as raised:
        parse(b"")
    assert raised.value.todo == "name one by --context"


def test_of_several_files_the_first_counts() -> None:
    first = json.dumps({"clusters": [{"name": "k", "cluster": {"server": "https://first"}}]}).encode()
    access = parse(first, config(), config(cluster={"server": "https://third"}, **{"current-context": "x"}))
    assert (access.server, access.source) == (URL("https://first"), "context c of /home/me/1/config")


@pytest.mark.parametrize("data", [b"\xff", b"a: [", b"[]", b"&a [*a, *a]", b"clusters: 1"])
def test_a_file_that_is_no_kubeconfig_is_an_error_of_ours(data: bytes) -> None:
    with pytest.raises((DocumentError, UsageError)):
        parse(data, context="c")


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)))
def test_whatever_stands_in_the_fields_an_access_or_an_error_of_ours_comes(value: Any) -> None:
    for data in (config({"token": value}), config({"exec": value}), config(cluster={"server": value})):
        with contextlib.suppress(DocumentError, UsageError):
            parse(data)
