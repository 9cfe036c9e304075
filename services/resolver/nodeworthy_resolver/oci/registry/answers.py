"""Answers of a registry: reading them within bounds, and what a refusal means for a person."""

import re
import zlib
from dataclasses import dataclass
from typing import Protocol

import aiohttp
import msgspec
from multidict import CIMultiDict, MultiMapping
from yarl import URL

from nodeworthy.errors import (
    ImageNotFoundError,
    NodeworthyError,
    RegistryBusyError,
    RegistryContentError,
    RegistryDeniedError,
)

MAX_REFUSAL_BYTES = 64 * 1024
"""Of the body of a refusal; what a person reads of it is one line."""

_CHUNK = 64 * 1024


@dataclass(frozen=True)
class Answer:
    """A complete answer."""

    status: int
    headers: MultiMapping[str]
    body: bytes
    url: URL
    """Where it came from in the end, after redirects."""
    is_redirected: bool = False
    """Whether another host than the registry gave it."""
    challenges: tuple[str, ...] = ()
    """All WWW-Authenticate headers."""
    login: str = ""
    """Which stored credentials a refused request was sent with, in words and without secrets; empty: with none."""

    @property
    def content_type(self) -> str:
        """The type without its parameters, in lower case; empty if there is none."""
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()


async def read_answer(response: aiohttp.ClientResponse, limit: int, registry: URL) -> Answer:
    """The answer with its body; the body of a refusal is cut, that of a success must keep within ``limit``.

    Raises:
        RegistryContentError: too many bytes, or bytes that do not decompress.
    """
    url = response.url
    is_success = response.ok
    headers = CIMultiDict((name, _readable(value)) for name, value in response.headers.items())
    body = await _read_body(response, limit) if is_success else await _read_start(response)
    return Answer(
        status=response.status,
        headers=headers,
        body=body,
        url=url,
        is_redirected=url.origin() != registry.origin(),
        challenges=tuple(headers.getall("WWW-Authenticate", ())),
    )


