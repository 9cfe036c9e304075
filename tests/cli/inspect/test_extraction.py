"""Writing out what runs: everything below the folder, nothing beside it."""

from pathlib import Path

import pytest
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy.errors import UsageError
from nodeworthy.requirements import Sureness
from nodeworthy_cli.inspect.extraction import extract
from nodeworthy_resolver.inspection.closure.records import Loaded, Role, Start
from nodeworthy_resolver.inspection.elf import Elf, FileKind

TREE = MemoryTree({"/usr/bin/app": b"program", "/usr/lib/libz.so.1.2.13": b"library"}, modes={"/usr/bin/app": 0o4755})
LIBRARY = Elf(62, "amd64", 64, "<", FileKind.SHARED, 0, 0, 7, soname="libz.so.1")


def start(*paths: str) -> Start:
    return Start(loaded=tuple(Loaded(path, Role.LIBRARY, "", Sureness.CERTAIN) for path in paths))


def test_files_lie_under_their_paths_and_libraries_under_the_names_that_loaders_look_for(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    paths = ["/usr/bin/app", "/usr/lib/libz.so.1.2.13"]
    assert extract(TREE, start(*paths), {"/usr/lib/libz.so.1.2.13": LIBRARY}, folder) == paths
    assert (folder / "usr/bin/app").read_bytes() == b"program"
    assert (folder / "usr/bin/app").stat().st_mode & 0o7777 == 0o755
    assert (folder / "usr/lib/libz.so.1").read_bytes() == b"library"


def test_a_folder_with_something_in_it_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(UsageError, match="not empty"):
        extract(TREE, start("/usr/bin/app"), {}, tmp_path)


def test_a_place_that_cannot_be_written_is_an_error_for_a_person(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        extract(TREE, start("/usr/bin/app"), {}, tmp_path / "file" / "below")
