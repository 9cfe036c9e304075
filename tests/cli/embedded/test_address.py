from pathlib import Path

import pytest

from nodeworthy_cli.embedded.address import parse_ports, parse_version, read_address, remove_ports_files


@pytest.mark.parametrize(
    ("content", "port"),
    [
        (b'{"nats":["nats://127.0.0.1:4222"]}', 4222),
        (b'{"nats":["nats://127.0.0.1:42', None),
        (b"", None),
        (b'{"nats":[]}', None),
        (b'{"nats":["nats://host"]}', None),
    ],
)
def test_the_port_is_read_when_the_file_is_whole(content: bytes, port: int | None) -> None:
    assert parse_ports(content) == port


@pytest.mark.parametrize(
    ("line", "version"),
    [
        (b'INFO {"server_id":"N","version":"2.15.1"} \r\n', "2.15.1"),
        (b'INFO {"server_id":"N"}', None),
        (b"HTTP/1.1 400 Bad Request", None),
        (b"INFO {", None),
        (b"", None),
    ],
)
def test_only_a_nats_server_has_a_version(line: bytes, version: str | None) -> None:
    assert parse_version(line) == version


async def test_a_file_of_a_server_that_is_gone_is_no_address(tmp_path: Path) -> None:
    assert await read_address(tmp_path, 7) is None
    (tmp_path / "nats-server_7.ports").write_text('{"nats":["nats://127.0.0.1:1"]}')  # nobody listens on port 1
    assert await read_address(tmp_path, 7) is None


def test_files_of_servers_that_were_killed_are_removed(tmp_path: Path) -> None:
    (tmp_path / "nats-server_7.ports").touch()
    (tmp_path / "nats-server.log").touch()
    remove_ports_files(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["nats-server.log"]
