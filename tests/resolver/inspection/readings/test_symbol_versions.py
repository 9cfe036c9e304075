"""Versions of symbols that files beside the start need."""

from tests.resolver.inspection.elves import Made, prepared
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy.requirements import Sureness
from nodeworthy_resolver.inspection.readings.symbol_versions import read_symbol_versions
from nodeworthy_resolver.inspection.subject import ImageConfig
from nodeworthy_resolver.inspection.subject import Outcome as Found

LIBC = Made(soname="libc.so.6", defines=("GLIBC_2.2.5", "GLIBC_2.31")).bytes()


def read(files: dict[str, bytes | str]) -> Found:
    return read_symbol_versions(prepared(MemoryTree(files), ImageConfig(("/app",))))


def needing(*versions: str, machine: int = 62) -> bytes:
    return Made(machine=machine, needs={"libc.so.6": versions}).bytes()


def test_a_version_that_no_library_of_the_image_has_is_a_probable_defect() -> None:
    (defect,) = read({"/lib/libc.so.6": LIBC, "/opt/tool": needing("GLIBC_2.31", "GLIBC_2.33", "GLIBC_2.34")}).defects
    assert (defect.code, defect.sureness) == ("symbol-version-missing", Sureness.PROBABLE)
    assert "GLIBC_2.34" in defect.text
    assert "GLIBC_2.31" in defect.text


def test_a_file_that_cannot_be_used_leaves_open_whether_it_is() -> None:
    (doubt,) = read({"/lib/libc.so.6": LIBC, "/opt/tool": needing("GLIBC_2.34")}).unexplored
    assert (doubt.decides, "/opt/tool" in doubt.why) == (True, True)


def test_what_is_defined_weak_of_another_machine_or_not_in_the_image_is_no_defect() -> None:
    files: dict[str, bytes | str] = {"/lib/libc.so.6": LIBC, "/opt/tool": needing("GLIBC_2.31", "?GLIBC_2.99")}
    assert read(files).defects == ()
    assert read({"/lib/libc.so.6": LIBC, "/opt/tool": needing("GLIBC_2.99", machine=183)}).defects == ()
    assert read({"/opt/tool": needing("GLIBC_2.99")}).defects == ()


def test_a_second_library_of_the_name_may_have_it() -> None:
    newer = Made(soname="libc.so.6", defines=("GLIBC_2.34",)).bytes()
    files: dict[str, bytes | str] = {"/lib/libc.so.6": LIBC, "/opt/libc.so.6": newer, "/opt/t": needing("GLIBC_2.34")}
    assert read(files).defects == ()


def test_of_many_files_some_are_told() -> None:
    files: dict[str, bytes | str] = {f"/opt/tool{number}": needing("GLIBC_2.99") for number in range(50)}
    assert len(read({"/lib/libc.so.6": LIBC, **files}).defects) == 20
