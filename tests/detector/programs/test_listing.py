import os
from pathlib import Path

import pytest
from tests.detector.programs.conftest import Write

from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.programs.listing import MAX_PROGRAMS, ProgramFile, list_programs
from nodeworthy_detector.programs.settings import FOLDER
from nodeworthy_detector.sources.reading import Faults


def look(root: Path) -> tuple[tuple[ProgramFile, ...], tuple[str, ...]]:
    faults = Faults()
    return list_programs(Host(root), FOLDER, faults), faults.listed()


def test_executable_files_are_programs_under_their_names_up_to_the_first_dot(write: Write, tmp_path: Path) -> None:
    write("B_card.py", "")
    path = write("custom-avx512", "")
    (found, faults) = look(tmp_path)
    assert [(file.name, file.file, file.set_name) for file in found] == [
        ("b_card", "B_card.py", "programs.b_card"),
        ("custom-avx512", "custom-avx512", "programs.custom-avx512"),
    ]
    assert found[1].path == str(path)
    assert faults == ()


def test_a_link_of_a_config_map_is_a_program(write: Write, tmp_path: Path) -> None:
    path = write("..2026_01_01", "")
    (path.parent / "rack.sh").symlink_to("..2026_01_01")
    assert [file.file for file in look(tmp_path)[0]] == ["rack.sh"]


def test_other_files_are_faults_and_folders_and_hidden_files_are_passed_over(write: Write, tmp_path: Path) -> None:
    folder = write("good", "").parent
    (folder / "README").write_text("for people")
    (folder / "dangling").symlink_to("nowhere")
    os.mkfifo(folder / "fifo", 0o777)
    (folder / "folder").mkdir()
    write(".hidden", "")
    found, faults = look(tmp_path)
    assert [file.file for file in found] == ["good"]
    assert [fault.removeprefix(f"{FOLDER}/") for fault in faults] == [
        "README has no right to be executed; it does not run",
        "dangling leads nowhere: No such file or directory",
        "fifo is no regular file; it does not run",
    ]


@pytest.mark.parametrize("name", ["label", "Label.sh", "a b", "\u00e4", "-x", "x" * 64])
def test_a_name_that_makes_no_name_of_a_set_is_a_fault(write: Write, tmp_path: Path, name: str) -> None:
    write(name, "")
    found, faults = look(tmp_path)
    assert found == ()
    assert "its name up to the first dot" in faults[0]


def test_of_two_files_under_one_name_the_first_runs(write: Write, tmp_path: Path) -> None:
    write("rack.sh", "")
    write("rack.sh~", "")
    found, faults = look(tmp_path)
    assert [file.file for file in found] == ["rack.sh"]
    assert faults == (f"{FOLDER}/rack.sh~: rack.sh has the same name up to the first dot; it does not run",)


def test_what_everybody_may_write_does_not_run(write: Write, tmp_path: Path) -> None:
    path = write("a", "")
    path.chmod(0o757)
    assert "may be written by everybody" in look(tmp_path)[0][0].problem
    path.chmod(0o755)
    assert look(tmp_path)[0][0].problem == ""
    path.parent.chmod(0o757)
    assert "the folder may be written by everybody" in look(tmp_path)[0][0].problem


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_what_belongs_to_somebody_else_does_not_run(write: Write, tmp_path: Path) -> None:
    os.chown(write("a", ""), 12_345, 0)
    assert "belongs to user 12345" in look(tmp_path)[0][0].problem


def test_another_content_has_another_stamp(write: Write, tmp_path: Path) -> None:
    write("a", "echo x=1")
    before = look(tmp_path)[0][0]
    assert look(tmp_path)[0][0] == before
    write("a", "echo x=2")
    assert look(tmp_path)[0][0] != before


def test_more_programs_than_the_limit_are_faults(write: Write, tmp_path: Path) -> None:
    for number in range(MAX_PROGRAMS + 1):
        write(f"p{number:03}", "")
    found, faults = look(tmp_path)
    assert len(found) == MAX_PROGRAMS
    assert faults == (f"{FOLDER}/p064: only the first 64 programs run; it does not run",)


def test_without_the_folder_there_are_no_programs_and_without_etc_nobody_knows(tmp_path: Path) -> None:
    with pytest.raises(HostReadError):
        look(tmp_path)
    (tmp_path / "etc").mkdir()
    assert look(tmp_path) == ((), ())
