import asyncio
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from nodeworthy_cli.embedded.data_folder import hold_data_folder, parse_pid, read_private, write_private
from nodeworthy_cli.embedded.errors import DataFolderError, DataFolderLockedError


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_a_folder_is_made_for_its_owner_only_and_can_be_held_again(folder: Path) -> None:
    for _ in range(2):
        async with hold_data_folder(folder) as held:
            assert mode_of(folder) == 0o700
            assert (folder / "lock").read_text() == f"{os.getpid()}\n"
            assert held.store == folder / "store"


async def test_a_longer_process_id_of_an_earlier_instance_leaves_nothing_behind(made_folder: Path) -> None:
    (made_folder / "lock").write_text("1234567890\n")
    async with hold_data_folder(made_folder):
        assert parse_pid((made_folder / "lock").read_bytes()) == os.getpid()


async def test_a_folder_that_another_instance_holds_is_told_with_its_process(folder: Path) -> None:
    async with hold_data_folder(folder):
        with pytest.raises(DataFolderLockedError) as caught:
            async with hold_data_folder(folder):
                pytest.fail("it is held twice")
    assert caught.value.pid == os.getpid()
    assert f"process {os.getpid()}" in str(caught.value)
    assert "--data" in caught.value.todo


HOLD = """
import fcntl, os, sys
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(lock, fcntl.LOCK_EX)
os.pwrite(lock, sys.argv[2].encode(), 0)
print("held", flush=True)
sys.stdin.read()
"""


def hold_elsewhere(folder: Path, pid: str) -> subprocess.Popen[str]:
    """A process that holds the lock, with a process id of our choice in it, until its standard input is closed."""
    folder.mkdir(parents=True)
    command = [sys.executable, "-c", HOLD, str(folder / "lock"), pid]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def ended_pid() -> str:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
        return str(process.pid)


async def test_the_server_of_an_instance_that_was_killed_is_waited_for(folder: Path) -> None:
    with hold_elsewhere(folder, ended_pid()) as process:
        entering = asyncio.create_task(enter(folder))
        await asyncio.sleep(0)  # it has found the lock taken now
        assert not entering.done()
        assert process.stdin is not None
        process.stdin.close()
        await entering


async def enter(folder: Path) -> None:
    async with hold_data_folder(folder):
        pass


async def test_a_lock_whose_owner_has_not_written_its_process_yet_is_told_too(folder: Path) -> None:
    with hold_elsewhere(folder, "") as process:
        with pytest.raises(DataFolderLockedError, match="another process"):
            await enter(folder)
        process.communicate()


async def test_a_folder_that_cannot_be_made_is_told_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataFolderError, match="file/data cannot be used: Not a directory") as caught:
        await enter(tmp_path / "file" / "data")
    assert "--data" in caught.value.todo


async def test_a_folder_where_nothing_can_be_written_is_told() -> None:
    with pytest.raises(DataFolderError, match="/proc/self/nodeworthy cannot be used"):
        await enter(Path("/proc/self/nodeworthy"))  # for root as well


async def test_a_folder_of_somebody_else_is_refused(monkeypatch: pytest.MonkeyPatch, made_folder: Path) -> None:
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)  # only root could give a folder away
    with pytest.raises(DataFolderError, match=rf"belongs to another user \(uid {owner}\)"):
        await enter(made_folder)


async def test_a_lock_file_that_leads_elsewhere_is_refused(made_folder: Path, tmp_path: Path) -> None:
    (made_folder / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataFolderError):
        await enter(made_folder)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(("content", "pid"), [(b"123\n", 123), (b"", None), (b"garbage", None), (b"-1", None)])
def test_a_process_id_is_read_from_a_lock(content: bytes, pid: int | None) -> None:
    assert parse_pid(content) == pid


def test_a_private_file_is_written_whole_and_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content in (b"one", b"two"):
        write_private(path, content)
        assert read_private(path) == content
    assert mode_of(path) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_file_that_cannot_be_written_is_told_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(DataFolderError, match="file: Is a directory"):
        write_private(tmp_path / "file", b"content")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_what_others_could_have_read_counts_as_absent(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert read_private(path) is None
    path.write_bytes(b"content")
    path.chmod(0o640)
    assert read_private(path) is None


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(DataFolderError, match="link: "):
        read_private(tmp_path / "link")
