"""What an operating system says of itself: os-release(5)."""

import re
from typing import NamedTuple

PLACES = ("etc/os-release", "usr/lib/os-release")
"""The second is read where the first is not there: os-release(5)."""

_ASSIGNMENT = re.compile(r"(\w+)=(.*)", re.ASCII)


class OsRelease(NamedTuple):
    """One file."""

    values: dict[str, str]
    bad_lines: tuple[int, ...]
    """Numbers of the lines that are neither assignments nor comments."""


def parse_os_release(text: str) -> OsRelease:
    r"""The assignments.

    Quotes at both ends are taken off and nothing else is changed, as NFD does; an empty value is left out.

    >>> parse_os_release('ID=fedora\nVERSION_ID="41"\n# a comment\nVARIANT=\nnonsense')
    OsRelease(values={'ID': 'fedora', 'VERSION_ID': '41'}, bad_lines=(5,))
    """
    values: dict[str, str] = {}
    bad_lines: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        found = _ASSIGNMENT.fullmatch(content)
        if found is None:
            bad_lines.append(number)
        elif found[2]:
            values[found[1]] = found[2].strip("\"'")
    return OsRelease(values, tuple(bad_lines))
