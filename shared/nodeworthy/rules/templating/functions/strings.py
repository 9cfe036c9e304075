"""sprig's functions of texts. Lengths and places count bytes, as Go's do."""

from collections.abc import Mapping
from itertools import groupby

from nodeworthy.rules.templating.formatting import text_of
from nodeworthy.rules.templating.functions.conversions import text_list
from nodeworthy.rules.templating.letters import SPACES
from nodeworthy.rules.templating.limits import Budget
from nodeworthy.rules.templating.printf import printf
from nodeworthy.rules.templating.problems import FunctionError
from nodeworthy.rules.templating.signatures import Function
from nodeworthy.rules.templating.values import TextList, byte_length, bytes_text, cut, text_bytes

_SPACE_BYTES = frozenset(b"\t\n\v\f\r \x85\xa0")


def hello() -> str:
    """A greeting."""
    return "Hello!"


def trim(text: str) -> str:
    """Without spaces at both ends."""
    return text.strip(SPACES)


def trim_all(letters: str, text: str) -> str:
    """Without any of the letters at both ends."""
    return text.strip(letters) if letters else text


def trim_prefix(prefix: str, text: str) -> str:
    """Without the prefix."""
    return text.removeprefix(prefix)


def trim_suffix(suffix: str, text: str) -> str:
    """Without the suffix."""
    return text.removesuffix(suffix)


def has_prefix(prefix: str, text: str) -> bool:
    """Whether the text begins so."""
    return text.startswith(prefix)


def has_suffix(suffix: str, text: str) -> bool:
    """Whether the text ends so."""
    return text.endswith(suffix)


def contains(part: str, text: str) -> bool:
    """Whether the text holds the part."""
    return part in text


def repeat(budget: Budget, count: int, text: str) -> str:
    """The text several times."""
    if count < 0:
        raise FunctionError("the count is negative")
    budget.spend_text(len(text) * count)
    return text * count


def substr(start: int, end: int, text: str) -> str:
    """The bytes from a place to another; a negative start is the beginning, a negative end the end."""
    size = byte_length(text)
    if start < 0:
        if not 0 <= end <= size:
            raise FunctionError(f"the text has {size} bytes, and {end} are asked for")
        return cut(text, 0, end)
    if start > size or (0 <= end <= size and start > end):
        raise FunctionError(f"the text has {size} bytes; there is nothing from {start} to {end}")
    return cut(text, start, None if end < 0 or end > size else end)


def trunc(count: int, text: str) -> str:
    """The first bytes, or with a negative count the last."""
    size = byte_length(text)
    if count < 0:
        return cut(text, size + count, None) if size + count > 0 else text
    return cut(text, 0, count) if size > count else text


def abbrev(width: int, text: str) -> str:
    """The text cut to a width, with ``...`` at its end."""
    return _abbreviated(text, 0, width) if width >= 4 else text  # noqa: PLR2004 # sprig's least width


def abbrevboth(left: int, right: int, text: str) -> str:
    """The text cut to a width from an offset on, with ``...`` at both ends."""
    if right < 4 or (left > 0 and right < 7):  # noqa: PLR2004 # sprig's least widths
        return text
    return _abbreviated(text, left, right)


def _abbreviated(text: str, offset: int, width: int) -> str:
    data = text_bytes(text)
    size, room = len(data), width - 3
    if size <= width:
        return text
    offset = min(offset, size)
    if size - offset < room:
        offset = size - room
    if offset <= 4:  # noqa: PLR2004 # goutils shows the beginning instead of dots that would save nothing
        return bytes_text(data[:room]) + "..."
    if width < 7:  # noqa: PLR2004 # no room for dots at both ends
        return ""
    if offset + room < size:
        rest = bytes_text(data[offset:])
        return "..." + (_abbreviated(rest, 0, room) if room >= 4 else "")  # noqa: PLR2004 # goutils' least width
    return "..." + bytes_text(data[size - room :])


def nospace(text: str) -> str:
    """Without spaces; each byte counts as a letter, as in goutils, so letters beyond ASCII come out changed."""
    if text.isascii():
        return "".join([letter for letter in text if letter not in SPACES])
    data = text_bytes(text)
    kept = [byte for byte in data if byte not in _SPACE_BYTES]
    return text if len(kept) == len(data) else bytes(kept).decode("latin-1")


def initials(text: str) -> str:
    """The first byte of every word, each as a letter, as in goutils."""
    data = text_bytes(text)
    words = groupby(data, key=lambda byte: byte in _SPACE_BYTES)
    return "".join([chr(next(letters)) for is_gap, letters in words if not is_gap])


