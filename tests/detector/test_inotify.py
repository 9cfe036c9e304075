import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodeworthy_detector.inotify import Event, Inotify, Mask, parse_events


@pytest.fixture
def inotify() -> Iterator[Inotify]:
    made = Inotify()
    yield made
    made.close()


def test_a_renamed_file_is_two_events_with_its_names(inotify: Inotify, tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    watch = inotify.add(str(tmp_path), Mask.MOVED_FROM | Mask.MOVED_TO)
    (tmp_path / "a").rename(tmp_path / "b")
    assert inotify.read() == (Event(watch, Mask.MOVED_FROM, "a"), Event(watch, Mask.MOVED_TO, "b"))
    assert inotify.read() == ()


def test_a_folder_has_the_same_watch_under_every_name(inotify: Inotify, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").symlink_to("one")
    assert inotify.add(str(tmp_path / "one"), Mask.CREATE) == inotify.add(str(tmp_path / "two"), Mask.CREATE)


def test_what_is_not_there_or_no_folder_is_an_error_of_the_system(inotify: Inotify, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileNotFoundError):
        inotify.add(str(tmp_path / "nothing"), Mask.CREATE)
    with pytest.raises(NotADirectoryError):
        inotify.add(str(tmp_path / "file"), Mask.CREATE)


def test_a_watch_that_is_removed_twice_is_no_error(inotify: Inotify, tmp_path: Path) -> None:
    watch = inotify.add(str(tmp_path), Mask.CREATE)
    inotify.remove(watch)
    inotify.remove(watch)
    (tmp_path / "a").touch()
    assert [event.mask for event in inotify.read()] == [Mask.IGNORED]


def test_names_that_are_no_unicode_are_kept() -> None:
    name = b"caf\xe9".ljust(16, b"\0")
    data = struct.pack("iIII", 7, 0x4000_0100, 0, len(name)) + name + struct.pack("iIII", -1, 0x4000, 0, 0)
    events = list(parse_events(data))
    assert os.fsencode(events[0].name) == b"caf\xe9"
    assert events[0].mask & Mask.CREATE  # beside ISDIR, which has no name here
    assert events[1] == Event(-1, Mask.Q_OVERFLOW, "")
