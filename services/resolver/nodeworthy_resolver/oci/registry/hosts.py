"""Patterns by which settings name hosts; pure."""

from collections.abc import Iterable

from yarl import URL

_HUB = ("docker.io", "registry-1.docker.io", "auth.docker.io", "production.cloudflare.docker.com")
"""What Docker Hub needs: registry, token server, storage. The storage's name may change; a redirect elsewhere is told."""


def expand(patterns: Iterable[str]) -> tuple[str, ...]:
    """The patterns, with ``docker.io`` standing for all hosts that it needs."""
    return tuple(dict.fromkeys(host for pattern in patterns for host in (_HUB if pattern == _HUB[0] else (pattern,))))


def is_named(url: URL, patterns: Iterable[str]) -> bool:
    """Whether a URL's host is one that is meant: ``host`` (any port), ``host:port``, ``*.example.com`` (not itself).

    >>> is_named(URL("https://a.example.com:5000/v2"), ("*.example.com",))
    True
    """
    host, port = (url.host or "").lower().rstrip("."), url.port
    return any(_matches(pattern.lower(), host, port) for pattern in patterns)


def _matches(pattern: str, host: str, port: int | None) -> bool:
    name, colon, number = pattern.rpartition(":")
    if not colon or not number.isdigit() or pattern.endswith("]"):
        name, number = pattern, ""
    if number and int(number) != port:
        return False
    name = name.strip("[]")
    return host.endswith(name[1:]) and len(host) > len(name) - 1 if name.startswith("*.") else host == name
