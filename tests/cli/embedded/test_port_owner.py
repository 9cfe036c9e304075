import os
import socket
from pathlib import Path

import pytest

from nodeworthy_cli.embedded.port_owner import parse_listeners, read_port_owner

# Two lines of a Linux 6.1 machine's /proc/net/tcp: sshd listens on 22 (0016), and somebody is connected to it.
TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 18231 1 0 100 0 0 10 0
   1: 0A00000A:0016 0B00000A:D2F0 01 00000000:00000000 02:000A7F3E 00000000     0        0 20010 4 0 20 4 30 10 -1
"""


def test_listeners_are_told_from_connections() -> None:
    assert parse_listeners(TABLE, 22) == {"18231"}
    assert parse_listeners(TABLE, 4222) == set()


@pytest.mark.parametrize("table", ["", "one line", TABLE[:150], "head\na b c\n"])
def test_a_table_that_is_cut_off_names_nobody(table: str) -> None:
    assert parse_listeners(table, 22) == set()


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_listener_of_ours_is_named(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as listener:
        owner = read_port_owner(listener.getsockname()[1])
    assert owner is not None
    assert owner.endswith(f"(process {os.getpid()})")


def test_a_listener_of_another_user_stays_unnamed(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "tcp").write_text(TABLE)
    (tmp_path / "77").mkdir()  # a process whose files this user may not see
    assert read_port_owner(22, tmp_path) is None
    assert read_port_owner(22, tmp_path / "absent") is None


def test_a_process_is_named_by_its_socket(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "tcp").write_text(TABLE)
    (tmp_path / "77" / "fd").mkdir(parents=True)
    (tmp_path / "77" / "fd" / "3").symlink_to("socket:[18231]")
    (tmp_path / "77" / "comm").write_text("sshd\n")
    assert read_port_owner(22, tmp_path) == "sshd (process 77)"
