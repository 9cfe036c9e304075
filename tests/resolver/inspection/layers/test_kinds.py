import pytest

from nodeworthy_resolver.inspection.layers.kinds import HEAD, kept_bytes

TEXT = b"some text"


@pytest.mark.parametrize(
    "path",
    [
        "/etc/os-release",
        "/usr/lib/os-release",
        "/etc/debian_version",
        "/etc/alpine-release",
        "/etc/ld.so.conf",
        "/etc/ld.so.conf.d/cuda.conf",
        "/etc/ld.so.cache",
        "/etc/ld.so.preload",
        "/etc/ld-musl-x86_64.path",
        "/var/lib/dpkg/status",
        "/var/lib/dpkg/status.d/libc6",
        "/var/lib/dpkg/info/libc6:amd64.list",
        "/lib/apk/db/installed",
        "/usr/lib/apk/db/installed",
        "/usr/lib/python3/dist-packages/numpy-2.4.0.dist-info/METADATA",
        "/venv/lib/python3.12/site-packages/numpy-2.4.0.dist-info/WHEEL",
        "/venv/lib/python3.12/site-packages/numpy-2.4.0.dist-info/RECORD",
        "/usr/lib/python3/dist-packages/six.egg-info/PKG-INFO",
        "/usr/lib/python3/dist-packages/six.egg-info",
        "/venv/lib/python3.12/site-packages/easy.pth",
        "/venv/pyvenv.cfg",
        "/opt/conda/conda-meta/numpy-2.4.0-py312_0.json",
        "/opt/java/openjdk/release",
        "/usr/local/cuda-12.4/version.json",
        "/app/package.json",
        "/usr/lib/libc.so",
        "/opt/kernels/scan.ptx",
    ],
)
def test_what_somebody_reads_is_kept(path: str) -> None:
    assert kept_bytes(path, 0o644, 9, TEXT) == 9


@pytest.mark.parametrize(
    "path",
    [
        "/app/node_modules/left-pad/package.json",
        "/usr/share/doc/readme.txt",
        "/app/etc/os-release.d/x",
        "/var/lib/rpm/rpmdb.sqlite",
        "/usr/lib/python3/os.py",
        "/etc/ssl/certs/ca.pem",
    ],
)
def test_other_files_are_not(path: str) -> None:
    assert kept_bytes(path, 0o644, 9, TEXT) == 0


@pytest.mark.parametrize(
    "head", [b"\x7fELF", b"\x50\xed\x55\xba", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB", b"\x03\x02\x23\x07"]
)
def test_code_is_kept_whatever_its_name_and_size(head: bytes) -> None:
    assert kept_bytes("/a/b", 0o644, 1 << 33, head) == 1 << 33


def test_large_text_where_small_text_is_expected_is_not_kept() -> None:
    assert kept_bytes("/opt/java/release", 0o644, 1 << 20, TEXT) == 0


def test_of_programs_in_other_forms_the_beginning_is_kept() -> None:
    assert kept_bytes("/a.exe", 0o644, 1 << 20, b"MZ") == 65_536
    assert kept_bytes("/a.wasm", 0o644, 100, b"\0asm") == 100
    assert kept_bytes("/run.sh", 0o644, 1 << 20, b"#!/bin/sh") == 1 << 20
    assert kept_bytes("/run.sh", 0o644, 1 << 30, b"#!/bin/sh") == 65_536
    assert kept_bytes("/no-magic", 0o755, 1 << 20, TEXT) == HEAD
