"""Values as Go's ``fmt`` prints them: ``%v`` and its relatives, ``print`` and ``println``.

Source: https://pkg.go.dev/fmt. ``printf`` itself is in :mod:`nodeworthy.rules.templating.printf`.
"""

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from nodeworthy.rules.templating.limits import Budget
from nodeworthy.rules.templating.literals import is_letter, quote, quote_character
from nodeworthy.rules.templating.values import NilList, Uint8, Uint64, Value, text_bytes, type_name

_SHORTEST_PRECISION = 6
"""The exponent from which on ``g`` writes one where no precision says it (strconv)."""

_DEFAULT_PRECISION = 6
"""Of ``e`` and ``f`` (fmt)."""


class Spec(NamedTuple):
    """One verb of a format, with its flags."""

    verb: str
    minus: bool = False
    plus: bool = False
    sharp: bool = False
    space: bool = False
    zero: bool = False
    width: int | None = None
    precision: int | None = None


PLAIN = Spec("v")


def text_of(value: Value, budget: Budget) -> str:
    """A value as ``%v`` writes it.

    Raises:
        FunctionError: it is too large.
    """
    if type(value) is str:
        return value
    text = "".join(_pieces(value, PLAIN, budget, 0))
    budget.spend_text(len(text))
    return text


def printed(values: Sequence[Value], budget: Budget) -> str:
    """Values as ``print`` writes them: a space between two that are no texts.

    Raises:
        FunctionError: they are too large.
    """
    parts: list[str] = []
    before: Value = ""
    for number, value in enumerate(values):
        if number and type(value) is not str and type(before) is not str:
            parts.append(" ")
        parts.append(text_of(value, budget))
        before = value
    return "".join(parts)


def printed_line(values: Sequence[Value], budget: Budget) -> str:
    """Values as ``println`` writes them: a space between any two, and a newline.

    Raises:
        FunctionError: they are too large.
    """
    return " ".join([text_of(value, budget) for value in values]) + "\n"


def format_value(value: Value, spec: Spec, budget: Budget) -> str:
    """A value as a verb of ``printf`` writes it.

    Raises:
        FunctionError: it is too large.
    """
    if spec.verb == "T":
        return _padded(type_name(value), spec)
    if spec.verb == "p" or value is None:
        return _padded("<nil>", spec) if value is None and spec.verb == "v" else _bad_verb(value, spec, budget)
    text = "".join(_pieces(value, spec, budget, 0))
    budget.spend_text(len(text))
    return text


def _pieces(value: Value, spec: Spec, budget: Budget, depth: int) -> Iterable[str]:
    budget.spend_node(depth)
    if isinstance(value, list):
        yield from _list_pieces(value, spec, budget, depth)
    elif isinstance(value, dict):
        yield from _map_pieces(value, spec, budget, depth)
    elif value is None:
        # Inside of a list or map.
        yield "interface {}(nil)" if spec.sharp and spec.verb == "v" else "<nil>"
    else:
        yield _scalar(value, spec, budget)


def _list_pieces(value: list[Value], spec: Spec, budget: Budget, depth: int) -> Iterable[str]:
    go_syntax = spec.sharp and spec.verb == "v"
    if go_syntax and isinstance(value, NilList):
        yield f"{type_name(value)}(nil)"
        return
    yield f"{type_name(value)}{{" if go_syntax else "["
    for number, item in enumerate(value):
        if number:
            yield ", " if go_syntax else " "
        yield from _pieces(item, spec, budget, depth + 1)
    yield "}" if go_syntax else "]"


def _map_pieces(value: dict[str, Value], spec: Spec, budget: Budget, depth: int) -> Iterable[str]:
    go_syntax = spec.sharp and spec.verb == "v"
    yield f"{type_name(value)}{{" if go_syntax else "map["
    for number, key in enumerate(sorted(value)):
        if number:
            yield ", " if go_syntax else " "
        yield from _pieces(key, spec, budget, depth + 1)
        yield ":"
        yield from _pieces(value[key], spec, budget, depth + 1)
    yield "}" if go_syntax else "]"


_VERBS: tuple[tuple[type, str], ...] = (
    (str, "svxXq"),
    (bool, "tv"),
    (int, "vdboOxXcqU"),
    (float, "vbeEfFgGxX"),
    (complex, "vbeEfFgGxX"),
    (object, "svxXq"),
)
"""What takes which verbs; versions and times, which write themselves, take those of texts."""


