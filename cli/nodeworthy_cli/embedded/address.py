"""Where a server listens, found out from the file that it writes when it does, and from its first line."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import msgspec

from nodeworthy_cli.embedded.program import PROGRAM
from nodeworthy_cli.embedded.settings import HOST

_MAX_INFO_BYTES = 1 << 16
"""The first line of a server has about 500 bytes."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens, and what it is."""

    url: str
    version: str


class _Ports(msgspec.Struct):
    nats: list[str]


class _Info(msgspec.Struct):
    version: str


async def read_address(folder: Path, pid: int) -> Address | None:
    """The address of the server with this process id in its folder; ``None`` if it does not listen yet."""
    try:
        port = parse_ports(_ports_file(folder, pid).read_bytes())
    except FileNotFoundError:
        return None
    version = await _ask_version(port) if port else None
    return Address(f"nats://{HOST}:{port}", version) if version else None


def parse_ports(content: bytes) -> int | None:
    """The port in a server's file of ports, ``{"nats": ["nats://127.0.0.1:4222"]}``; ``None`` if it is half written."""
    try:
        urls = msgspec.json.decode(content, type=_Ports).nats
    except msgspec.DecodeError:
        return None
    port = urls[0].rpartition(":")[2] if urls else ""
    return int(port) if port.isdigit() else None


def parse_version(line: bytes) -> str | None:
    """The version in a server's first line, ``INFO {"version": "2.15.1", …}``; ``None`` if it is no server's.

    https://docs.nats.io/reference/reference-protocols/nats-protocol#info
    """
    verb, _, content = line.partition(b" ")
    try:
        return msgspec.json.decode(content, type=_Info).version if verb == b"INFO" else None
    except msgspec.DecodeError:
        return None


def remove_ports_files(folder: Path) -> None:
    """A server that was killed leaves its file, and process ids come again."""
    for path in folder.glob(f"{PROGRAM}_*.ports"):
        path.unlink(missing_ok=True)


def _ports_file(folder: Path, pid: int) -> Path:
    return folder / f"{PROGRAM}_{pid}.ports"


async def _ask_version(port: int) -> str | None:
    try:
        reader, writer = await asyncio.open_connection(HOST, port, limit=_MAX_INFO_BYTES)
    except OSError:
        return None
    try:
        return parse_version(await reader.readline())
    except (OSError, ValueError):  # closed, or a line without an end
        return None
    finally:
        writer.close()
