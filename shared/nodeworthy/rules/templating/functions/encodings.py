"""Base 64, base 32 and check sums of texts."""

import base64
import hashlib
import zlib
from collections.abc import Callable, Mapping

from nodeworthy.rules.templating.signatures import Function
from nodeworthy.rules.templating.values import bytes_text, text_bytes


def b64enc(text: str) -> str:
    """In base 64."""
    return base64.b64encode(text_bytes(text)).decode()


def b64dec(text: str) -> str:
    """Out of base 64; what is none gives the words of Go's error, as sprig does."""
    return _decoded(text, 4, lambda data: base64.b64decode(data, validate=True), _BASE64)


def b32enc(text: str) -> str:
    """In base 32."""
    return base64.b32encode(text_bytes(text)).decode()


def b32dec(text: str) -> str:
    """Out of base 32; what is none gives the words of Go's error, as sprig does."""
    return _decoded(text, 8, base64.b32decode, _BASE32)


_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_BASE32 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
_PADDING = {4: (0, 1, 2), 8: (0, 1, 3, 4, 6)}
"""How many ``=`` may end the last group."""


def _decoded(text: str, group: int, decode: Callable[[bytes], bytes], alphabet: frozenset[int]) -> str:
    data = text_bytes(text)
    solid = data.replace(b"\r", b"").replace(b"\n", b"")
    body = solid.rstrip(b"=")
    bad = next((place for place, byte in enumerate(data) if byte not in alphabet and byte not in b"\r\n="), None)
    padding = len(solid) - len(body)
    if bad is None and b"=" not in body and len(solid) % group == 0 and padding in _PADDING[group]:
        return bytes_text(decode(solid))
    base = {4: "base64", 8: "base32"}[group]
    return f"illegal {base} data at input byte {len(data) - len(data) % group if bad is None else bad}"


def sha1sum(text: str) -> str:
    """The SHA-1 of a text, hexadecimal."""
    return hashlib.sha1(text_bytes(text), usedforsecurity=False).hexdigest()


def sha256sum(text: str) -> str:
    """The SHA-256 of a text, hexadecimal."""
    return hashlib.sha256(text_bytes(text)).hexdigest()


def sha512sum(text: str) -> str:
    """The SHA-512 of a text, hexadecimal."""
    return hashlib.sha512(text_bytes(text)).hexdigest()


def adler32sum(text: str) -> str:
    """The Adler-32 of a text, decimal."""
    return str(zlib.adler32(text_bytes(text)))


FUNCTIONS: Mapping[str, Function] = {
    "b64enc": b64enc,
    "b64dec": b64dec,
    "b32enc": b32enc,
    "b32dec": b32dec,
    "sha1sum": sha1sum,
    "sha256sum": sha256sum,
    "sha512sum": sha512sum,
    "adler32sum": adler32sum,
}
