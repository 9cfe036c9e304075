"""URLs taken apart and put together, by the rules of Go's net/url."""

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote_to_bytes

from nodeworthy.rules.templating.problems import FunctionError, shown
from nodeworthy.rules.templating.signatures import Function
from nodeworthy.rules.templating.values import AnyDict, bytes_text, kind_name, text_bytes

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_PORT = re.compile(r":[0-9]*")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ESCAPED_ASCII = re.compile(r"%[0-7]")
_HOST = re.compile(r"[^\x00-\x20\"<>\\^`{|}/?#@\x7f]*")
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_SAFE_IN_PATH = "$&+,/:;=@!'()*~"
_SAFE_IN_FRAGMENT = "!$&'()*+,/:;=?@~"
_SAFE_IN_USER = "$&+,;=~"


def url_parse(text: str) -> AnyDict:
    """The parts of a URL: scheme, host, hostname, path, query, opaque, fragment, userinfo."""
    if any(letter < " " or letter == "\x7f" for letter in text):
        raise FunctionError(f"{shown(text)} is no URL: it holds control characters")
    rest, _, fragment = text.partition("#")
    scheme, rest = _take_scheme(text, rest)
    rest, _, query = rest.partition("?")
    opaque = userinfo = host = ""
    if not rest.startswith("/") and scheme:
        opaque, rest = rest, ""
    elif ":" in rest.partition("/")[0]:
        raise FunctionError(f"{shown(text)} is no URL: the first part of a path must not hold a colon")
    elif rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        before, at, host = authority.rpartition("@")
        userinfo = _userinfo(text, before) if at else ""
        _check_host(text, host)
        host = _unescaped(text, host)
    return AnyDict(
        scheme=scheme,
        host=host,
        hostname=_hostname(host),
        path=_unescaped(text, rest),
        query=query,
        opaque=opaque,
        fragment=_unescaped(text, fragment),
        userinfo=userinfo,
    )


def _take_scheme(text: str, rest: str) -> tuple[str, str]:
    found = _SCHEME.match(rest)
    if found is None:
        if rest.startswith(":"):
            raise FunctionError(f"{shown(text)} is no URL: the scheme is missing")
        return "", rest
    return found[1].lower(), rest[found.end() :]


def _userinfo(text: str, userinfo: str) -> str:
    if not _USER.fullmatch(userinfo):
        raise FunctionError(f"{shown(text)} is no URL: the part before @ holds what must be escaped")
    name, colon, password = userinfo.partition(":")
    return _escaped(_unescaped(text, name), _SAFE_IN_USER) + colon + _escaped(_unescaped(text, password), _SAFE_IN_USER)


def _check_host(text: str, host: str) -> None:
    port = host
    if host.startswith("["):
        _, bracket, port = host.partition("]")
        if not bracket:
            raise FunctionError(f"{shown(text)} is no URL: ] is missing")
    elif ":" in host:
        port = host[host.index(":") :]
    else:
        port = ""
    if (port and not _PORT.fullmatch(port)) or not _HOST.fullmatch(host):
        raise FunctionError(f"{shown(text)} is no URL: {shown(host)} is no host with a port")
    if _ESCAPED_ASCII.search(host):
        raise FunctionError(f"{shown(text)} is no URL: only letters beyond ASCII are escaped in a host")


def _hostname(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    name, _, port = host.rpartition(":")
    return name if port.isdigit() or host.endswith(":") else host


def _unescaped(text: str, part: str) -> str:
    if _BAD_ESCAPE.search(part):
        raise FunctionError(f"{shown(text)} is no URL: % must be followed by two hexadecimal digits")
    return bytes_text(unquote_to_bytes(text_bytes(part))) if "%" in part else part


def _escaped(part: str, safe: str) -> str:
    return quote(text_bytes(part), safe=safe)


def url_join(parts: AnyDict) -> str:
    """The URL of parts under the names of :func:`url_parse`."""
    parts = AnyDict() if parts is None else parts
    scheme, host, path, query, opaque, fragment, userinfo = [
        _part(parts, name) for name in ("scheme", "host", "path", "query", "opaque", "fragment", "userinfo")
    ]
    text = f"{scheme}:" if scheme else ""
    if opaque:
        text += opaque
    else:
        if userinfo:
            userinfo = _userinfo(userinfo, userinfo)
        if scheme or host or userinfo:
            text += "//" if host or path or userinfo else ""
            text += (f"{userinfo}@" if userinfo else "") + _escaped(host, "!$&'()*+,;=:[]<>\"~")
        escaped = _escaped(path, _SAFE_IN_PATH)
        if path and not path.startswith("/") and host:
            text += "/"
        if not text and ":" in escaped.partition("/")[0]:
            text += "./"
        text += escaped
    return text + (f"?{query}" if query else "") + (f"#{_escaped(fragment, _SAFE_IN_FRAGMENT)}" if fragment else "")


def _part(parts: AnyDict, name: str) -> str:
    value = parts.get(name, "")
    if not isinstance(value, str):
        raise FunctionError(f"{name} must be a text, and it is of kind {kind_name(value)}")
    return value


FUNCTIONS: Mapping[str, Function] = {"urlParse": url_parse, "urlJoin": url_join}
