import asyncio
import logging
import os
import resource
import shutil
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from nodeworthy_detector.folder_watch import FolderWatch, WatchedSource
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import LocalSource

FOLDER = "etc/kubernetes/features.d"


@dataclass
class Watched:
    """A watched folder below a root, and a count of the notices."""

    root: Path
    watch: FolderWatch
    noticed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def folder(self) -> Path:
        return self.root / FOLDER

    async def notices(self, change: Callable[[], object]) -> bool:
        """Whether a change is noticed; the watch is then renewed, as a pass over the sources does."""
        self.noticed.clear()
        change()
        try:
            async with asyncio.timeout(2):
                await self.noticed.wait()
        except TimeoutError:
            return False
        self.watch.arm(FOLDER)
        return True

    async def ignores(self, change: Callable[[], object]) -> bool:
        """Whether a change is not noticed."""
        self.noticed.clear()
        change()
        await asyncio.sleep(0)  # the loop hands over what the kernel has ready
        await asyncio.sleep(0)
        return not self.noticed.is_set()


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncIterator[Watched]:
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    made = make(tmp_path)
    yield made
    made.watch.close()


def make(root: Path) -> Watched:
    def notice(folder: str) -> None:
        assert folder == FOLDER
        made.noticed.set()

    made = Watched(root, FolderWatch(Host(root), notice))
    made.watch.open()
    made.watch.arm(FOLDER)
    return made


def max_queued_events() -> int:
    return int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())


def swap(link: Path, target: str) -> None:
    """Replace a symbolic link as a kubelet does."""
    new = link.with_name("..data_tmp")
    new.symlink_to(target)
    new.rename(link)


async def test_files_that_are_written_renamed_allowed_and_removed_are_noticed(watched: Watched) -> None:
    folder = watched.folder
    assert await watched.notices(lambda: (folder / "a").write_text("x"))
    (watched.root / "b").write_text("y")
    assert await watched.notices(lambda: (watched.root / "b").rename(folder / "b"))
    assert await watched.notices(lambda: (folder / "b").chmod(0o600))
    assert await watched.notices(lambda: (folder / "b").rename(watched.root / "c"))
    assert await watched.notices((folder / "a").unlink)
    assert watched.watch.problem(FOLDER) == ""


async def test_a_swapped_link_inside_the_folder_is_noticed(watched: Watched) -> None:
    for version in ("..1", "..2"):
        (watched.folder / version).mkdir()
    assert await watched.notices(lambda: (watched.folder / "..data").symlink_to("..1"))
    assert await watched.notices(lambda: swap(watched.folder / "..data", "..2"))


async def test_a_folder_that_is_itself_reached_through_a_link_is_found_after_the_swap(tmp_path: Path) -> None:
    for version in ("one", "two"):
        (tmp_path / "var" / version).mkdir(parents=True)
    (tmp_path / FOLDER).parent.mkdir(parents=True)
    (tmp_path / FOLDER).symlink_to("/var/one")  # absolute, below the host root
    watched = make(tmp_path)
    try:
        assert await watched.notices((tmp_path / "var/one/a").touch)
        assert await watched.notices(lambda: swap(watched.folder, "/var/two"))
        assert await watched.notices((tmp_path / "var/two/a").touch)
    finally:
        watched.watch.close()


async def test_a_folder_that_is_made_later_is_noticed_at_each_step(tmp_path: Path) -> None:
    watched = make(tmp_path)
    try:
        assert watched.watch.problem(FOLDER) == ""
        for folder in ("etc", "etc/kubernetes", FOLDER):
            assert await watched.notices((tmp_path / folder).mkdir)
        assert await watched.notices((watched.folder / "a").touch)
    finally:
        watched.watch.close()


async def test_a_folder_that_is_removed_and_made_again_is_noticed(watched: Watched) -> None:
    assert await watched.notices(lambda: shutil.rmtree(watched.root / "etc"))
    assert await watched.notices(lambda: watched.folder.mkdir(parents=True))
    assert await watched.notices((watched.folder / "a").touch)


async def test_a_folder_that_is_replaced_by_another_is_noticed(watched: Watched) -> None:
    (watched.root / "new").mkdir()
    assert await watched.notices(lambda: watched.folder.rename(watched.root / "old"))
    assert await watched.notices(lambda: (watched.root / "new").rename(watched.folder))
    assert await watched.notices((watched.folder / "a").touch)
    assert await watched.ignores((watched.root / "old/a").touch)


async def test_neighbours_on_the_way_are_of_no_interest(watched: Watched) -> None:
    assert await watched.ignores(lambda: (watched.root / "etc/passwd").write_text("x"))
    assert await watched.ignores((watched.root / "etc/kubernetes/features").mkdir)


