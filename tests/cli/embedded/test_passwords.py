from pathlib import Path

import pytest

from nodeworthy_cli.embedded.passwords import parse_passwords, read_passwords


def test_passwords_are_long_different_and_stay(tmp_path: Path) -> None:
    path = tmp_path / "passwords.json"
    first = read_passwords(path, ["detector", "admin"])
    assert first["detector"] != first["admin"]
    assert all(len(password) >= 32 for password in first.values())
    assert read_passwords(path, ["detector", "admin"]) == first


def test_a_new_user_gets_one_and_one_that_is_gone_loses_it(tmp_path: Path) -> None:
    path = tmp_path / "passwords.json"
    first = read_passwords(path, ["detector"])
    second = read_passwords(path, ["detector", "admin"])
    assert second["detector"] == first["detector"]
    assert set(read_passwords(path, ["admin"])) == {"admin"}
    assert b"detector" not in path.read_bytes()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"version": 2, "passwords": {}}',
        b'{"version": 1, "passwords": {"detector": "short"}}',
        b'{"version": 1, "passwords": {"detector": 1}}',
        b'{"version": 1, "passwords": {}, "more": 1}',
        b"\xff",
    ],
)
def test_a_file_that_is_not_ours_is_written_anew_and_told(
    content: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "passwords.json"
    path.write_bytes(content)
    path.chmod(0o600)
    assert parse_passwords(content) is None
    passwords = read_passwords(path, ["detector"])
    assert read_passwords(path, ["detector"]) == passwords
    assert [record.message for record in caplog.records] == ["embedded.passwords_renewed"]


def test_passwords_that_others_could_have_read_are_replaced_and_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "passwords.json"
    first = read_passwords(path, ["detector"])
    path.chmod(0o644)
    assert read_passwords(path, ["detector"])["detector"] != first["detector"]
    assert [record.message for record in caplog.records] == ["embedded.passwords_renewed"]
    assert path.stat().st_mode & 0o077 == 0
