from dataclasses import replace
from pathlib import Path

import pytest
from yarl import URL

from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.errors import UsageError
from nodeworthy_resolver.settings import Settings, read_settings


def test_without_variables_the_settings_are_the_defaults(tmp_path: Path) -> None:
    assert read_settings({}, tmp_path) == Settings()


def test_an_empty_variable_is_one_that_is_not_set(tmp_path: Path) -> None:
    assert read_settings({"NODEWORTHY_CLUSTER": "", "NODEWORTHY_TAG_SECONDS": ""}, tmp_path) == Settings()


def test_attaching_is_off_until_somebody_turns_it_on(tmp_path: Path) -> None:
    assert not Settings().allow_attach
    assert read_settings({"NODEWORTHY_ALLOW_ATTACH": "true"}, tmp_path).allow_attach


def test_registries_are_reached_as_the_variables_say(tmp_path: Path) -> None:
    (tmp_path / ".docker").mkdir()
    (tmp_path / ".docker" / "config.json").write_text("{}")
    given = {
        "NODEWORTHY_PLAIN_HTTP_HOSTS": "registry.test:5000, other.test",
        "NODEWORTHY_CA_FILE": "/ca.pem",
        "HTTPS_PROXY": "http://ignored:1",
        "https_proxy": "http://proxy:3128",
        "NO_PROXY": "registry.test",
    }
    access = read_settings(given, tmp_path).registries
    assert access.plain_http is None
    assert access.plain_http_hosts == ("registry.test:5000", "other.test")
    assert access.certificates == Path("/ca.pem")
    assert access.proxies == {"https": "http://proxy:3128", "no": "registry.test"}
    assert access.config is None
    assert access.default_configs == (tmp_path / ".docker" / "config.json",)


def test_a_mounted_configuration_is_taken_instead_of_the_one_at_home(tmp_path: Path) -> None:
    given = {"NODEWORTHY_REGISTRY_CONFIG": "/var/run/secrets/config.json", "DOCKER_CONFIG": "/elsewhere"}
    assert read_settings(given, tmp_path).registries.config == Path("/var/run/secrets/config.json")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NODEWORTHY_TAG_SECONDS", "soon"),
        ("NODEWORTHY_TAG_SECONDS", "-1"),
        ("NODEWORTHY_TAG_SECONDS", "nan"),
        ("NODEWORTHY_SEARCH_SECONDS", "1e9"),
        ("NODEWORTHY_ALLOW_ATTACH", "maybe"),
        ("NODEWORTHY_PLAIN_HTTP", "2"),
        ("NODEWORTHY_HTTP_PORT", "65536"),
        ("NODEWORTHY_HTTP_PORT", "-1"),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_name(name: str, value: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"{name}="):
        read_settings({name: value}, tmp_path)


@pytest.mark.parametrize(
    ("servers", "allowed"),
    [
        (("nats://127.0.0.1:4222",), True),
        (("nats://localhost:4222", "tls://[::1]:4222"), True),
        (("nats://nats.example:4222",), False),
        (("nats://127.0.0.1:4222", "nats://10.0.0.1:4222"), False),
        (("nats://127.0.0.1.example:4222",), False),
    ],
)
def test_private_registries_are_asked_where_only_this_machine_asks_unless_somebody_decides(
    servers: tuple[str, ...], allowed: bool
) -> None:
    settings = Settings(bus=ConnectionSettings(servers=servers))
    assert settings.access.allow_private is allowed
    for decided in (True, False):
        assert replace(settings, allow_private=decided).access.allow_private is decided


def test_hosts_and_mirrors_are_named_by_variables(tmp_path: Path) -> None:
    given = {
        "NODEWORTHY_ALLOW_PRIVATE": "true",
        "NODEWORTHY_PRIVATE_HOSTS": "registry.corp:5000,*.corp",
        "NODEWORTHY_ALLOWED_HOSTS": "docker.io, quay.io",
        "NODEWORTHY_HOSTS_DIR": "/etc/containerd/certs.d",
    }
    settings = read_settings(given, tmp_path)
    assert settings.allow_private
    assert settings.access.private_hosts == ("registry.corp:5000", "*.corp")
    assert settings.access.allowed_hosts == ("docker.io", "quay.io")
    assert settings.access.hosts_folder == Path("/etc/containerd/certs.d")
    assert not settings.access.names_files


def test_pull_secrets_are_those_of_named_namespaces(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(KUBECONFIG)
    given = {"NODEWORTHY_PULL_SECRET_NAMESPACES": "team, other", "KUBECONFIG": str(kubeconfig)}
    settings = read_settings(given, tmp_path).pull_secrets
    assert settings is not None
    assert settings.namespaces == ("team", "other")
    assert settings.access.server == URL("https://api.example:6443")
    assert read_settings({"KUBECONFIG": str(kubeconfig)}, tmp_path).pull_secrets is None
    with pytest.raises(UsageError):
        read_settings({"NODEWORTHY_PULL_SECRET_NAMESPACES": "team"}, tmp_path / "nobody")


KUBECONFIG = """
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "https://api.example:6443"}}]
users: [{name: a, user: {token: t}}]
"""
