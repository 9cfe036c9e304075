"""Versions as ``type: version`` compares them."""

import re

from nodeworthy.errors import RuleError

MAX_VERSION_LENGTH = 256
"""NFD's limit (nodefeaturerule, version comparison)."""

_DOTTED = re.compile(r"v?([0-9]+(?:\.[0-9]+)+)")

_IDENTIFIER = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_SINGLE = re.compile(rf"v?([0-9]+)(?:-{_IDENTIFIER}(?:\.{_IDENTIFIER})*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?")
# One number alone may carry what semantic versions allow behind it, as in NFD: pre-release and build metadata.


def parse_version(text: str) -> tuple[int, ...]:
    """The numbers that order a version, without zeros at the end, so that ``1.2`` equals ``1.2.0``.

    Everything that starts with two numbers and a dot is a version, and what follows its numbers is ignored as NFD ignores a
    pre-release: ``v1.2``, ``6.8.0-45-generic``, and, other than in NFD, the kernel releases of every distribution
    (``5.14.0-427.13.1.el9_4.x86_64``, ``6.6.87.2-microsoft-standard-WSL2``, ``6.12.43+deb13-amd64``).

    Raises:
        RuleError: the text is no version.
    """
    found = None
    if len(text) <= MAX_VERSION_LENGTH:
        found = _DOTTED.match(text) or _SINGLE.fullmatch(text)
    if found is None:
        raise RuleError(f"{text[:80]!r} is not a version")
    numbers = [int(number) for number in found[1].split(".")]
    if len(numbers) == 1 and numbers[0] >= 2**64:
        # NFD reads the numbers into 64 bits.
        raise RuleError(f"{text[:80]!r} is not a version")
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
