"""Go's literals: texts, characters and numbers as templates write them, and how numbers and texts are written back."""

import math
import re
from dataclasses import dataclass

_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}
_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\'\"])|x([0-9a-fA-F]{2})|([0-7]{3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.|\Z))", re.DOTALL
)
_UNESCAPE = {letter: f"\\{name}" for name, letter in _SIMPLE.items()}

_INTEGER = re.compile(r"([+-]?)(?:0([xXoObB])([0-9a-fA-F_]+)|0([0-7_]+)|(0|[1-9][0-9_]*))")
_UNDERSCORES = re.compile(r"(?:[0-9a-fA-F](?:_?[0-9a-fA-F])*)")
_TENS, _SIXTEENS = r"[0-9](?:_?[0-9])*", r"[0-9a-fA-F](?:_?[0-9a-fA-F])*"
_FLOAT = re.compile(rf"[+-]?(?:{_TENS}(?:\.(?:{_TENS})?)?|\.{_TENS})(?:[eE][+-]?{_TENS})?")
_HEX_FLOAT = re.compile(rf"[+-]?0[xX]_?(?:{_SIXTEENS}(?:\.(?:{_SIXTEENS})?)?|\.{_SIXTEENS})[pP][+-]?{_TENS}")
_BASES = {"x": 16, "o": 8, "b": 2}


class LiteralError(ValueError):
    """A literal is not one of Go's."""


@dataclass(frozen=True, slots=True)
class Number:
    """What a number in a template can stand for; where it becomes an argument, the parameter's type decides."""

    text: str
    integer: int | None = None
    """Within 64 bits."""
    unsigned: bool = False
    """Not negative and within 64 bits without sign; too large for an int where ``integer`` is ``None``."""
    real: float | None = None
    imaginary: complex | None = None
    is_character: bool = False


def unquote(text: str) -> str:
    r"""The text that ``"a\n"`` or ```a``` stands for.

    Raises:
        LiteralError: an escape is not one of Go's.
    """
    if text[0] == "`":
        return text[1:-1].replace("\r", "")
    inner = text[1:-1]
    return _unescape(inner, '"') if "\\" in inner else inner


def _unescape(text: str, quote: str) -> str:
    def replace(found: re.Match[str]) -> str:
        letter, byte, octal, short, long, other = found.groups()
        if letter is not None and (letter not in "'\"" or letter == quote):
            return _SIMPLE.get(letter, letter)
        if byte is not None or octal is not None:
            number = int(byte, 16) if byte is not None else int(octal, 8)
            if number < 256:  # noqa: PLR2004 # a byte
                return chr(number) if number < 128 else chr(0xDC00 + number)  # noqa: PLR2004 # as bytes_text keeps it
        if short is not None or long is not None:
            number = int(short or long, 16)
            if is_letter(number):
                return chr(number)
        raise LiteralError(f"{found[0][:10]!r} is no escape of Go{' here' if other is None else ''}")

    plain = _ESCAPE.sub(replace, text)
    # Bytes that together are UTF-8 become letters again.
    return plain.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def quote(text: str, *, ascii_only: bool = False) -> str:
    """A text as Go's ``%q`` writes it."""
    return '"' + "".join(_escaped(letter, '"', ascii_only=ascii_only) for letter in text) + '"'


def quote_character(code: int, *, ascii_only: bool = False) -> str:
    """A character as Go's ``%q`` writes it."""
    return "'" + _escaped(chr(code) if is_letter(code) else "\ufffd", "'", ascii_only=ascii_only) + "'"


def is_letter(code: int) -> bool:
    """Whether a number stands for a character of Unicode."""
    return 0 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF  # noqa: PLR2004 # Unicode's range


