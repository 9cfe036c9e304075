"""Whole numbers as NFD's comparisons read them: Go's strconv.Atoi on a 64-bit machine."""

import re

from nodeworthy.errors import RuleError

_INTEGER = re.compile(r"[+-]?[0-9]{1,32}")
# 32 digits are more than 64 bits need, also behind some leading zeros; longer texts are refused unread.


def parse_integer(text: str) -> int:
    """The number that ``text`` is: an optional sign and decimal digits, within 64 bits.

    Python's ``int`` takes more (spaces, underscores, other scripts' digits), which NFD calls an error.

    Raises:
        RuleError: the text is something else.
    """
    if _INTEGER.fullmatch(text):
        number = int(text)
        if -(2**63) <= number < 2**63:
            return number
    raise RuleError(f"{text[:80]!r} is not a whole number")
