"""Names of system calls by number, since the kernel's audit log tells numbers alone."""

import functools
from pathlib import Path

import msgspec

_GENERIC = {"c00000f3": "riscv64", "c0000102": "loong64"}
"""Architectures that came after arm64 and share its table (include/uapi/asm-generic/unistd.h)."""

_ARM64 = "c00000b7"


class _Table(msgspec.Struct, frozen=True):
    architecture: str
    calls: dict[str, str]


class _Tables(msgspec.Struct, frozen=True):
    origin: str
    architectures: dict[str, _Table]
    """By the kernel's AUDIT_ARCH number in hexadecimal (include/uapi/linux/audit.h)."""


def name_syscall(audit_architecture: str, number: int) -> tuple[str, str]:
    """The architecture and the name of a call; empty where this project has no table of it.

    >>> name_syscall("c000003e", 435)
    ('amd64', 'clone3')
    """
    key = audit_architecture.lower().removeprefix("0x")
    table = _load().architectures.get(_ARM64 if key in _GENERIC else key)
    if table is None:
        return "", ""
    return _GENERIC.get(key, table.architecture), table.calls.get(str(number), "")


@functools.cache
def _load() -> _Tables:
    return msgspec.json.decode(Path(__file__).with_name("syscalls.json").read_bytes(), type=_Tables)
