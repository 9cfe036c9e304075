from pathlib import Path

import pytest

from nodeworthy.errors import UsageError
from nodeworthy_cli.embedded.settings import data_folder


def test_the_data_is_where_xdg_says() -> None:
    assert data_folder("lab", {"XDG_DATA_HOME": "/data"}) == Path("/data/nodeworthy/lab")


@pytest.mark.parametrize("value", ["", "relative/path"])
def test_without_a_usable_setting_it_is_below_the_home_folder(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert data_folder("local", {"XDG_DATA_HOME": value}) == Path("/home/somebody/.local/share/nodeworthy/local")


def test_without_a_home_folder_there_is_an_error_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: int) -> None:
        raise KeyError("no such user")

    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", unknown)  # a container may run as a user that has no entry
    with pytest.raises(UsageError) as caught:
        data_folder("local", {})
    assert "--data" in caught.value.todo
