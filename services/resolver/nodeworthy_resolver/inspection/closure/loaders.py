"""Dynamic loaders: which libc one belongs to, and in what folders it looks."""

import posixpath
import re
import struct
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from nodeworthy_resolver.inspection.elf import Elf, has_text
from nodeworthy_resolver.inspection.tree import NotKeptError, Tree, canonical, find_file


class Family(StrEnum):
    """Whose loader it is."""

    GLIBC = "glibc"
    MUSL = "musl"
    OTHER = "other"
    """uClibc, Android's, gcompat's, or none that is known."""


_GLIBC_NAME = re.compile(r"ld-linux[\w-]*\.so\.[0-9]+|ld64\.so\.[0-9]+|ld\.so\.1|ld-[0-9.]+\.so")
_MUSL_NAME = re.compile(r"libc\.so|libc\.musl-[\w-]+\.so\.1|ld-musl-[\w-]+\.so\.1")

_MAX_TEXT = 1024 * 1024
"""Bytes of one configuration file or cache; a full distribution's cache has 100 kB."""
_MAX_FOLDERS = 1024
"""Of ld.so.conf and what it includes; distributions name some ten."""
_MAX_INCLUDES = 64


_GCOMPAT = b"libgcompat"
"""The loader of gcompat (Alpine) bears glibc's name, has no DT_SONAME, and calls musl with this library."""


def family_of(tree: Tree, path: str, elf: Elf) -> Family:
    """Whose loader a file is, by its DT_SONAME; where it has none, by the name of the file itself."""
    name = elf.soname or path.rpartition("/")[2]
    if _MUSL_NAME.fullmatch(name):
        return Family.MUSL
    if not _GLIBC_NAME.fullmatch(name):
        return Family.OTHER
    if not elf.soname:
        try:
            with tree.map(path) as content:
                return Family.OTHER if has_text(content, _GCOMPAT) else Family.GLIBC
        except NotKeptError:
            return Family.OTHER
    return Family.GLIBC


_SYSTEM_FOLDERS = re.compile(rb"(?:/(?:usr/|usr/local/)?lib[A-Za-z0-9_./-]{0,60}/\0){2,8}")
"""glibc's ``system_dirs`` (elf/dl-load.c): the folders that it was built for, one behind the other, each with its slash."""
_CACHE_PLACE = re.compile(rb"\0((?:/[A-Za-z0-9_.+-]{1,120}){1,8})/etc/ld\.so\.cache\0")
"""glibc's ``LD_SO_CACHE`` where it is not the system's own libc, as ``/usr/glibc-compat/etc/ld.so.cache``."""
_OWN_FOLDERS = rb"\0((?:%s/(?:[A-Za-z0-9_.+-]{1,60}/){1,4}\0){1,8})"
"""``system_dirs`` below such a place; there may be one only."""

_MULTIARCH = {
    "amd64": "x86_64-linux-gnu",
    "386": "i386-linux-gnu",
    "arm64": "aarch64-linux-gnu",
    "arm": "arm-linux-gnueabihf",
    "ppc64le": "powerpc64le-linux-gnu",
    "s390x": "s390x-linux-gnu",
    "riscv64": "riscv64-linux-gnu",
    "loong64": "loongarch64-linux-gnu",
}
"""Debian's names of the folders of an architecture's libraries (wiki.debian.org, Multiarch/Tuples)."""


def multiarch(architecture: str) -> str:
    """Debian's name of the folder of an architecture's libraries; empty where there is none."""
    return _MULTIARCH.get(architecture, "")


def prefix_of(tree: Tree, loader: str) -> str:
    """Where a glibc beside the system's own is installed: ``/usr/glibc-compat``, a folder of Nix's store; else empty."""
    try:
        with tree.map(loader) as content:
            found = _CACHE_PLACE.search(content)
            return found[1].decode("ascii") if found else ""
    except NotKeptError:
        return ""


