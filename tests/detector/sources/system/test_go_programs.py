import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.formats.go_builds import MAGIC, parse_list, read_texts
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.system.go_programs import parse_go_version, read_go_version

Plant = Callable[[Mapping[str, str | bytes]], Host]

RUNC = (
    "path\tgithub.com/opencontainers/runc\n"
    "mod\tgithub.com/opencontainers/runc\t(devel)\t\n"
    "dep\tgithub.com/moby/sys/mountinfo\tv0.5.0\th1:2Ks8=\n"
    'build\t-ldflags="-X main.gitCommit=v1.1.12-0-g51d5e946 -X main.version=1.1.12"\n'
)


@pytest.mark.parametrize(
    ("info", "version"),
    [
        (RUNC, "1.1.12"),
        ("mod\tgithub.com/containerd/containerd/v2\tv2.0.2\t\n", "2.0.2"),
        ("mod\tgithub.com/containers/podman/v5\t(devel)\t\nbuild\t-trimpath=true\n", None),
        ("mod\texample.com/x\tv0.0.0-20240102030405-abcdefabcdef\t\n", None),
        ("mod\texample.com/x\tv1.2.4-0.20240102030405-abcdefabcdef\t\n", None),
        ("build\t-ldflags=\"-w -X 'github.com/docker/docker/dockerversion.Version=24.0.5' -s\"\n", "24.0.5"),
        ("build\t-ldflags=-X=github.com/NVIDIA/nvidia-container-toolkit/internal/info.version=1.14.6\n", "1.14.6"),
        ("build\t-ldflags=-X=main.apiversion=1.41\n", None),
        ("dep\tgithub.com/opencontainers/runc\tv1.1.12\th1:x\n", None),
    ],
)
def test_the_version_is_what_the_linker_was_told_or_the_modules_tag(
    info: str, version: str | None, make_build_info: Callable[[str], bytes]
) -> None:
    assert parse_go_version(make_build_info(info)) == version


def test_a_program_tells_its_version_without_being_run(plant: Plant, make_go_program: Callable[[str], bytes]) -> None:
    host = plant({"usr/bin/runc": make_go_program(RUNC + "dep\tx\tv1\n" * 4000)})
    assert read_go_version(host, "usr/bin/runc") == "1.1.12"


def test_a_real_program_tells_what_it_says_of_itself_when_it_is_run() -> None:
    program = Path(sys.executable).with_name("nats-server")
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    assert f"v{read_go_version(Host(Path('/')), str(program))}" == said.split()[-1]


def test_a_program_of_another_language_tells_none(plant: Plant, make_elf: Callable[..., bytes]) -> None:
    host = plant({"usr/bin/crun": make_elf({".text": b"code"})})
    assert read_go_version(host, "usr/bin/crun") is None


def test_pointers_of_older_builds_are_not_followed(make_build_info: Callable[[str], bytes]) -> None:
    data = bytearray(make_build_info(RUNC))
    assert parse_list(read_texts(bytes(data))[1]).dependencies == {"github.com/moby/sys/mountinfo": "v0.5.0"}
    assert parse_go_version(bytes(data)) == "1.1.12"
    data[15] = 0
    assert parse_go_version(bytes(data)) is None


@given(data=st.binary(max_size=100), info=st.text())
def test_any_bytes_are_read(make_build_info: Callable[[str], bytes], data: bytes, info: str) -> None:
    assert parse_go_version(data) is None
    assert parse_go_version(MAGIC + b"\x08\x02" + data) is None
    parse_go_version(make_build_info(info))
    parse_go_version(make_build_info("build\t-ldflags=" + info))