def _scalar(value: Value, spec: Spec, budget: Budget) -> str:
    if isinstance(value, str):
        budget.spend_text(len(value))
    if spec.verb not in next(verbs for of, verbs in _VERBS if isinstance(value, of)):
        return _bad_verb(value, spec, budget)
    if isinstance(value, bool):
        return _padded("true" if value else "false", spec, zeros=spec.zero)
    if isinstance(value, int):
        return _integer(value, spec)
    if isinstance(value, float):
        return _float(value, spec)
    if isinstance(value, complex):
        return f"({_float(value.real, spec)}{_float(value.imag, spec._replace(plus=True))}i)"
    return _text(str(value), spec)


def _bad_verb(value: Value, spec: Spec, budget: Budget) -> str:
    if value is None:
        return f"%!{spec.verb}(<nil>)"
    plain = spec._replace(verb="v", sharp=False)
    return f"%!{spec.verb}({type_name(value)}={''.join(_pieces(value, plain, budget, 1))})"


def _padded(text: str, spec: Spec, *, zeros: bool = False) -> str:
    if spec.width is None or len(text) >= spec.width:
        return text
    if spec.minus:
        return text.ljust(spec.width)
    return text.rjust(spec.width, "0" if zeros else " ")


def _text(value: str, spec: Spec) -> str:
    if spec.verb in "xX":
        pairs = [f"{byte:02x}" for byte in text_bytes(value)[: spec.precision]]
        prefix = "0x" if spec.sharp and pairs else ""
        text = prefix + (f" {prefix}" if spec.space else "").join(pairs)
        return _padded(text if spec.verb == "x" else text.upper(), spec, zeros=spec.zero)
    value = value[: spec.precision]
    if spec.verb == "q":
        if spec.sharp and "`" not in value and value.isprintable():
            return _padded(f"`{value}`", spec, zeros=spec.zero)
        return _padded(quote(value, ascii_only=spec.plus), spec, zeros=spec.zero)
    if spec.verb == "v" and spec.sharp:
        return _padded(quote(value), spec, zeros=spec.zero)
    return _padded(value, spec, zeros=spec.zero)


def _integer(value: int, spec: Spec) -> str:
    verb = spec.verb
    if verb == "c":
        return _padded(chr(value) if is_letter(value) else "\ufffd", spec, zeros=spec.zero)
    if verb == "q":
        return _padded(quote_character(value, ascii_only=spec.plus), spec, zeros=spec.zero)
    if verb == "U":
        code = f"U+{value % 2**64:04X}"
        is_shown = spec.sharp and is_letter(value) and chr(value).isprintable()
        return _padded(f"{code} '{chr(value)}'" if is_shown else code, spec)
    if verb == "v" and spec.sharp and isinstance(value, (Uint8, Uint64)):
        return _padded(f"0x{value:x}", spec)
    base = {"b": "b", "o": "o", "O": "o", "x": "x", "X": "X"}.get(verb, "d")
    digits = format(abs(value), base)
    sign = "-" if value < 0 else "+" if spec.plus else " " if spec.space else ""
    prefix = _base_prefix(verb, digits) if spec.sharp or verb == "O" else ""
    if spec.precision is not None:
        digits = "" if not spec.precision and not value else digits.rjust(spec.precision, "0")
        if not digits:
            return " " * (spec.width or 0)
    elif spec.zero and not spec.minus and spec.width is not None:
        digits = digits.rjust(spec.width - len(sign), "0")
    return _padded(sign + prefix + digits, spec)


def _base_prefix(verb: str, digits: str) -> str:
    if verb == "o":
        return "" if digits.startswith("0") else "0"
    return {"b": "0b", "O": "0o", "x": "0x", "X": "0X"}.get(verb, "")


def _float(value: float, spec: Spec) -> str:
    verb = "g" if spec.verb == "v" else spec.verb
    precision = _DEFAULT_PRECISION if spec.precision is None and verb in "eEfF" else spec.precision
    text = float_text(abs(value), verb, precision)
    if spec.sharp and spec.verb in "eEfFgG" and math.isfinite(value):
        text = _with_point(text, _SHORTEST_PRECISION if precision is None else precision, pads=verb in "gG")
    negative = math.copysign(1, value) < 0 and not math.isnan(value)
    sign = (
        "-" if negative else "+" if spec.plus or (math.isinf(value) and not spec.space) else " " if spec.space else ""
    )
    if math.isinf(value) and not negative and not spec.plus and not spec.space:
        sign = "+"
    if math.isnan(value) and not spec.plus:
        sign = " " if spec.space else ""
    if spec.zero and not spec.minus and spec.width is not None and math.isfinite(value):
        return sign + text.rjust(spec.width - len(sign), "0")
    return _padded(sign + text, spec)


