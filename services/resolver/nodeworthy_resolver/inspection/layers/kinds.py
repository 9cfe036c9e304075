"""Which files of an image are kept with their content: those that somebody reads to judge the image, and small ones."""

import re

HEAD = 512
"""Bytes of a file's beginning by which is told what it is."""

SPARE = 16 * 1024
"""Bytes of a file that is kept whatever it is, while there is room for such: any of them may tell a version one day."""

_SMALL = 64 * 1024
_MEDIUM = 4 * 1024 * 1024
_LARGE = 64 * 1024 * 1024

_WHOLE = (b"\x7fELF", b"\x50\xed\x55\xba", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB", b"\x03\x02\x23\x07")
"""Kept whatever their size: ELF (gABI, "ELF Identification"); NVIDIA's fatbin (fatbinary.h, ``FATBIN_MAGIC``); bundles of
code for GPUs, plain and compressed (clang, "Clang Offload Bundler"); SPIR-V (its specification, section 2.3)."""
_BEGINNINGS = (b"#!", b"MZ", b"\0asm", b"\xca\xfe\xba\xbe", b"\xfe\xed\xfa", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe")
"""Scripts, and programs of other systems: PE, WebAssembly, Java classes and Mach-O, of which the beginning tells all."""

_PATHS: tuple[tuple[re.Pattern[str], int], ...] = tuple(
    (re.compile(pattern), limit)
    for pattern, limit in (
        # os-release(5); what older distributions have beside it.
        (r"/(?:usr/)?(?:etc|lib)/(?:os-release|lsb-release|[a-z]+[-_](?:release|version))", _SMALL),
        # ld.so(8), ldconfig(8); musl, ldso/dynlink.c.
        (r"/(?:usr/)?etc/ld\.so\.preload|/etc/ld-musl-[^/]+\.path|.*\.conf", _SMALL),
        (r"/etc/ld\.so\.cache", _LARGE),
        # Package databases: dpkg (and of images without dpkg), apk. An RPM database is only looked for.
        (r"/var/lib/dpkg/(?:status|status\.d/[^/]+|info/[^/]+\.list)|/(?:usr/)?lib/apk/db/installed", _LARGE),
        # Python: core metadata, PEP 376, PEP 405, site(3).
        (r".*\.(?:dist-info/(?:METADATA|WHEEL)|egg-info/PKG-INFO|egg-info)", _MEDIUM),
        (r".*\.dist-info/RECORD", _LARGE),
        (r".*/(?:pyvenv\.cfg|conda-meta/[^/]+\.json|site-packages/[^/]+\.pth|dist-packages/[^/]+\.pth)", _MEDIUM),
        # JDKs (JEP 223 and its file "release"), CUDA's toolkit, Node.js.
        (r".*/release|.*/cuda[^/]*/version\.(?:json|txt)", _SMALL),
        (r"(?!.*/node_modules/).*/package\.json", _MEDIUM),
        # Text in the place of a library: linker scripts; PTX.
        (r".*\.so(?:\.[^/]*)?", _SMALL),
        (r".*\.ptx", _LARGE),
    )
)


def kept_bytes(path: str, mode: int, size: int, head: bytes) -> int:
    """How many bytes of a file's beginning are kept; all of it, its first ones, or none.

    ``head`` are its first :data:`HEAD` bytes, ``mode`` the permission bits.
    """
    if head.startswith(_WHOLE):
        return size
    if size <= _limit(path):
        return size
    if head.startswith(_BEGINNINGS):
        return size if size <= _MEDIUM and head.startswith(b"#!") else min(size, _SMALL)
    return min(size, HEAD) if mode & 0o111 else 0


def _limit(path: str) -> int:
    return next((limit for pattern, limit in _PATHS if pattern.fullmatch(path)), -1)