def _escaped(letter: str, quote_mark: str, *, ascii_only: bool) -> str:
    if letter in (quote_mark, "\\"):
        return "\\" + letter
    if letter.isprintable() and (letter.isascii() or not ascii_only):
        return letter
    if letter in _UNESCAPE:
        return _UNESCAPE[letter]
    code = ord(letter)
    if 0xDC80 <= code <= 0xDCFF:  # noqa: PLR2004 # a byte that is no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x20 or code == 0x7F:  # noqa: PLR2004 # control characters
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004 # the basic plane


def parse_number(text: str) -> Number:
    """A number or character constant of a template.

    Raises:
        LiteralError: it is none, or too large for 64 bits.
    """
    if text[0] == "'":
        return _character(text)
    if text[-1] == "i":
        return Number(text, imaginary=_imaginary(text))
    whole = parse_integer(text)
    if whole is not None:
        if whole < -(2**63) or whole >= 2**64:
            raise LiteralError(f"{text[:40]} does not fit into 64 bits")
        return Number(text, whole if whole < 2**63 else None, unsigned=whole >= 0, real=float(whole))
    real = parse_float(text)
    if real is None or math.isinf(real):
        raise LiteralError(f"{text[:40]!r} is no number")
    is_whole = real.is_integer() and -(2.0**63) <= real < 2.0**63
    return Number(text, int(real) if is_whole else None, unsigned=is_whole and real >= 0, real=real)


def _character(text: str) -> Number:
    letter = _unescape(text[1:-1], "'") if "\\" in text else text[1:-1]
    if len(letter) != 1:
        raise LiteralError(f"{text[:20]} is not one character")
    code = ord(letter)
    code = code - 0xDC00 if 0xDC80 <= code <= 0xDCFF else code  # noqa: PLR2004 # a byte
    return Number(text, code, unsigned=True, real=float(code), is_character=True)


def _imaginary(text: str) -> complex:
    split = max(text.rfind("+"), text.rfind("-"))
    if split > 0 and text[split - 1] not in "eEpP":
        real, imaginary = parse_float(_decimal(text[:split])), parse_float(_decimal(text[split:-1]))
    else:
        real, imaginary = 0.0, parse_float(_decimal(text[:-1]))
    if real is None or imaginary is None:
        raise LiteralError(f"{text[:40]!r} is no number")
    return complex(real, imaginary)


def _decimal(text: str) -> str:
    # A whole number in another base is a float of that value.
    whole = parse_integer(text) if re.match(r"[+-]?0[xXoObB]", text) else None
    return text if whole is None else str(whole)


def parse_integer(text: str) -> int | None:
    """A whole number as Go's ``strconv.ParseInt`` reads it with base 0, of any size; ``None`` if it is none.

    ``0x1F``, ``0b11``, ``0o17`` and ``017`` are in their bases; ``_`` may stand between digits.
    """
    found = _INTEGER.fullmatch(text) if len(text) <= _MAX_DIGITS else None
    if found is None:
        return None
    sign, base, digits, octal, decimal = found.groups()
    if base is not None:
        # One underscore may stand behind the base.
        digits, number_base = digits.removeprefix("_"), _BASES[base.lower()]
    elif octal is not None:
        digits, number_base = "0" + octal, 8
    else:
        digits, number_base = decimal, 10
    if not _UNDERSCORES.fullmatch(digits):
        return None
    try:
        return int(sign + digits.replace("_", ""), number_base)
    except ValueError:
        return None


def parse_float(text: str) -> float | None:
    """A float as Go's ``strconv.ParseFloat`` reads it; ``None`` if it is none or out of range."""
    if len(text) > _MAX_DIGITS:
        return None
    if _FLOAT.fullmatch(text):
        number = float(text)
        return None if math.isinf(number) else number
    if _HEX_FLOAT.fullmatch(text):
        try:
            return float.fromhex(text.replace("_", ""))
        except OverflowError:
            return None
    word = text.lower().lstrip("+-")
    if word in ("inf", "infinity", "nan") and len(text) - len(word) <= (word != "nan"):
        return float(text)
    return None


_MAX_DIGITS = 400
"""Longer numbers than a float's full decimal form nobody writes, and reading them costs the square of their length."""