def _with_point(text: str, precision: int, *, pads: bool) -> str:
    """``#``: a point in any case, and with ``g`` as many digits as the precision says."""
    mantissa, letter, exponent = text.partition("e") if "e" in text else text.partition("E")
    mantissa += "" if "." in mantissa else "."
    if pads:
        digits = mantissa.replace(".", "")
        mantissa += "0" * (precision - len(digits.lstrip("0") or digits[-1:]))
    return mantissa + letter + exponent


def float_text(value: float, verb: str, precision: int | None) -> str:
    """A float that is not negative, as Go's ``strconv.FormatFloat`` writes it; without precision in as few digits as do."""
    if math.isinf(value) or math.isnan(value):
        return "Inf" if math.isinf(value) else "NaN"
    if verb in "fF":
        return _positional(value) if precision is None else format(value, f".{precision}f")
    if verb in "eE":
        return _shortest_exponent(value, verb) if precision is None else format(value, f".{precision}{verb}")
    if verb in "gG":
        return _general(value, verb, precision)
    return _binary(value, verb, precision)


def _digits(value: float) -> tuple[str, int]:
    """The shortest digits that stand for a float, and its decimal exponent as in ``d.ddde±x``."""
    _, digits, exponent = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    stripped = text.rstrip("0") or "0"
    assert isinstance(exponent, int)
    return stripped, exponent + len(text) - 1 if text else 0


def _positional(value: float) -> str:
    return _in_place(*_digits(value))


def _in_place(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    return f"{whole}.{digits[exponent + 1 :]}" if len(digits) > exponent + 1 else whole


def _shortest_exponent(value: float, verb: str) -> str:
    digits, exponent = _digits(value)
    return _scientific(digits, exponent, verb)


def _scientific(digits: str, exponent: int, letter: str) -> str:
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}{letter}{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _general(value: float, verb: str, precision: int | None) -> str:
    letter = "e" if verb == "g" else "E"
    if precision is None:
        digits, exponent = _digits(value)
        limit = _SHORTEST_PRECISION
    else:
        precision = precision or 1
        mantissa, _, power = format(value, f".{precision - 1}e").partition("e")
        digits, exponent = mantissa.replace(".", "").rstrip("0") or "0", int(power)
        limit = len(digits) if precision > len(digits) >= exponent + 1 else precision
    if exponent < -4 or exponent >= limit:  # noqa: PLR2004 # strconv's threshold for small numbers
        return _scientific(digits, exponent, letter)
    return _in_place(digits, exponent)


_LEAST_EXPONENT = -1074
"""Of the smallest float (IEEE 754, binary64)."""


def _binary(value: float, verb: str, precision: int | None) -> str:
    mantissa, exponent = math.frexp(value)
    if verb == "b":
        power = max(exponent - 53, _LEAST_EXPONENT) if value else _LEAST_EXPONENT
        return f"{int(math.ldexp(mantissa, exponent - power))}p{power:+d}"
    digits = _hexadecimal(mantissa * 2, exponent - 1 if value else 0, precision)
    return digits if verb == "x" else digits.upper()


def _hexadecimal(mantissa: float, exponent: int, precision: int | None) -> str:
    scaled = int(mantissa * 2**52)
    if precision is not None and precision < 13:  # noqa: PLR2004 # hexadecimal digits of a float's fraction
        drop = 52 - 4 * precision
        rest, scaled = scaled & ((1 << drop) - 1), scaled >> drop
        half = 1 << (drop - 1)
        scaled += rest > half or (rest == half and scaled & 1)
        if scaled >> (4 * precision) > 1:  # it was rounded up to the next power of two
            scaled, exponent = scaled >> 1, exponent + 1
        fraction = f"{scaled & ((1 << 4 * precision) - 1):0{precision}x}" if precision else ""
    else:
        fraction = f"{scaled & (2**52 - 1):013x}"
        fraction = fraction.rstrip("0") if precision is None else fraction.ljust(precision, "0")
    return f"0x{int(mantissa > 0)}{'.' if fraction else ''}{fraction}p{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
