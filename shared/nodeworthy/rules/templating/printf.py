"""``printf``: formats with Go's verbs, flags, widths and argument numbers, and Go's texts where arguments do not fit."""

import re
from collections.abc import Sequence

from nodeworthy.rules.templating.formatting import Spec, format_value, printed
from nodeworthy.rules.templating.limits import Budget
from nodeworthy.rules.templating.problems import FunctionError
from nodeworthy.rules.templating.values import Value, type_name

MAX_WIDTH = 1_000_000
"""The largest width and precision; larger arguments for ``*`` are no widths to Go either (fmt, tooLarge)."""

_FLAGS = re.compile(r"[+\-# 0]*")
_DIGITS = re.compile(r"[0-9]+")
_ARGUMENT = re.compile(r"\[([^\]]*)\]")


def printf(format_text: str, values: Sequence[Value], budget: Budget) -> str:
    """The text of a format with its arguments.

    Raises:
        FunctionError: it gets too large.
    """
    return _Printer(format_text, values, budget).text()


class _Printer:
    """One call: where in the format and among the arguments it is."""

    def __init__(self, format_text: str, values: Sequence[Value], budget: Budget) -> None:
        self.format = format_text
        self.values = values
        self.budget = budget
        self.position = 0
        self.argument = 0
        self.reordered = False
        """Whether any argument was named by its number: then nothing is said of those that are left over."""
        self.good_number = True

    def text(self) -> str:
        parts: list[str] = []
        size = 0
        while True:
            percent = self.format.find("%", self.position)
            parts.append(self.format[self.position : percent if percent >= 0 else None])
            if percent < 0:
                break
            self.position = percent + 1
            parts.append(self.verb())
            size += len(parts[-1])
            self.budget.spend(1)
            self.budget.spend_text(size if len(parts[-1]) else 0)
        if not self.reordered and self.argument < len(self.values):
            parts.append(self.extra())
        return "".join(parts)

    def extra(self) -> str:
        left = [
            "<nil>" if value is None else f"{type_name(value)}={printed([value], self.budget)}"
            for value in self.values[self.argument :]
        ]
        return f"%!(EXTRA {', '.join(left)})"

    def verb(self) -> str:
        self.good_number = True
        after_number = False
        flags = self.match(_FLAGS)
        after_number = self.number() or after_number
        width, bad_width, starred = self.size(after_number)
        if starred:
            after_number = False
        minus = "-" in flags
        if width is not None and width < 0:
            minus, width = True, -width
        precision: int | None = None
        bad_precision = False
        if self.format[self.position : self.position + 1] == "." and self.position + 1 < len(self.format):
            self.position += 1
            if after_number:
                self.good_number = False
            after_number = self.number()
            precision, bad_precision, starred = self.size(after_number)
            after_number = after_number and not starred
            if precision is not None and precision < 0:
                precision, bad_precision = None, True
            elif precision is None and not bad_precision:
                precision = 0
        if not after_number:
            after_number = self.number()
        if self.position >= len(self.format):
            return ("%!(BADWIDTH)" if bad_width else "") + ("%!(BADPREC)" if bad_precision else "") + "%!(NOVERB)"
        verb = self.format[self.position]
        self.position += 1
        problems = ("%!(BADWIDTH)" if bad_width else "") + ("%!(BADPREC)" if bad_precision else "")
        spec = Spec(
            verb,
            minus,
            "+" in flags and verb != "v",
            "#" in flags,
            " " in flags,
            "0" in flags and not minus,
            width,
            precision,
        )
        return problems + self.formatted(spec)

    def formatted(self, spec: Spec) -> str:
        if spec.verb == "%":
            return "%"
        if not self.good_number:
            return f"%!{spec.verb}(BADINDEX)"
        if self.argument >= len(self.values):
            return f"%!{spec.verb}(MISSING)"
        value = self.values[self.argument]
        self.argument += 1
        return format_value(value, spec, self.budget)

    def match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.format, self.position)
        self.position += len(found[0]) if found else 0
        return found[0] if found else ""

    def number(self) -> bool:
        """Take ``[3]``, the number of the argument that comes next."""
        if self.format[self.position : self.position + 1] != "[":
            return False
        self.reordered = True
        found = _ARGUMENT.match(self.format, self.position)
        if found is None:
            self.position += 1
            self.good_number = False
            return False
        self.position = found.end()
        digits = found[1]
        if digits.isascii() and digits.isdigit() and len(digits) < len(str(MAX_WIDTH)) + 1:
            wanted = int(digits)
            if 1 <= wanted <= len(self.values):
                self.argument = wanted - 1
                return True
        self.good_number = False
        return True

    def size(self, after_number: bool) -> tuple[int | None, bool, bool]:
        """Take a width or precision: the number, whether it is bad, whether it was an argument (``*``)."""
        if self.format[self.position : self.position + 1] == "*":
            self.position += 1
            if self.argument >= len(self.values):
                return None, True, True
            value = self.values[self.argument]
            self.argument += 1
            if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MAX_WIDTH:
                return value, False, True
            return None, True, True
        digits = self.match(_DIGITS)
        if not digits:
            return None, False, False
        if after_number:
            self.good_number = False
        if len(digits) > len(str(MAX_WIDTH)) or int(digits) > MAX_WIDTH:
            raise FunctionError(f"a width or precision of the format is more than {MAX_WIDTH:,}")
        return int(digits), False, False
