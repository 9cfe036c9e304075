"""Numbers that a process is given in its environment; whoever calls has the variables, and nothing is read here."""

import math
from collections.abc import Mapping

from nodeworthy.errors import UsageError

MAX_PORT = 65_535
"""Of TCP, 16 bits (RFC 9293, section 3.1); 0 asks the kernel for a free one."""
_MAX_DIGITS = 18
"""More than any limit has; Python itself refuses texts of more than 4,300 with an error of its own."""


def read_port(given: Mapping[str, str], name: str) -> int | None:
    """The port that a variable names, 0 for a free one; ``None`` if the variable is not set.

    Raises:
        UsageError: its value is no port.
    """
    return read_number(given, name, least=0, most=MAX_PORT)


def read_number(given: Mapping[str, str], name: str, *, least: int, most: int) -> int | None:
    """The whole number in a variable, which is not negative; ``None`` if the variable is not set.

    Raises:
        UsageError: its value is no number from ``least`` to ``most``.
    """
    if name not in given:
        return None
    text = given[name]
    # No sign, space or underscore, and no digits of other scripts.
    is_number = text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
    if not (is_number and least <= int(text) <= most):
        raise UsageError(f"{name}={text[:60]!r} cannot be used", why=f"it is a number from {least:,} to {most:,}")
    return int(text)


def read_seconds(given: Mapping[str, str], name: str, default: float, *, least: float, most: float) -> float:
    """The seconds in a variable, with fractions; ``default`` if the variable is not set.

    Raises:
        UsageError: its value is no number from ``least`` to ``most``.
    """
    if name not in given:
        return default
    try:
        value = float(given[name])
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        raise UsageError(
            f"{name}={given[name][:60]!r} cannot be used", why=f"it is a number of seconds from {least:g} to {most:g}"
        )
    return value