def _readable(value: str) -> str:
    """A header without the half characters that stand for bytes that are no UTF-8: no message could be sent with them."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


async def _read_start(response: aiohttp.ClientResponse) -> bytes:
    body = b""
    while len(body) < MAX_REFUSAL_BYTES and (chunk := await response.content.read(_CHUNK)):
        body += chunk
    return body[:MAX_REFUSAL_BYTES]


async def _read_body(response: aiohttp.ClientResponse, limit: int) -> bytes:
    where = display(response.url)
    if response.method != "HEAD" and (response.content_length or 0) > limit:
        raise too_large(where, limit)
    decoder = _decoder(response.headers.get("Content-Encoding", ""), where)
    body = bytearray()
    received = 0
    while chunk := await response.content.read(_CHUNK):
        received += len(chunk)
        body += _decode(decoder, chunk, limit + 1 - len(body), where)
        if len(body) > limit or received > limit:
            raise too_large(where, limit)
    if decoder is not None and received and (not decoder.eof or decoder.unused_data):
        raise RegistryContentError(f"{where} cannot be read", why="its compressed content is cut off or goes on")
    return bytes(body)


def too_large(where: str, limit: int) -> RegistryContentError:
    """The error for content beyond its limit."""
    return RegistryContentError(f"{where} is too large", why=f"more than {limit} bytes are not read")


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


def _decoder(encoding: str, where: str) -> _Decoder | None:
    """Decompression for an answer that some proxy compressed although nobody asked for it."""
    encoding = encoding.strip().lower()
    if encoding in {"", "identity"}:
        return None
    if encoding in {"gzip", "x-gzip"}:
        return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    if encoding == "deflate":
        return zlib.decompressobj()
    if encoding == "zstd" and (zstd := _zstd_decoder()) is not None:
        return zstd
    raise RegistryContentError(
        f"{where} cannot be read",
        why=f"it is compressed as {encoding[:40]!r}, unasked",
        todo="ask without the proxy between",
    )


def _zstd_decoder() -> _Decoder | None:
    """Python has zstd since 3.14; a library only for proxies that compress unasked would be one more for everybody."""
    try:
        from compression.zstd import ZstdDecompressor  # type: ignore[import-not-found,unused-ignore] # newer Pythons only
    except ImportError:
        return None
    decoder: _Decoder = ZstdDecompressor()
    return decoder


def _decode(decoder: _Decoder | None, chunk: bytes, room: int, where: str) -> bytes:
    if decoder is None:
        return chunk
    if decoder.eof:
        raise RegistryContentError(f"{where} cannot be read", why="its compressed content goes on")
    try:
        return decoder.decompress(chunk, room)
    except (zlib.error, ValueError, OSError) as error:
        raise RegistryContentError(
            f"{where} cannot be read", why=f"its content does not decompress: {error}"
        ) from error


def display_host(url: URL) -> str:
    """A URL's host as messages and images name it: with the port, where that is not the scheme's own."""
    host = f"[{url.raw_host}]" if ":" in (url.raw_host or "") else f"{url.raw_host}"
    return f"{host}:{url.explicit_port}" if url.explicit_port else host


def display(url: URL) -> str:
    """A URL as messages name it: without query, in which storage hosts carry signatures, and without user.

    As it is sent: what stands behind a per cent sign may be what a terminal would obey.
    """
    return f"{display_host(url)}{url.raw_path}"


class _RegistryProblem(msgspec.Struct):
    code: str | None = None
    message: str | None = None


class _RegistryProblems(msgspec.Struct):
    errors: list[_RegistryProblem] | None = None


def parse_refusal(body: bytes) -> str:
    """What a registry says of its refusal, in one line: ``{"errors":[{"code":"DENIED","message":"..."}]}``; may be empty.

    Distribution specification, "Error Codes". The text is a stranger's: control characters are taken out, and it is cut.
    """
    try:
        problems = msgspec.json.decode(body, type=_RegistryProblems).errors or []
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    texts = [": ".join(part for part in (problem.code, problem.message) if part) for problem in problems]
    return re.sub(r"[^ -~\u00a0-\U0010ffff]+", " ", "; ".join(texts))[:300]


def describe_refusal(answer: Answer) -> str:
    """Who answered what: ``registry.example:5000 answered 401 (UNAUTHORIZED: authentication required)``."""
    said = parse_refusal(answer.body)
    return f"{display_host(answer.url)} answered {answer.status}" + (f" ({said})" if said else "")


def refusal(answer: Answer, what: str) -> NodeworthyError:
    """The error for an answer that is no success; ``what`` was asked for.

    Registries answer 404 for what is not there and for what may not be seen, so the sentence says both.
    """
    why = describe_refusal(answer)
    if answer.status == 404:  # noqa: PLR2004 # HTTP's number
        return ImageNotFoundError(
            f"{what}: not found or no permission",
            why=why,
            todo="check the name; log in if it is private",
        )
    if answer.status in {401, 403, 407}:
        return RegistryDeniedError(
            f"{what} is denied",
            why=why + (f"; {answer.login}" if answer.login else ""),
            todo="log in again (docker login), or name a file with other credentials by --registry-config"
            if answer.login
            else "log in (docker login), or name a file with credentials by --registry-config",
        )
    if answer.status == 429 or answer.status >= 500:  # noqa: PLR2004 # HTTP's numbers
        return RegistryBusyError(f"{what} is not served now", why=why + _explain_wait(answer), todo="try again later")
    return RegistryContentError(f"{what} is not served", why=why, todo=_advise(answer))


def _explain_wait(answer: Answer) -> str:
    wait = re.sub(r"[^ -~]", "", answer.headers.get("Retry-After", ""))[:40]
    return f", and asks to wait (Retry-After: {wait})" if wait else ""


def _advise(answer: Answer) -> str:
    if answer.url.scheme == "http" and b"HTTPS server" in answer.body:
        return "the server wants TLS: leave out --plain-http"
    return "is this host a registry?"


def web_page(answer: Answer, what: str) -> RegistryContentError:
    """The error for a success that is a page for people: a login page, a captive portal, another server."""
    return RegistryContentError(
        f"{what} is not served",
        why=f"{display(answer.url)} answered with a web page ({answer.content_type})",
        todo="is this host a registry, and is a login page or proxy in between?",
    )
