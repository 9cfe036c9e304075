"""What a build with Go leaves in a program, in section ``.go.buildinfo`` (Go, package debug/buildinfo).

A header of 32 bytes comes first. Since Go 1.18, which sets bit 1 of its byte 15, the version of Go and the list of modules
follow it, each behind its length. Before, it holds two pointers to them, which takes a reader of the whole program.
"""

from collections.abc import Mapping
from typing import NamedTuple

MAGIC = b"\xff Go buildinf:"
HEADER_BYTES = 32
FLAGS_AT = 15
INLINE = 2
"""In the flags: the texts follow the header."""
MAX_LIST_BYTES = 1024 * 1024
"""Of the list of modules; Kubernetes' programs have 40 kB."""

_FRAME_BYTES = 16
"""The mark before and after the list of modules."""
_MAX_LENGTH_BYTES = 5


class GoBuild(NamedTuple):
    """What a build says of itself (runtime/debug.BuildInfo)."""

    path: str
    """Of the main package."""
    module: str
    version: str
    """Of the main module: ``(devel)`` without a tag."""
    dependencies: Mapping[str, str]
    """Modules and their versions, replacements taken in."""
    settings: Mapping[str, str]
    """As ``GOAMD64`` and ``-ldflags``; empty before Go 1.18."""


def read_texts(data: bytes | memoryview, offset: int = 0) -> tuple[bytes, bytes]:
    """The version of Go and the list of modules behind a header at ``offset`` that has the flag INLINE."""
    version, position = _read_text(data, offset + HEADER_BYTES)
    return version, _read_text(data, position)[0]


def parse_list(data: bytes) -> GoBuild:
    r"""The list of modules and settings as it stands in a program, with the marks around it.

    The text between them::

        path	example.com/tool
        mod	example.com/tool	v1.2.0	h1:...
        dep	golang.org/x/sys	v0.1.0	h1:...
        =>	example.com/fork	v0.2.0	h1:...
        build	GOAMD64=v3
    """
    path = module = version = last = ""
    dependencies: dict[str, str] = {}
    settings: dict[str, str] = {}
    for line in data[_FRAME_BYTES:-_FRAME_BYTES].decode("utf-8", "replace").splitlines():
        kind, *parts = line.split("\t")
        if kind == "path" and parts:
            path = parts[0]
        elif kind == "mod" and parts:
            module, version = parts[0], parts[1] if len(parts) > 1 else ""
        elif kind == "dep" and len(parts) > 1:
            last = parts[0]
            dependencies[last] = parts[1]
        elif kind == "=>" and len(parts) > 1 and last:
            # What is built in is the replacement; its own version says nothing of the module that it replaces.
            del dependencies[last]
            dependencies[parts[0]] = parts[1]
            last = ""
        elif kind == "build" and parts:
            key, _, value = parts[0].partition("=")
            settings[key.strip('"')] = value.strip('"')
    return GoBuild(path, module, version, dependencies, settings)


def _read_text(data: bytes | memoryview, position: int) -> tuple[bytes, int]:
    """A text behind its length, which is a varint: seven bits per byte, the lowest first (Go, encoding/binary)."""
    length = shift = 0
    for byte in bytes(data[position : position + _MAX_LENGTH_BYTES]):
        position += 1
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:  # noqa: PLR2004 # the last byte
            break
    end = position + min(length, MAX_LIST_BYTES)
    return bytes(data[position:end]), end
