"""How a registry says what it wants to be shown: the WWW-Authenticate header; pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_PARAMETER = re.compile(r'\s*([A-Za-z][A-Za-z0-9_-]*)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*))')
_SCHEME = re.compile(r"\s*([A-Za-z][A-Za-z0-9!#$%&'*+.^_`|~-]*)(?=\s|,|$)")
_ACTIONS = {"push", "pull", "delete", "*"}

MAX_HEADERS, MAX_CHARACTERS = 16, 4096
"""WWW-Authenticate headers that are read, and of each so much; registries send two of a hundred characters."""


@dataclass(frozen=True)
class Challenge:
    """One way in: ``scheme`` in lower case, the parameters by lower-case name."""

    scheme: str
    parameters: tuple[tuple[str, str], ...] = ()

    def parameter(self, name: str) -> str:
        """A parameter's value; empty if it is missing."""
        return dict(self.parameters).get(name, "")


def parse_challenges(headers: Sequence[str]) -> tuple[Challenge, ...]:
    """The challenges of all WWW-Authenticate headers of an answer, in order.

    ::

        Bearer realm="https://auth.example/token",service="example",scope="repository:a/b:pull repository:c:pull"
        Bearer realm=https://auth.example/token, scope=repository:a/b:pull,push, Basic realm="example"

    RFC 9110 section 11.6.1. Values without quotes occur although URLs need them, and then even a scope with a comma in it:
    the words ``push``, ``pull``, ``delete`` alone are never schemes. What cannot be read ends the reading of its header.
    """
    found: list[Challenge] = []
    for header in headers[:MAX_HEADERS]:
        found += _parse_header(header[:MAX_CHARACTERS])
    return tuple(found)


def _parse_header(header: str) -> list[Challenge]:
    found: list[tuple[str, list[tuple[str, str]]]] = []
    position = 0
    while position < len(header):
        parameter = _PARAMETER.match(header, position)
        scheme = _SCHEME.match(header, position)
        if parameter and found:
            quoted, bare = parameter[2], parameter[3]
            value = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else bare
            found[-1][1].append((parameter[1].lower(), value))
            position = parameter.end()
        elif scheme and scheme[1].lower() in _ACTIONS and found and found[-1][1]:
            name, value = found[-1][1][-1]
            found[-1][1][-1] = (name, f"{value},{scheme[1]}")
            position = scheme.end()
        elif scheme:
            found.append((scheme[1].lower(), []))
            position = scheme.end()
        else:
            break
        position = _skip_comma(header, position)
    return [Challenge(name, tuple(parameters)) for name, parameters in found]


def _skip_comma(header: str, position: int) -> int:
    while position < len(header) and header[position] in ", \t":
        position += 1
    return position