def system_folders(tree: Tree, loader: str, architecture: str, prefix: str = "") -> tuple[str, ...]:
    """The folders in which glibc looks at the end: those that its loader names, else all that are usual."""
    own = re.compile(_OWN_FOLDERS % re.escape(prefix.encode("ascii"))) if prefix else _SYSTEM_FOLDERS
    try:
        with tree.map(loader) as content:
            found = own.search(content)
            if found is not None:
                return tuple(canonical(part.decode("ascii")) for part in found.group().split(b"\0") if part)
    except NotKeptError:
        pass
    name = multiarch(architecture)
    usual = [f"/lib/{name}", f"/usr/lib/{name}"] if name else []
    return tuple(dict.fromkeys((*usual, "/lib64", "/usr/lib64", "/lib", "/usr/lib", posixpath.dirname(loader))))


def read_text(tree: Tree, path: str) -> str | None:
    """A small text of an image; ``None`` where it is not there or was not kept."""
    found = find_file(tree, path)
    if found is None:
        return None
    try:
        return tree.read(found, 0, _MAX_TEXT).decode("utf-8", "surrogateescape")
    except NotKeptError:
        return None


def configured_folders(tree: Tree, path: str = "/etc/ld.so.conf") -> tuple[str, ...]:
    """The folders of ld.so.conf(5) and of what it includes: those that ldconfig would put into the cache."""
    folders: list[str] = []
    waiting = [path]
    for _ in range(_MAX_INCLUDES):
        if not waiting:
            break
        for raw in (read_text(tree, waiting.pop()) or "").splitlines():
            line = raw.partition("#")[0].strip()
            if line.startswith("include "):
                folder = posixpath.dirname(path)
                waiting.extend(_matching(tree, canonical(line.removeprefix("include ").strip(), folder)))
            elif line.startswith("/") and len(folders) < _MAX_FOLDERS:
                folders.append(canonical(line.split("=")[0].strip()))
    return tuple(folders)


def _matching(tree: Tree, pattern: str) -> list[str]:
    folder, _, name = pattern.rpartition("/")
    return [f"{folder}/{one}" for one in tree.names(folder or "/") if _is_like(one, name.split("*"))]


def _is_like(name: str, parts: list[str]) -> bool:
    """Whether a name has the parts of a pattern between its stars, in order; no step is taken back, whatever the pattern."""
    first, *rest = parts
    if not rest:
        return name == first
    last = rest.pop()
    if not name.startswith(first) or not name.endswith(last) or len(name) < len(first) + len(last):
        return False
    at, end = len(first), len(name) - len(last)
    for part in rest:
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


_CACHE_MAGIC = b"glibc-ld.so.cache1.1"
_CACHE_HEAD = 48
"""Bytes before the entries: magic, number of entries, bytes of texts, flags and padding (glibc, dl-cache.h)."""
_CACHE_ENTRY = 24


class Cache(NamedTuple):
    """Libraries of etc/ld.so.cache: names to paths, in order."""

    libraries: Mapping[str, tuple[str, ...]]
    of_some_cpus: Mapping[str, tuple[str, ...]]
    """Those that count only on some CPUs, as what lies in ``glibc-hwcaps/x86-64-v3``."""


def read_cache(tree: Tree, prefix: str = "") -> Cache | None:
    """The libraries of etc/ld.so.cache; ``None`` where there is none, or none that can be read."""
    found = find_file(tree, f"{prefix}/etc/ld.so.cache")
    if found is None:
        return None
    try:
        return parse_cache(tree.read(found, 0, 16 * _MAX_TEXT))
    except NotKeptError:
        return None


