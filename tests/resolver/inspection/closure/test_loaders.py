"""Loaders: whose they are, and where they look."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.resolver.inspection.elves import Made
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy_resolver.inspection.closure.loaders import (
    Cache,
    Family,
    configured_folders,
    family_of,
    is_bound,
    is_injected,
    is_musl_own,
    musl_folders,
    parse_cache,
    prefix_of,
    read_cache,
    system_folders,
)
from nodeworthy_resolver.inspection.elf import read_elf


@pytest.mark.parametrize(
    ("path", "soname", "family"),
    [
        ("/lib64/ld-linux-x86-64.so.2", "ld-linux-x86-64.so.2", Family.GLIBC),
        ("/lib/ld-2.31.so", "ld-linux.so.2", Family.GLIBC),
        ("/lib/ld-linux-aarch64.so.1", "ld-linux-aarch64.so.1", Family.GLIBC),
        ("/lib64/ld64.so.2", "ld64.so.2", Family.GLIBC),
        ("/lib/ld-musl-x86_64.so.1", "", Family.MUSL),
        ("/lib/ld-musl-x86_64.so.1", "libc.musl-x86_64.so.1", Family.MUSL),
        ("/usr/lib/libc.so", "libc.so", Family.MUSL),
        ("/lib64/ld-linux-x86-64.so.2", "", Family.GLIBC),
        ("/lib/ld-uClibc.so.1", "ld-uClibc.so.1", Family.OTHER),
        ("/system/bin/linker64", "ld-android.so", Family.OTHER),
    ],
)
def test_a_loader_is_known_by_its_soname_or_else_its_name(path: str, soname: str, family: Family) -> None:
    content = Made(soname=soname).bytes()
    elf = read_elf(content)
    assert elf is not None
    assert family_of(MemoryTree({path: content}), path, elf) is family


def test_the_loader_of_gcompat_is_not_glibcs_although_it_has_its_name() -> None:
    content = Made(kind=2, tail=b"/lib/libgcompat.so.0\0").bytes()
    elf = read_elf(content)
    assert elf is not None
    assert (
        family_of(MemoryTree({"/lib/ld-linux-x86-64.so.2": content}), "/lib/ld-linux-x86-64.so.2", elf) is Family.OTHER
    )


def test_the_folders_that_a_loader_was_built_for_are_read_from_it() -> None:
    debian = Made(tail=b"x\0/lib/x86_64-linux-gnu/\0/usr/lib/x86_64-linux-gnu/\0/lib/\0/usr/lib/\0y").bytes()
    tree = MemoryTree({"/ld": debian, "/plain": Made().bytes()})
    named = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib", "/usr/lib")
    assert system_folders(tree, "/ld", "amd64") == named
    assert {"/lib64", "/usr/lib64", "/", *named} == set(system_folders(tree, "/plain", "amd64"))


def test_a_glibc_beside_the_system_s_own_has_folders_cache_and_configuration_of_its_own() -> None:
    loader = "/usr/glibc-compat/lib/ld-linux-x86-64.so.2"
    texts = b"\0/usr/glibc-compat/etc/ld.so.cache\0x\0/usr/glibc-compat/lib/\0y"
    files: dict[str, bytes | str] = {
        loader: Made(tail=texts).bytes(),
        "/system": Made(tail=b"\0/etc/ld.so.cache\0").bytes(),
        "/usr/glibc-compat/etc/ld.so.cache": cache(("liba.so", "/opt/liba.so")),
        "/usr/glibc-compat/etc/ld.so.conf": b"include conf.d/*\n",
        "/usr/glibc-compat/etc/conf.d/a": b"/opt/a\n",
    }
    tree = MemoryTree(files)
    prefix = prefix_of(tree, loader)
    assert (prefix, prefix_of(tree, "/system")) == ("/usr/glibc-compat", "")
    assert system_folders(tree, loader, "amd64", prefix) == ("/usr/glibc-compat/lib",)
    assert read_cache(tree, prefix) == Cache({"liba.so": ("/opt/liba.so",)}, {})
    assert configured_folders(tree, f"{prefix}/etc/ld.so.conf") == ("/opt/a",)


def test_a_loader_that_names_no_folders_is_taken_to_look_beside_itself_too() -> None:
    loader = "/opt/toolchain/lib/ld-linux-x86-64.so.2"
    assert "/opt/toolchain/lib" in system_folders(MemoryTree({loader: Made().bytes()}), loader, "amd64")


def test_the_configuration_is_read_with_what_it_includes_and_a_circle_ends() -> None:
    files: dict[str, bytes | str] = {
        "/etc/ld.so.conf": b"include ld.so.conf.d/*.conf\n/opt/a # mine\n",
        "/etc/ld.so.conf.d/b.conf": b"/opt/b/\ninclude /etc/ld.so.conf\n",
        "/etc/ld.so.conf.d/c.txt": b"/opt/c\n",
    }
    assert {"/opt/a", "/opt/b"} == set(configured_folders(MemoryTree(files)))


def test_musls_path_file_replaces_its_folders() -> None:
    loader = "/lib/ld-musl-aarch64.so.1"
    assert musl_folders(MemoryTree({}), loader, loader, "arm64") == ("/lib", "/usr/local/lib", "/usr/lib")
    tree = MemoryTree({"/etc/ld-musl-aarch64.path": b"/a:/b\n/c\n"})
    assert musl_folders(tree, loader, loader, "arm64") == ("/a", "/b", "/c")
    assert musl_folders(tree, "/lib64/ld-linux-aarch64.so.1", loader, "arm64") == ("/a", "/b", "/c")


@pytest.mark.parametrize("name", ["libc.so.6", "libm.so.6", "libpthread.so.0", "libc.musl-x86_64.so.1", "libdl.so.2"])
def test_musl_takes_the_parts_of_a_libc_for_itself(name: str) -> None:
    assert is_musl_own(name)
    assert not is_musl_own("libz.so.1")
    assert not is_musl_own("libcrypt.so.1")


@pytest.mark.parametrize(
    ("name", "comes"),
    [
        ("libcuda.so.1", True),
        ("libnvidia-ml.so.1", True),
        ("libnvcuvid.so.1", True),
        ("libascend_hal.so", True),
        ("libcudart.so.12", False),
        ("libnghttp2.so.14", False),
        ("libdrm.so.2", False),
        ("libcudnn.so.9", False),
    ],
)
def test_drivers_libraries_are_told_from_toolkits(name: str, comes: bool) -> None:
    assert is_injected(name) is comes


@pytest.mark.parametrize(
    ("name", "architecture", "is_taken"),
    [
        ("libEGL.so.1", "amd64", True),
        ("librocblas.so.4", "amd64", True),
        ("libcudart.so.10.2", "arm64", True),
        ("libcudart.so.12", "amd64", False),
        ("libGLU.so.1", "amd64", False),
        ("libssl.so.3", "arm64", False),
    ],
)
def test_libraries_that_computing_centres_take_from_the_node_are_known(
    name: str, architecture: str, is_taken: bool
) -> None:
    assert is_bound(name, architecture) is is_taken


_HWCAPS = 1 << 62
"""DL_CACHE_HWCAP_EXTENSION: the entry is of a folder below ``glibc-hwcaps`` (glibc, dl-cache.h)."""


def cache(*libraries: tuple[str, str], order: str = "<") -> bytes:
    texts, entries = b"", b""
    begin = 48 + 24 * len(libraries)
    for name, path in libraries:
        places = begin + len(texts), begin + len(texts) + len(name) + 1
        entries += struct.pack(f"{order}IIIIQ", 0x303, *places, 0, _HWCAPS if "/glibc-hwcaps/" in path else 0)
        texts += f"{name}\0{path}\0".encode()
    head = b"glibc-ld.so.cache1.1" + struct.pack(f"{order}II", len(libraries), len(texts)) + bytes(20)
    return head + entries + texts


@pytest.mark.parametrize("order", ["<", ">"])
def test_the_cache_gives_paths_by_names_in_order(order: str) -> None:
    data = cache(("liba.so", "/x/liba.so"), ("liba.so", "/y/liba.so"), ("libb.so", "/x/libb.so"), order=order)
    assert parse_cache(data) == Cache({"liba.so": ("/x/liba.so", "/y/liba.so"), "libb.so": ("/x/libb.so",)}, {})
    assert parse_cache(b"ld.so-1.7.0\0" + bytes(60) + data) == parse_cache(data)


def test_what_the_cache_lists_for_some_cpus_is_told_apart() -> None:
    data = cache(("liba.so", "/x/glibc-hwcaps/x86-64-v3/liba.so"), ("liba.so", "/x/liba.so"))
    assert parse_cache(data) == Cache({"liba.so": ("/x/liba.so",)}, {"liba.so": ("/x/glibc-hwcaps/x86-64-v3/liba.so",)})


@given(st.binary(max_size=300))
def test_no_bytes_break_the_cache(data: bytes) -> None:
    assert parse_cache(data) is None
    parse_cache(b"glibc-ld.so.cache1.1" + data)


def test_the_cache_of_this_machine_reads_as_ldconfig_prints_it() -> None:
    program = shutil.which("ldconfig", path="/sbin:/usr/sbin")
    file = Path("/etc/ld.so.cache")
    if program is None or not file.is_file():
        pytest.skip("this machine has no ldconfig")
    printed = subprocess.run([program, "-p"], capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    lines = [line.split(" (")[0].strip() + line.partition("=>")[2] for line in printed if "=>" in line]
    found = parse_cache(file.read_bytes())
    assert found is not None
    entries = [(name, path) for listed in reversed(found) for name, paths in listed.items() for path in paths]
    assert sorted(f"{name} {path}" for name, path in entries) == sorted(lines)


@pytest.mark.parametrize(
    ("pattern", "is_read"),
    [
        ("*.conf", True),
        ("x*.conf", True),
        ("*a*a.conf", True),
        ("xaa.conf", True),
        ("xaa.conf*", True),
        ("*aaa*.conf", False),
        ("*.con", False),
        ("xaa.conf*xaa.conf", False),
        ("*a" * 3000, False),
    ],
)
def test_included_files_are_found_by_their_patterns(pattern: str, is_read: bool) -> None:
    tree = MemoryTree(
        {"/etc/ld.so.conf": f"include ld.so.conf.d/{pattern}\n".encode(), "/etc/ld.so.conf.d/xaa.conf": b"/opt/lib\n"}
    )
    assert configured_folders(tree) == (("/opt/lib",) if is_read else ())
