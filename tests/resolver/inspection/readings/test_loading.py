"""The oldest kernel, where the loader still looks at it."""

import pytest
from tests.resolver.inspection.elves import Made, abi_tag, prepared
from tests.resolver.inspection.nodes import node, outcome
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy.requirements import Sureness
from nodeworthy.rules import Outcome
from nodeworthy_resolver.inspection.readings.loading import read_loading
from nodeworthy_resolver.inspection.subject import ImageConfig
from nodeworthy_resolver.inspection.subject import Outcome as Found

LOADER = "/lib64/ld-linux-x86-64.so.2"
TEXT = b"FATAL: kernel too old\n\0"


def read(*, text: bytes = TEXT, library: bytes = b"", program: bytes = b"", kind: int = 3) -> Found:
    loader = "" if kind == 2 else LOADER
    files: dict[str, bytes | str] = {
        "/app": Made(kind=kind, interpreter=loader, needed=("libqt.so",), notes=program, tail=text).bytes(),
        LOADER: Made(soname="ld-linux-x86-64.so.2", tail=text).bytes(),
        "/lib64/libqt.so": Made(notes=library).bytes(),
    }
    return read_loading(prepared(MemoryTree(files), ImageConfig(("/app",))))


def test_the_tag_of_a_library_is_a_floor_before_glibc_2_36() -> None:
    (requirement,) = read(library=abi_tag(4, 11, 0)).requirements
    assert requirement.sureness is Sureness.CERTAIN
    assert [one.file for one in requirement.evidence] == ["/lib64/libqt.so"]
    kernels = [node({"kernel.version": {"full": version}}) for version in ("3.10.108", "4.11.0", "6.6.51_rpt-rpi-2712")]
    assert [outcome(requirement, one) for one in kernels] == [Outcome.FALSE, Outcome.TRUE, Outcome.TRUE]
    assert outcome(requirement, node({})) is Outcome.UNKNOWN


def test_a_copy_without_the_tag_may_be_found_instead() -> None:
    files: dict[str, bytes | str] = {
        "/app": Made(interpreter=LOADER, needed=("libqt.so",)).bytes(),
        LOADER: Made(soname="ld-linux-x86-64.so.2", tail=TEXT).bytes(),
        "/lib64/libqt.so": Made(notes=abi_tag(4, 11, 0)).bytes(),
        "/opt/qt/libqt.so": Made().bytes(),
    }
    (requirement,) = read_loading(prepared(MemoryTree(files), ImageConfig(("/app",)))).requirements
    assert requirement.sureness is Sureness.PROBABLE


def test_later_loaders_do_not_look() -> None:
    assert read(text=b"", library=abi_tag(9, 9, 9)).requirements == ()


@pytest.mark.parametrize(("version", "count"), [("2.31", 1), ("2.35", 1), ("2.36", 0)])
def test_the_version_of_libc_decides_where_it_is_known(version: str, count: int) -> None:
    banner = f"GNU C Library (Debian) stable release version {version}.\0".encode()
    files: dict[str, bytes | str] = {
        "/app": Made(interpreter=LOADER, needed=("libc.so.6", "libqt.so")).bytes(),
        LOADER: Made(soname="ld-linux-x86-64.so.2").bytes(),
        "/lib64/libc.so.6": Made(soname="libc.so.6", tail=banner).bytes(),
        "/lib64/libqt.so": Made(notes=abi_tag(4, 11, 0)).bytes(),
    }
    found = read_loading(prepared(MemoryTree(files), ImageConfig(("/app",))))
    assert len(found.requirements) == count


@pytest.mark.parametrize("tag", [abi_tag(2, 6, 18), abi_tag(2, 6, 32), b""])
def test_what_every_kernel_with_containers_has_is_not_asked_for(tag: bytes) -> None:
    assert read(library=tag).requirements == ()


def test_the_tag_of_a_program_counts_only_where_it_is_static_and_looks_itself() -> None:
    assert read(program=abi_tag(4, 4, 0)).requirements == ()
    (static,) = read(program=abi_tag(4, 4, 0), kind=2).requirements
    assert static.text == "Linux 4.4.0 or later"
    assert read(text=b"", program=abi_tag(4, 4, 0), kind=2).requirements == ()
