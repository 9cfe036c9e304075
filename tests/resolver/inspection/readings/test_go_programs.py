"""Go programs and what their build has left in them."""

import struct
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.resolver.inspection.elves import Made, prepared
from tests.resolver.inspection.nodes import machine, node, outcome
from tests.resolver.inspection.readings.sections import with_sections
from tests.resolver.inspection.readings.test_libcs import SSE2, V3
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy.features import FeatureSet
from nodeworthy.requirements import Effect, Sureness
from nodeworthy.rules import Outcome
from nodeworthy_resolver.inspection.elf import read_elf
from nodeworthy_resolver.inspection.readings.go_programs import parse_go_program, read_go_programs
from nodeworthy_resolver.inspection.subject import ImageConfig
from nodeworthy_resolver.inspection.subject import Outcome as Found

FRAME = bytes(16)


def build_info(*settings: str, version: str = "go1.22.3") -> bytes:
    """What Go since 1.18 writes into the section."""
    listing = "path\texample.com/tool\nmod\texample.com/tool\tv1.2.0\n" + "".join(f"build\t{one}\n" for one in settings)
    texts = version.encode(), FRAME + listing.encode() + FRAME
    return b"\xff Go buildinf:\x08\x02" + bytes(16) + b"".join(bytes(_varint(len(text))) + text for text in texts)


def _varint(number: int) -> list[int]:
    return [number & 0x7F | 0x80, number >> 7] if number > 0x7F else [number]


def program(*settings: str, machine_number: int = 62) -> bytes:
    return with_sections(Made(kind=2, machine=machine_number), {".go.buildinfo": build_info(*settings)})


def read(content: bytes, *, starts: bool = True) -> Found:
    files: dict[str, bytes | str] = {"/app": content, "/other": Made(kind=2).bytes()}
    return read_go_programs(prepared(MemoryTree(files), ImageConfig(("/app" if starts else "/other",))))


def test_a_level_that_go_s_own_start_tests_is_certain() -> None:
    (requirement,) = read(program("GOARCH=amd64", "GOAMD64=v3")).requirements
    assert (requirement.sureness, requirement.effect) == (Sureness.CERTAIN, Effect.DOES_NOT_START)
    assert outcome(requirement, node({}, cpu_cpuid=V3)) is Outcome.TRUE
    assert outcome(requirement, node({}, cpu_cpuid=SSE2)) is Outcome.FALSE
    assert requirement.evidence[0].seen == "GOAMD64=v3"


def test_a_program_that_does_not_start_is_advice() -> None:
    (requirement,) = read(program("GOARCH=amd64", "GOAMD64=v3"), starts=False).requirements
    assert requirement.sureness is Sureness.ADVISORY


@pytest.mark.parametrize(
    "settings", [("GOARCH=amd64", "GOAMD64=v1"), ("GOARCH=amd64",), (), ("GOARCH=arm64", "GOARM64=v8.0")]
)
def test_the_lowest_level_asks_for_nothing(settings: tuple[str, ...]) -> None:
    found = read(program(*settings))
    assert found.requirements == ()
    assert [(one.name, one.version) for one in found.software] == [("example.com/tool", "v1.2.0")]


@pytest.mark.parametrize("value", ["v8.1", "v9.0", "v8.0,lse", "v8.0,crypto,lse"])
def test_arm64_from_8_1_on_needs_atomics(value: str) -> None:
    (requirement,) = read(program("GOARCH=arm64", f"GOARM64={value}", machine_number=183)).requirements
    assert requirement.sureness is Sureness.CERTAIN
    assert outcome(requirement, node({}, cpu_hwcap=FeatureSet(flags=frozenset({"atomics"})))) is Outcome.TRUE
    without = FeatureSet(flags=frozenset({"fp", "asimd"}))
    assert outcome(requirement, node({}, cpu_hwcap=without, cpu_cpuid=without)) is Outcome.FALSE


def test_goarm_7_does_not_run_on_armv6() -> None:
    (requirement,) = read(program("GOARCH=arm", "GOARM=7")).requirements
    assert outcome(requirement, machine("arm", "armv6l")) is Outcome.FALSE
    assert outcome(requirement, machine("arm64", "aarch64")) is Outcome.TRUE


def test_goppc64_is_only_probable_because_nothing_tests_it() -> None:
    (requirement,) = read(program("GOARCH=ppc64le", "GOPPC64=power9")).requirements
    assert (requirement.sureness, requirement.effect) == (Sureness.PROBABLE, Effect.CRASHES)


def test_options_for_the_c_code_of_a_program_are_probable() -> None:
    flags = '"CGO_CFLAGS=-O3 -march=haswell"'
    (requirement,) = read(program("GOARCH=amd64", "GOAMD64=v1", flags)).requirements
    assert (requirement.code, requirement.sureness) == ("x86-64-level", Sureness.PROBABLE)
    assert outcome(requirement, node({}, cpu_cpuid=SSE2)) is Outcome.FALSE
    assert not read(program("GOARCH=amd64", "CGO_CFLAGS=-O2 -g -march=x86-64")).requirements


def test_before_go_1_18_the_header_points_to_its_texts() -> None:
    texts = b"go1.17.5", FRAME + b"path\tx\nmod\tx\tv0.1.0\n" + FRAME
    made = Made(kind=2)
    start = len(Made(kind=2, tail=b"\0" * 8).bytes()) - 8
    pad = -start % 16
    # The file is mapped from address 0 on, so that offsets are addresses.
    header_at = start + pad
    strings_at = header_at + 32
    texts_at = strings_at + 32
    header = b"\xff Go buildinf:\x08\x00" + struct.pack("<QQ", strings_at, strings_at + 16)
    strings = struct.pack("<QQQQ", texts_at, len(texts[0]), texts_at + len(texts[0]), len(texts[1]))
    data = Made(kind=made.kind, tail=bytes(pad) + header + strings + b"".join(texts)).bytes()
    elf = read_elf(data)
    assert elf is not None
    found = parse_go_program(elf, memoryview(data))
    assert found is not None
    assert (found.version, found.build.module, found.build.version) == ("go1.17.5", "x", "v0.1.0")


def test_a_real_program_is_read() -> None:
    path = Path(sysconfig.get_path("scripts")) / "nats-server"
    data = path.read_bytes()
    elf = read_elf(data)
    assert elf is not None
    found = parse_go_program(elf, memoryview(data))
    assert found is not None
    assert found.build.module == "github.com/nats-io/nats-server/v2"
    assert found.build.settings["GOARCH"] == elf.architecture


@given(st.binary(max_size=300))
def test_damaged_build_information_is_none_or_a_version(tail: bytes) -> None:
    data = with_sections(Made(kind=2), {".go.buildinfo": b"\xff Go buildinf:" + tail})
    elf = read_elf(data)
    assert elf is not None
    found = parse_go_program(elf, memoryview(data))
    assert found is None or found.version.startswith(("go", "devel "))