def parse_cache(data: bytes) -> Cache | None:
    r"""The cache of glibc (dl-cache.h, ``struct cache_file_new``).

    Behind the magic: number of entries, bytes of texts; then entries of 24 bytes: flags, offsets of name and path from the
    magic, oldest kernel, processor features. Old files have another table before the magic. An entry with processor features
    counts only on CPUs that have them (dl-cache.c, ``search_cache``); such ones stand first.
    """
    begin = data.find(_CACHE_MAGIC)
    if begin < 0:
        return None
    body = data[begin:]
    if len(body) < _CACHE_HEAD:
        return None
    order = "<" if 0 < int.from_bytes(body[20:24], "little") < 2**24 else ">"
    (count,) = struct.unpack_from(f"{order}I", body, 20)
    table = body[_CACHE_HEAD : _CACHE_HEAD + _CACHE_ENTRY * min(count, len(body) // _CACHE_ENTRY)]
    libraries: dict[str, tuple[str, ...]] = {}
    of_some_cpus: dict[str, tuple[str, ...]] = {}
    for _, name_at, path_at, _, wanted in struct.iter_unpack(f"{order}IIIIQ", table[: len(table) // 24 * 24]):
        name, path = _text(body, name_at), _text(body, path_at)
        if name and path.startswith("/"):
            listed = of_some_cpus if wanted else libraries
            listed[name] = (*listed.get(name, ()), path)
    return Cache(libraries, of_some_cpus)


def _text(body: bytes, position: int) -> str:
    end = body.find(b"\0", position, position + 4096)
    return body[position:end].decode("utf-8", "surrogateescape") if end > position else ""


_MUSL_FOLDERS = "/lib:/usr/local/lib:/usr/lib"
"""Where musl looks if its path file is not there (ldso/dynlink.c)."""
_MUSL_LOADER = re.compile(r"/ld-musl-([\w-]+)\.so\.1$")
_MUSL_NAMES = {"amd64": "x86_64", "386": "i386", "arm64": "aarch64", "ppc64le": "powerpc64le", "loong64": "loongarch64"}


def musl_folders(tree: Tree, interpreter: str, loader: str, architecture: str) -> tuple[str, ...]:
    """The folders of musl: those of its path file, else fixed ones.

    The file is etc/ld-musl-ARCHITECTURE.path, two folders above the name by which the loader was called.
    """
    prefix = interpreter.rpartition("/")[0].rpartition("/")[0]
    named = _MUSL_LOADER.search(interpreter) or _MUSL_LOADER.search(loader)
    machine = named[1] if named else _MUSL_NAMES.get(architecture, architecture)
    text = read_text(tree, f"{prefix}/etc/ld-musl-{machine}.path")
    return tuple(part for part in re.split(r"[:\n]", _MUSL_FOLDERS if text is None else text) if part.startswith("/"))


_MUSL_OWN = re.compile(r"lib(?:c|pthread|rt|m|dl|util|xnet)\..*")


def is_musl_own(name: str) -> bool:
    """Whether musl takes a needed library for itself, whatever its version: libc.so.6 too (ldso/dynlink.c, ``reserved``)."""
    return _MUSL_OWN.fullmatch(name) is not None


_INJECTED = re.compile(
    r"lib(?:cuda|cudadebugger|nv[\w-]*|GLX_nvidia|EGL_nvidia|GLESv[12]+_CM_nvidia|GLESv2_nvidia|vdpau_nvidia"
    r"|ascend_\w+|drv\w*|dcmi|devmmap|tensorrt_nvidia)\.so.*"
)
"""Libraries of drivers that a runtime puts into containers: NVIDIA Container Toolkit (nvidia-container-cli list), Ascend
Docker Runtime. No image brings them."""


_BOUND = re.compile(
    r"lib(?:GL|GLX|EGL|OpenGL|GLdispatch|GLESv[12]\w*|OpenCL|vdpau|mpi\w*|mpich\w*|fabric|cxi|pmi2?|pmix|psm2?|ucp|uct|ucs"
    r"|amdhip64|amd_comgr|amdocl64|hsa-runtime64|hsakmt|hip\w+|roc\w+|rccl|MIOpen)\.so.*"
)
"""Libraries that runtimes of computing centres take from the node if asked to (Singularity: nvliblist.conf, rocmliblist.conf
and the "bind model" of MPI)."""
_BOUND_ON_JETSON = re.compile(r"lib(?:cuda\w*|cu(?:blas|dnn|fft|rand|solver|sparse|dla|pti)\w*|npp\w*)\.so.*")
"""CUDA itself, which JetPack up to version 4 mounts from the node (host-files-for-container.d)."""


def is_bound(name: str, architecture: str) -> bool:
    """Whether some runtimes take a library from the node that most take from the image."""
    return bool(_BOUND.fullmatch(name) or (architecture == "arm64" and _BOUND_ON_JETSON.fullmatch(name)))


def is_injected(name: str) -> bool:
    """Whether a library comes from the node's driver and not from the image."""
    return _INJECTED.fullmatch(name) is not None
