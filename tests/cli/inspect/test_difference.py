"""What changed between two images."""

import pytest

from nodeworthy.requirements import Defect, Effect, Inspection, Layer, Library, Requirement, Software, Sureness
from nodeworthy_cli.inspect.difference import Changes, compare, print_difference

LEVEL = Requirement("level", "x86-64-v3", Layer.INSTRUCTION_SET, Effect.CRASHES, Sureness.CERTAIN)
OLD = Inspection(
    1,
    software=(Software("numpy", "2.3.5", "wheel"), Software("gone", "1", "deb")),
    libraries=(Library("/lib/libc.so.6", "amd64", version="6", symbol_versions=("ld-linux.so.2 GLIBC_2.3",)),),
)
NEW = Inspection(
    1,
    requirements=(LEVEL,),
    defects=(Defect("missing", "libz.so.1 is missing", Effect.DOES_NOT_START, Sureness.CERTAIN),),
    software=(Software("numpy", "2.4.0", "wheel"),),
    libraries=(Library("/lib/libc.so.6", "amd64", version="6", symbol_versions=("ld-linux.so.2 GLIBC_2.34",)),),
)


def test_what_came_went_and_changed_is_told_by_kind(capsys: pytest.CaptureFixture[str]) -> None:
    found = compare(("app:1", "app:2"), OLD, NEW)
    assert found.requirements == Changes(added=("x86-64-v3 certain",))
    assert found.defects == Changes(added=("libz.so.1 is missing certain",))
    assert found.software == Changes(removed=("deb gone 1",), changed=(("wheel numpy", "2.3.5", "2.4.0"),))
    assert found.libraries.changed == (("/lib/libc.so.6", "6 ld-linux.so.2 GLIBC_2.3", "6 ld-linux.so.2 GLIBC_2.34"),)
    print_difference(found)
    told = capsys.readouterr().out
    assert "  + x86-64-v3 certain\n" in told
    assert "  ~ wheel numpy: 2.3.5 -> 2.4.0\n" in told


def test_two_images_that_are_alike_have_no_difference(capsys: pytest.CaptureFixture[str]) -> None:
    found = compare(("app:1", "app:1"), NEW, NEW)
    assert found.is_empty
    print_difference(found)
    assert "no difference" in capsys.readouterr().out
