from pathlib import Path

import pytest

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
    assert access.config == tmp_path / ".docker" / "config.json"


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