def wrap(budget: Budget, width: int, text: str) -> str:
    """The text in lines of at most a width where spaces allow."""
    return _wrapped(budget, width, text, "\n", breaks_words=False)


def wrap_with(budget: Budget, width: int, separator: str, text: str) -> str:
    """The text in pieces of at most a width with a separator between; long words are broken."""
    return _wrapped(budget, width, text, separator or "\n", breaks_words=True)


def _wrapped(budget: Budget, width: int, text: str, separator: str, *, breaks_words: bool) -> str:
    data, width = text_bytes(text), max(width, 1)
    between = text_bytes(separator)
    budget.spend_text(len(data) + len(between) * (len(data) // width + 1))
    parts: list[bytes] = []
    offset = 0
    while len(data) - offset > width:
        budget.spend(1)
        if data[offset] == ord(" "):
            offset += 1
            continue
        space = data.rfind(b" ", offset, offset + width + 1)
        if space >= 0:
            end = after = space
            after += 1
        elif breaks_words:
            end = after = offset + width
        else:
            end = data.find(b" ", offset + width)
            if end < 0:
                break
            after = end + 1
        parts += (data[offset:end], between)
        offset = after
    return bytes_text(b"".join((*parts, data[offset:])))


def cat(budget: Budget, *values: object) -> str:
    """The values with spaces between; nil is left out."""
    kept = [value for value in values if value is not None]
    return printf(" ".join(["%v"] * len(kept)), kept, budget)


def indent(budget: Budget, spaces: int, text: str) -> str:
    """Every line moved to the right."""
    if spaces < 0:
        raise FunctionError("the number of spaces is negative")
    budget.spend_text(len(text) + spaces * (text.count("\n") + 1))
    pad = " " * spaces
    return pad + text.replace("\n", "\n" + pad)


def nindent(budget: Budget, spaces: int, text: str) -> str:
    """A newline, then every line moved to the right."""
    return "\n" + indent(budget, spaces, text)


def replace(budget: Budget, old: str, new: str, text: str) -> str:
    """The text with every ``old`` replaced."""
    budget.spend_text(len(text) + text.count(old) * len(new))
    return text.replace(old, new)


def plural(one: str, many: str, count: int) -> str:
    """One of two words, depending on a number."""
    return one if count == 1 else many


def join(budget: Budget, separator: str, values: object) -> str:
    """The entries of a list with a separator between."""
    parts = text_list(budget, values)
    budget.spend_text(sum(map(len, parts)) + len(separator) * len(parts))
    return separator.join(parts)


def split(budget: Budget, separator: str, text: str) -> dict[str, str]:
    """The parts of a text under the names ``_0``, ``_1`` and so on."""
    return {f"_{number}": part for number, part in enumerate(split_list(budget, separator, text))}


def splitn(budget: Budget, separator: str, count: int, text: str) -> dict[str, str]:
    """As :func:`split`, into no more parts than a count; the last one holds the rest."""
    if count == 0:
        return {}
    parts = split_list(budget, separator, text)
    if 0 < count < len(parts):
        parts[count - 1 :] = [separator.join(parts[count - 1 :])]
    return {f"_{number}": part for number, part in enumerate(parts)}


def split_list(budget: Budget, separator: str, text: str) -> TextList:
    """The parts of a text; without a separator its letters."""
    budget.spend_items(text.count(separator) if separator else len(text))
    return TextList(text.split(separator) if separator else text)


def to_string(budget: Budget, value: object) -> str:
    """A value as ``print`` writes it."""
    return text_of(value, budget) if value is not None else "<nil>"


FUNCTIONS: Mapping[str, Function] = {
    "hello": hello,
    "trim": trim,
    "trimAll": trim_all,
    "trimall": trim_all,
    "trimPrefix": trim_prefix,
    "trimSuffix": trim_suffix,
    "hasPrefix": has_prefix,
    "hasSuffix": has_suffix,
    "contains": contains,
    "repeat": repeat,
    "substr": substr,
    "trunc": trunc,
    "abbrev": abbrev,
    "abbrevboth": abbrevboth,
    "nospace": nospace,
    "initials": initials,
    "wrap": wrap,
    "wrapWith": wrap_with,
    "cat": cat,
    "indent": indent,
    "nindent": nindent,
    "replace": replace,
    "plural": plural,
    "join": join,
    "split": split,
    "splitn": splitn,
    "splitList": split_list,
    "toString": to_string,
}
