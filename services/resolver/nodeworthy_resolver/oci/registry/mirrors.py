"""Where a registry's content is served, as containerd's ``certs.d/HOST/hosts.toml`` says; reading files, no connections.

The layout and the meaning are containerd's (docs/hosts.md, and core/remotes/docker/config): the folder of ``HOST:PORT`` is
``HOST_PORT_`` or ``HOST:PORT``, else ``_default``; its hosts are asked in the order of the file, the ``server`` after them,
and that is the registry itself where the file names none. A folder without the file holds certificates as docker keeps
them. Unlike containerd, a file that cannot be read is an error and never passed over: a mirror that is silently not used is
a rate limit that nobody understands.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from posixpath import normpath
from typing import Annotated, Any

import msgspec
from yarl import URL

from nodeworthy.errors import UsageError
from nodeworthy_resolver.oci.reference import api_host

FILE = "hosts.toml"
DEFAULT_FOLDER = "_default"
_MAX_BYTES = 256 * 1024
MAX_HOSTS = 16
"""Of one registry; each that does not answer costs time."""

_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h))+")
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""RFC 9110, section 5.6.2."""
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class Capability(StrEnum):
    """What a host is trusted with."""

    PULL = "pull"
    """Content by digest, which is verified."""
    RESOLVE = "resolve"
    """What a tag names: nothing proves that."""
    REFERRERS = "referrers"
    """What is attached, which nothing proves either. Newer than ``resolve``, which meant it too."""
    PUSH = "push"


_ALL = frozenset(Capability)


@dataclass(frozen=True)
class MirrorHost:
    """One place where the content of a registry is served."""

    url: str = ""
    """``https://mirror.example:5000``; empty: the registry itself."""
    path: str = "/v2"
    """Under which the API is."""
    capabilities: frozenset[Capability] = _ALL
    authorities: tuple[Path, ...] = ()
    """Certificate authorities that are trusted besides those that all hosts are held against."""
    pairs: tuple[tuple[Path, Path | None], ...] = ()
    """Client certificates with their keys; ``None``: the key is in the same file."""
    skip_verify: bool = False
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Sent to this host alone; they may hold a secret."""
    dial_seconds: float | None = None
    """For connecting; ``None``: no limit but that of the whole request."""


class _Said(msgspec.Struct, frozen=True):
    """The fields of one host, and of the file itself for its ``server``."""

    capabilities: tuple[str, ...] = ()
    ca: str | tuple[str, ...] = ()
    client: str | tuple[str | tuple[str, ...], ...] = ()
    skip_verify: bool = False
    header: Mapping[str, str | tuple[str, ...]] = {}
    override_path: bool = False
    dial_timeout: str = ""


class _File(_Said, frozen=True):
    server: str = ""
    host: Annotated[dict[str, _Said], msgspec.Meta(max_length=MAX_HOSTS)] = {}


class _WrongError(ValueError):
    """What is wrong with a file, in words."""


def read_hosts(root: Path, host: str, named: str) -> tuple[MirrorHost, ...]:
    """Who is asked for the images of a host (with its port, as references name it), in order; empty: nothing is configured.

    Args:
        root: the folder ``certs.d``.
        host: as references name it.
        named: how messages name a file below ``root``: ``hosts.toml of {host}``.

    Raises:
        UsageError: a file is there that cannot be read or used; the message shows none of its content.
    """
    for name in _folder_names(host):
        folder = root / name
        if not _is_folder(folder, named):
            continue
        try:
            with (folder / FILE).open("rb") as file:
                data = file.read(_MAX_BYTES + 1)
        except FileNotFoundError:
            return _read_certificates(folder, named)
        except OSError as error:
            raise UsageError(f"{named} cannot be read", why=error.strerror or str(error)) from error
        return parse_hosts(data, folder, named) if data else _read_certificates(folder, named)
    return ()


def _folder_names(host: str) -> tuple[str, ...]:
    name, colon, port = host.rpartition(":")
    plain = (host,) if not colon or host.endswith("]") else (f"{name}_{port}_", host)
    return (*plain, DEFAULT_FOLDER)


def _is_folder(folder: Path, named: str) -> bool:
    try:
        return folder.is_dir()
    except OSError as error:
        raise UsageError(f"{named} cannot be read", why=error.strerror or str(error)) from error


def _read_certificates(folder: Path, named: str) -> tuple[MirrorHost, ...]:
    """Docker's way: ``*.crt`` are authorities, each ``*.cert`` a client certificate whose key is the ``*.key`` beside it."""
    try:
        names = sorted(folder.iterdir())
    except OSError as error:
        raise UsageError(f"{named} cannot be read", why=error.strerror or str(error)) from error
    authorities = tuple(path for path in names if path.suffix == ".crt")
    pairs = tuple((path, path.with_suffix(".key")) for path in names if path.suffix == ".cert")
    for certificate, key in pairs:
        if key not in names:
            raise UsageError(f"{named} cannot be used", why=f"{certificate.name} has no {key.name} beside it")
    return (MirrorHost(authorities=authorities, pairs=pairs),) if authorities or pairs else ()


