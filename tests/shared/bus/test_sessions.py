from pathlib import Path

import pytest

from nodeworthy.bus.records import Session
from nodeworthy.bus.sessions import read_session
from nodeworthy.errors import UsageError


def test_two_sessions_of_one_boot_are_in_order(tmp_path: Path) -> None:
    file = tmp_path / "proc/sys/kernel/random/boot_id"
    file.parent.mkdir(parents=True)
    file.write_text("b1\n")
    first, second = read_session(tmp_path), read_session(tmp_path)
    assert first.boot_id == "b1"
    assert second.replaces(first)
    assert not first.replaces(second)


def test_another_boot_neither_replaces_nor_is_replaced() -> None:
    assert not Session("a", 2).replaces(Session("b", 1))
    assert not Session("a", 1).replaces(Session("a", 1))


def test_without_a_boot_id_there_is_no_session(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="boot_id cannot be read"):
        read_session(tmp_path)
