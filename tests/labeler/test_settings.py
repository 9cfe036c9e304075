from pathlib import Path

import pytest

from nodeworthy.errors import UsageError
from nodeworthy_labeler.settings import Settings, read_settings


def test_without_variables_the_defaults_count() -> None:
    assert read_settings({"NODEWORTHY_RULES": "", "LANG": "C"}) == Settings()


def test_variables_replace_the_defaults() -> None:
    given = {
        "NODEWORTHY_CLUSTER": "c1",
        "NODEWORTHY_RULES": "/etc/rules",
        "NODEWORTHY_REPLICAS": "3",
        "NODEWORTHY_HTTP_PORT": "0",
        "NODEWORTHY_HTTP_HOST": "0.0.0.0",
    }
    settings = read_settings(given)
    assert (settings.cluster, settings.rules, settings.replicas) == ("c1", Path("/etc/rules"), 3)
    assert (settings.http_port, settings.http_host) == (0, "0.0.0.0")


@pytest.mark.parametrize(
    ("name", "value"),
    [("NODEWORTHY_REPLICAS", "0"), ("NODEWORTHY_REPLICAS", "many"), ("NODEWORTHY_HTTP_PORT", "65536")],
)
def test_a_variable_that_cannot_be_used_is_told(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"{name}='{value}' cannot be used: it is a number from"):
        read_settings({name: value})
