"""Damaged programs and libraries through all readings: nothing but answers, the same number of times for everybody."""

from functools import cache

import pytest
from tests.resolver.inspection.instructions.programs import built, needs_gcc
from tests.resolver.inspection.mutations import mutate
from tests.resolver.inspection.real_files import debian
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy import platforms
from nodeworthy.requirements import Inspection
from nodeworthy_resolver.inspection.inspecting import inspect_tree
from nodeworthy_resolver.inspection.legible import make_legible
from nodeworthy_resolver.inspection.limits import InspectingLimits
from nodeworthy_resolver.inspection.subject import ImageConfig
from nodeworthy_resolver.inspection.timing import OutOfTimeError

MODULE = "/usr/lib/python3/dist-packages/module/part.so"


@cache
def musl() -> bytes:
    package = debian(
        "pool/main/m/musl/musl_1.2.3-1_amd64.deb", "4fc1e3d9b579f5c682ca99a4d45aec08d72a2e6b82b4c2e1bbcb7095466ae96d"
    )
    return package["/lib/x86_64-linux-musl/libc.so"]


@cache
def jemalloc() -> bytes:
    package = debian(
        "pool/main/j/jemalloc/libjemalloc2_5.3.0-1_arm64.deb",
        "866eba7688ec5cbb98200a05540c4909df6320557371b634b5d394cd32b9f252",
    )
    return package["/usr/lib/aarch64-linux-gnu/libjemalloc.so.2"]


def inspect_damaged(file: bytes, number: int, platform: str) -> Inspection:
    """An image whose program, preloaded library and extension module are copies that are damaged in three ways."""
    files: dict[str, bytes | str] = {
        "/app": mutate(file, number),
        "/lib/preloaded.so": mutate(file, number + 1_000_000),
        MODULE: mutate(file, number + 2_000_000),
    }
    config = ImageConfig(
        entrypoint=("/app",), environment={"LD_PRELOAD": "/lib/preloaded.so"}, platform=platforms.parse(platform)
    )
    # So long nothing may take; an answer that it took that long shows as unexplored.
    return make_legible(inspect_tree(MemoryTree(files), config, InspectingLimits(seconds=30)))


def check(file: bytes, platform: str, rounds: int) -> None:
    for number in range(rounds):
        found = inspect_damaged(file, number, platform)
        failed = [one for one in found.unexplored if "failed" in one.why or one.why == str(OutOfTimeError())]
        assert not failed, f"number {number}: {failed}"


@needs_gcc
@pytest.mark.parametrize("options", ["-O2", "-O3 -march=x86-64-v3", "-shared -fPIC"])
def test_damaged_programs_are_answered_for(options: str) -> None:
    check(built("directly", options), "linux/amd64", 200)


def test_damaged_libcs_are_answered_for() -> None:
    check(musl(), "linux/amd64", 60)


def test_damaged_libraries_of_arm_are_answered_for() -> None:
    check(jemalloc(), "linux/arm64", 8)


def test_places_beyond_what_an_index_can_be_are_answered_for() -> None:
    """The musl of this number has a segment of Go's header at an offset of 64 bits."""
    found = inspect_damaged(musl(), 98, "linux/amd64")

    assert not [one for one in found.unexplored if "failed" in one.why]
