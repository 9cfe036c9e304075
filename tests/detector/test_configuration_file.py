import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nodeworthy.errors import DocumentError, UsageError
from nodeworthy_detector import configuration_file
from nodeworthy_detector.configuration import Configuration
from nodeworthy_detector.configuration_file import ConfigurationFile, run_reader

SECONDS = 20


class Followed:
    """A file that is followed, and a count of what it said."""

    def __init__(self, file: ConfigurationFile) -> None:
        self.file = file
        self.news: asyncio.Queue[Configuration] = asyncio.Queue()

    async def hear(self) -> None:
        self.news.put_nowait(self.file.current)

    async def next(self) -> Configuration:
        async with asyncio.timeout(SECONDS):
            return await self.news.get()


@contextlib.asynccontextmanager
async def following(path: Path, *, is_required: bool = True) -> AsyncIterator[Followed]:
    file = ConfigurationFile(path, is_required=is_required)
    await file.load()
    followed = Followed(file)
    task = asyncio.create_task(file.follow(followed.hear))
    try:
        yield followed
    finally:
        task.cancel()
        await asyncio.wait({task})
    assert task.cancelled()


def replace(path: Path, text: str) -> None:
    """Write a file as careful programs do."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)


async def test_a_file_that_need_not_be_there_and_is_not_is_the_default(tmp_path: Path) -> None:
    assert await ConfigurationFile(tmp_path / "a/b.yaml", is_required=False).load() == Configuration()


async def test_a_file_that_was_named_and_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the configuration cannot be read: .*b.yaml is not there"):
        await ConfigurationFile(tmp_path / "b.yaml", is_required=True).load()


async def test_what_is_no_file_that_can_be_read_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "large").write_bytes(b"#" * (configuration_file.MAX_BYTES + 1))
    (tmp_path / "loop").symlink_to("loop")
    for name, why in (
        ("fifo", "no regular file"),
        (".", "no regular file"),
        ("large", "more than"),
        ("loop", "too many"),
    ):
        with pytest.raises(UsageError, match=why):
            await ConfigurationFile(tmp_path / name, is_required=False).load()


async def test_a_file_that_is_wrong_names_file_line_and_path(tmp_path: Path) -> None:
    path = tmp_path / "detector.yaml"
    path.write_text("sources:\n  pcii: {}\n")
    with pytest.raises(DocumentError) as caught:
        await ConfigurationFile(path, is_required=True).load()
    assert str(caught.value.problems[0]) == (f"{path}:2: sources.pcii: nobody reads this field (did you mean pci?)")


async def test_a_change_is_followed_and_one_that_is_wrong_leaves_the_old_one_in_force(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "detector.yaml"
    path.write_text("sources: {cpu: {interval: 1m}}")
    with caplog.at_level(logging.INFO):
        async with following(path) as followed:
            replace(path, "sources: {cpu: {interval: 2m}}")
            assert (await followed.next()).intervals == {"cpu": 120.0}
            replace(path, "sources: {cpu: {interval: never}}")
            assert (await followed.next()).intervals == {"cpu": 120.0}
            assert "sources.cpu.interval" in followed.file.problem
            path.unlink()
            assert (await followed.next()).intervals == {"cpu": 120.0}
            assert "is not there" in followed.file.problem
            replace(path, "sources: {cpu: {interval: 2m}}")
            assert (await followed.next()).intervals == {"cpu": 120.0}
            assert followed.file.problem == ""
    assert [message for message in caplog.messages if message.startswith("detector.configuration")] == [
        "detector.configuration_changed",
        "detector.configuration_refused",
        "detector.configuration_refused",
        "detector.configuration_works",
    ]


async def test_a_configmap_that_is_swapped_is_followed(tmp_path: Path) -> None:
    for version, minutes in (("..1", 1), ("..2", 2)):
        (tmp_path / version).mkdir()
        (tmp_path / version / "detector.yaml").write_text(f"sources: {{cpu: {{interval: {minutes}m}}}}")
    (tmp_path / "..data").symlink_to("..1")
    (tmp_path / "detector.yaml").symlink_to("..data/detector.yaml")
    async with following(tmp_path / "detector.yaml") as followed:
        (tmp_path / "..data_tmp").symlink_to("..2")
        (tmp_path / "..data_tmp").rename(tmp_path / "..data")
        assert (await followed.next()).intervals == {"cpu": 120.0}


async def test_a_file_that_comes_later_and_goes_is_followed_where_it_need_not_be_there(tmp_path: Path) -> None:
    path = tmp_path / "later/detector.yaml"
    async with following(path, is_required=False) as followed:
        path.parent.mkdir()
        replace(path, "sources: {cpu: {interval: 1m}}")
        assert (await followed.next()).intervals == {"cpu": 60.0}
        path.unlink()
        assert await followed.next() == Configuration()


async def test_a_change_that_says_the_same_is_no_news(tmp_path: Path) -> None:
    path = tmp_path / "detector.yaml"
    path.write_text("sources: {cpu: {interval: 1m}}")
    async with following(path) as followed:
        replace(path, "# the same\nsources: {cpu: {interval: 60s}}")
        replace(path, "sources: {cpu: {interval: 3m}}")
        assert (await followed.next()).intervals == {"cpu": 180.0}
        assert followed.news.empty()


async def test_a_reader_that_dies_or_cannot_be_started_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configuration_file, "_READER", "nodeworthy_detector.no_such_module")
    with pytest.raises(UsageError, match=r"its reader failed: .*no_such_module"):
        await run_reader(b"", "x")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(UsageError, match="cannot be started"):
        await run_reader(b"", "x")


async def test_a_reader_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(configuration_file, "_READER_SECONDS", 0.2)
    with pytest.raises(UsageError, match=r"took 0\.2 s"):
        await run_reader(b"", "x")
