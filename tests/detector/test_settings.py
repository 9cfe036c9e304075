import socket
from pathlib import Path

import pytest

from nodeworthy.errors import UsageError
from nodeworthy_detector.settings import Settings, read_settings


def test_without_variables_the_node_is_called_as_its_host() -> None:
    settings = read_settings({})
    assert settings == Settings(node=socket.gethostname())
    assert (settings.cluster, settings.host_root, settings.features_d) == ("local", Path("/"), "")
    assert settings.configuration is None
    assert settings.http_port is None
    assert (settings.pace.seconds, settings.pace.poll) == (600, 10)


def test_every_variable_has_its_field() -> None:
    settings = read_settings(
        {
            "NODE_NAME": "ip-10-0-1-2.eu-west-1.compute.internal",
            "NODE_UID": "0f2c",
            "NODEWORTHY_CLUSTER": "blue",
            "NODEWORTHY_HOST_ROOT": "/host",
            "NODEWORTHY_FEATURES_D": "/var/lib/features.d",
            "NODEWORTHY_CONFIG": "/etc/detector.yaml",
            "NODEWORTHY_SCAN_SECONDS": "90.5",
            "NODEWORTHY_HTTP_PORT": "8080",
            "NODEWORTHY_HTTP_HOST": "0.0.0.0",
        }
    )
    assert (settings.node, settings.node_uid) == ("ip-10-0-1-2.eu-west-1.compute.internal", "0f2c")
    assert (settings.cluster, settings.host_root) == ("blue", Path("/host"))
    assert (settings.features_d, settings.pace.seconds) == ("/var/lib/features.d", 90.5)
    assert settings.configuration == Path("/etc/detector.yaml")
    assert (settings.http_port, settings.http_host) == (8080, "0.0.0.0")


def test_an_empty_variable_is_not_set() -> None:
    assert read_settings({"NODE_NAME": "", "NODEWORTHY_HTTP_PORT": ""}) == read_settings({})


@pytest.mark.parametrize("value", ["0", "-5", "nan", "inf", "3601", "soon", "1e9"])
def test_a_period_that_no_detector_can_keep_is_refused(value: str) -> None:
    with pytest.raises(UsageError, match="NODEWORTHY_SCAN_SECONDS="):
        read_settings({"NODEWORTHY_SCAN_SECONDS": value})


@pytest.mark.parametrize("value", ["-1", "65536", "http", "8080 ", "٨٠"])
def test_a_port_that_is_none_is_refused(value: str) -> None:
    with pytest.raises(UsageError, match="NODEWORTHY_HTTP_PORT="):
        read_settings({"NODEWORTHY_HTTP_PORT": value})