def parse_hosts(data: bytes, folder: Path, named: str) -> tuple[MirrorHost, ...]:
    """Who a ``hosts.toml`` says is asked, in order; paths in it are relative to its folder.

    ::

        server = "https://registry-1.docker.io"
        [host."https://mirror.example:5000"]
          capabilities = ["pull", "resolve"]
          ca = "mirror.pem"

    Raises:
        UsageError: it is no such file; the message shows none of its content.
    """
    if len(data) > _MAX_BYTES:
        raise UsageError(f"{named} cannot be used", why=f"it has more than {_MAX_BYTES} bytes")
    try:
        found = msgspec.convert(_load(data), type=_File)
        hosts = tuple(_parse_host(url, said, folder) for url, said in found.host.items())
        return (*hosts, _parse_host(found.server, found, folder))
    except (_WrongError, msgspec.ValidationError) as error:
        raise UsageError(
            f"{named} cannot be used", why=str(error), todo="containerd's docs/hosts.md has its form"
        ) from error


def _load(data: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        line = re.search(r"line \d+", str(error))
        raise _WrongError(f"it is no TOML{f' in {line[0]}' if line else ''}") from error


def _parse_host(text: str, said: _Said, folder: Path) -> MirrorHost:
    url, path = _parse_url(text, is_whole=said.override_path)
    return MirrorHost(
        url=url,
        path=path,
        capabilities=_parse_capabilities(said.capabilities),
        authorities=tuple(folder / name for name in ((said.ca,) if isinstance(said.ca, str) else said.ca)),
        pairs=tuple(
            _parse_pair(pair, folder) for pair in ((said.client,) if isinstance(said.client, str) else said.client)
        ),
        skip_verify=said.skip_verify,
        headers=tuple(_parse_headers(said.header)),
        dial_seconds=_parse_duration(said.dial_timeout),
    )


def _parse_url(text: str, *, is_whole: bool) -> tuple[str, str]:
    """Origin and path of the API. A URL's path gets ``/v2``, unless it has it or is said to be the whole path."""
    if not text:
        return "", "/v2"
    try:
        url = URL(text if "://" in text else f"https://{text}")
    except ValueError:
        url = URL()
    if url.scheme not in {"http", "https"} or not url.host or url.user or url.query_string:
        raise _WrongError("one of its hosts is no plain http or https address")
    if (host := api_host(url.host)) != url.host:
        url = url.with_host(host)  # many files say "https://docker.io", which is a web site
    path = "" if url.raw_path == "/" else normpath(url.raw_path)
    return str(url.origin()), path if is_whole or path.endswith("/v2") else f"{path}/v2"


def _parse_capabilities(names: tuple[str, ...]) -> frozenset[Capability]:
    try:
        found = frozenset(Capability(name.lower()) for name in names) or _ALL
    except ValueError:
        raise _WrongError(f"the capabilities of a host are {', '.join(Capability)}, and it names another one") from None
    return found | {Capability.REFERRERS} if Capability.RESOLVE in found else found


def _parse_pair(pair: str | tuple[str, ...], folder: Path) -> tuple[Path, Path | None]:
    if isinstance(pair, str):
        return folder / pair, None
    if len(pair) != 2:  # noqa: PLR2004 # a pair
        raise _WrongError("a client certificate in a list of its own has one key beside it")
    return folder / pair[0], folder / pair[1]


def _parse_headers(said: Mapping[str, str | tuple[str, ...]]) -> list[tuple[str, str]]:
    headers = []
    for name, values in said.items():
        value = values if isinstance(values, str) else ", ".join(values)
        if not _HEADER_NAME.fullmatch(name) or _CONTROL.search(value):
            raise _WrongError("one of its headers cannot be sent")
        headers.append((name, value))
    return headers


def _parse_duration(text: str) -> float | None:
    """Seconds of a duration as Go writes it, ``1.5s`` or ``1m30s``."""
    if not text:
        return None
    if not _DURATION.fullmatch(text):
        raise _WrongError("dial_timeout is a duration as 500ms or 3s")
    return sum(float(number) * _SECONDS[unit] for number, unit in _DURATION_PART.findall(text))