async def test_lost_events_are_a_change_and_are_logged(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    limit = max_queued_events()
    names = (watched.folder / "a", watched.folder / "b")
    names[0].touch()

    def overflow() -> None:
        for _ in range(limit // 4 + 1):  # each renames there and back: four events
            names[0].rename(names[1])
            names[1].rename(names[0])

    with caplog.at_level(logging.WARNING):
        assert await watched.notices(overflow)
        while await watched.notices(lambda: None) and "detector.folder_events_lost" not in caplog.messages:
            pass
    assert "detector.folder_events_lost" in caplog.messages
    assert await watched.notices((watched.folder / "c").touch)


async def test_without_inotify_the_log_says_so_once_and_the_source_still_reads(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "etc").mkdir()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)  # the next free descriptor; a limit below it lets the kernel refuse one more
    os.close(lowest)
    with caplog.at_level(logging.WARNING):
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
        try:
            watched = make(tmp_path)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert caplog.messages == ["detector.folders_not_watched"]
    assert watched.watch.problem(FOLDER) == "inotify: Too many open files"
    source = WatchedSource(LocalSource(), watched.watch, FOLDER)
    assert source.read(Host(tmp_path)) == LocalSource().read(Host(tmp_path))
    watched.watch.close()


async def test_a_folder_that_may_not_be_watched_is_logged_once_and_forgotten_when_it_may(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    loop = watched.folder.parent / "loop"
    loop.symlink_to("loop")
    folder = "etc/kubernetes/loop/features.d"
    watch = FolderWatch(Host(watched.root), lambda _folder: None)
    watch.open()
    try:
        with caplog.at_level(logging.WARNING):
            watch.arm(folder)
            watch.arm(folder)
        assert caplog.messages == ["detector.folder_not_watched"]
        assert "too many" in watch.problem(folder)
        loop.unlink()
        (loop / "features.d").mkdir(parents=True)
        watch.arm(folder)
        assert watch.problem(folder) == ""
    finally:
        watch.close()


def test_a_watched_source_has_the_names_of_its_source(tmp_path: Path) -> None:
    source = WatchedSource(LocalSource(), FolderWatch(Host(tmp_path), lambda _folder: None), FOLDER)
    assert (source.name, source.sets) == ("local", ("local.feature", "local.label"))


@dataclass
class Many:
    """Several folders below one root, watched by one instance."""

    root: Path
    heard: "asyncio.Queue[str]" = field(default_factory=asyncio.Queue)

    def __post_init__(self) -> None:
        self.watch = FolderWatch(Host(self.root), self.heard.put_nowait)
        self.watch.open()

    async def hears(self, change: Callable[[], object], *folders: str) -> bool:
        """Whether a change is told of exactly these folders; then the watches are renewed."""
        while not self.heard.empty():
            self.heard.get_nowait()
        change()
        told: set[str] = set()
        async with asyncio.timeout(2):
            while told < set(folders):
                told.add(await self.heard.get())
        await asyncio.sleep(0)  # the loop hands over what the kernel has ready
        while not self.heard.empty():
            told.add(self.heard.get_nowait())
        return told == set(folders)


@pytest.fixture
async def many(tmp_path: Path) -> AsyncIterator[Many]:
    made = Many(tmp_path)
    yield made
    made.watch.close()


async def test_of_several_folders_the_one_that_changed_is_told(many: Many) -> None:
    for folder in ("etc/a", "etc/b"):
        (many.root / folder).mkdir(parents=True)
    for folder in ("etc/a", "etc/b"):
        many.watch.arm(folder)
    assert await many.hears((many.root / "etc/a/x").touch, "etc/a")
    assert await many.hears((many.root / "etc/b/x").touch, "etc/b")
    assert await many.hears(lambda: (many.root / "etc").rename(many.root / "old"), "etc/a", "etc/b")


async def test_a_folder_inside_another_is_watched_beside_it(many: Many) -> None:
    (many.root / "etc/a").mkdir(parents=True)
    for folder in ("etc", "etc/a"):
        many.watch.arm(folder)
    assert await many.hears((many.root / "etc/x").touch, "etc")
    many.watch.forget("etc")
    assert await many.hears((many.root / "etc/a/x").touch, "etc/a")
    assert many.watch.problem("etc") == "it is not watched yet"


async def test_folders_in_a_deep_folder_are_watched_also_those_that_come_later(many: Many) -> None:
    (many.root / "custom.d/one").mkdir(parents=True)
    many.watch.arm("custom.d", is_deep=True)
    assert await many.hears((many.root / "custom.d/one/x").touch, "custom.d")
    assert await many.hears((many.root / "custom.d/two").mkdir, "custom.d")
    many.watch.arm("custom.d", is_deep=True)
    assert await many.hears((many.root / "custom.d/two/x").touch, "custom.d")


async def test_a_folder_that_is_forgotten_is_heard_no_more(many: Many) -> None:
    for folder in ("a", "b"):
        (many.root / folder).mkdir()
        many.watch.arm(folder)
    many.watch.forget("a")
    (many.root / "a/x").touch()
    assert await many.hears((many.root / "b/x").touch, "b")
