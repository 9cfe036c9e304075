import dataclasses
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nodeworthy.bus import permissions
from nodeworthy.bus.names import Names
from nodeworthy_cli.embedded.configuration import server_configuration
from nodeworthy_cli.embedded.data_folder import DataFolder
from nodeworthy_cli.embedded.settings import ServerSettings

ODD = Path('/data "quoted" $HOME/ü')


def configure(settings: ServerSettings) -> dict[str, Any]:
    folder = DataFolder(settings.folder, lock=-1)
    content = server_configuration(folder, settings, [permissions.labeler(Names())], {"labeler": "secret"})
    assert b"quoted" not in content  # a folder's name can break nothing, since it is not in there
    parsed: dict[str, Any] = msgspec.json.decode(content)
    return parsed


def test_acknowledged_means_synced() -> None:
    assert configure(ServerSettings(ODD))["jetstream"]["sync_interval"] == "always"


def test_everything_is_bounded_by_a_setting() -> None:
    settings = ServerSettings(
        ODD,
        max_payload_bytes=1,
        max_store_bytes=2,
        max_memory_store_bytes=3,
        max_connections=4,
        log_bytes=5,
        log_files=6,
    )
    found = configure(settings)
    assert (found["jetstream"]["max_file_store"], found["jetstream"]["max_memory_store"]) == (2, 3)
    names = ("max_payload", "max_connections", "log_size_limit", "logfile_max_num")
    assert [found[name] for name in names] == [1, 4, 5, 6]


@pytest.mark.parametrize(("port", "written"), [(4222, 4222), (0, -1)])
def test_it_listens_on_this_machine_at_the_port_that_is_wanted(port: int, written: int) -> None:
    found = configure(dataclasses.replace(ServerSettings(ODD), port=port))
    assert (found["host"], found["port"]) == ("127.0.0.1", written)
    assert not {"http_port", "https_port", "http", "monitor_port", "cluster", "leafnodes"} & set(found)


def test_each_user_has_its_password_and_its_permissions_and_nobody_stands_for_the_anonymous() -> None:
    found = configure(ServerSettings(ODD))
    (user,) = (user for account in found["accounts"].values() for user in account["users"])
    assert (user["user"], user["password"]) == ("labeler", "secret")
    assert user["permissions"]["publish"]["allow"]
    assert "no_auth_user" not in found
