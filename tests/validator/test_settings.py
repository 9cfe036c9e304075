"""What the environment says."""

import pytest

from nodeworthy.errors import UsageError
from nodeworthy_validator.settings import Settings, read_settings


def test_nothing_said_is_the_default() -> None:
    assert read_settings({"NODEWORTHY_HTTP_PORT": "", "OTHER": "x"}) == Settings()


def test_variables_are_read() -> None:
    settings = read_settings(
        {"NODEWORTHY_CLUSTER": "east", "NODEWORTHY_HTTP_PORT": "8080", "NODEWORTHY_HTTP_HOST": "0.0.0.0"}
    )
    assert (settings.cluster, settings.http_port, settings.http_host) == ("east", 8080, "0.0.0.0")


@pytest.mark.parametrize("text", ["x", "-1", "65536", "1.5", "\u0661"])
def test_what_is_no_port_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="NODEWORTHY_HTTP_PORT"):
        read_settings({"NODEWORTHY_HTTP_PORT": text})
